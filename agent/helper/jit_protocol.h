/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests for files in which runtimes describe the code that they generate (agent/jit/file), and
 * their answers. A finder opens such files (FINDER_JIT), and a parser reads them.
 */

#include "agent/helper/protocol.h"
#include "agent/jit/file/jit_file.h"
#include "agent/jit/file/jit_open.h"

/* ---- finder -------------------------------------------------------------------------------- */

struct jit_finder_request {
	uint32_t operation;  /* FINDER_JIT */
	uint32_t path_bytes; /* of the jitdump, with its NUL; 0: there is none */
	uint32_t pid, parent_pid;
	uint64_t start_time_ns;
	uint64_t start, end;
	struct reported_file reported;
};

struct jit_file_facts {
	uint32_t is_open;    /* its descriptor is in the answer, in the order of formats */
	uint32_t is_refused; /* there is a file that must not be read */
	uint64_t device, inode;
};

struct jit_finder_answer {
	struct jit_file_facts files[JIT_FORMATS];
};

/* False: the path of the jitdump is longer than PATH_MAX. */
bool jit_finder_request_make(const struct jit_source *source, struct helper_message *ret_message);

/* In the finder: answers a request. 0 or negative errno. */
int jit_finder_answer(const struct helper_message *request, struct helper_message *reply);

/*
 * Decodes an answer. Takes its descriptors: ret_fds[JIT_FORMATS], -1: not open. False: the answer
 * is malformed.
 */
bool jit_finder_answer_decode(struct helper_message *message, struct jit_finder_answer *ret_answer,
			      int *ret_fds);

/* ---- parser -------------------------------------------------------------------------------- */

/* With a descriptor of the file: reads entries (PARSER_JIT_READ). */
struct jit_read_request {
	uint32_t operation;
	uint32_t format; /* enum jit_format */
	struct jit_position from;
};

/* Followed by n_codes times struct jit_code. */
struct jit_read_answer {
	struct parser_answer header; /* result of jit_file_read() */
	struct jit_position next;
	uint32_t restarted, at_end;
	uint32_t n_codes, zero;
};

/* Most names of one request. */
#define JIT_MAX_NAMES 256

struct jit_wanted {
	uint32_t offset, code_offset;
};

/* With a descriptor of the file: reads names (PARSER_JIT_NAMES). n_wanted jit_wanted follow. */
struct jit_names_request {
	uint32_t operation;
	uint32_t format; /* enum jit_format */
	uint32_t n_wanted, zero;
};

/* Followed by n_names times struct jit_named: as many of the wanted ones as fit. */
struct jit_names_answer {
	struct parser_answer header;
	uint32_t n_names, zero;
};

/* The texts, each with its NUL, follow: language, function, file. */
struct jit_named {
	int32_t result; /* of jit_file_name(); negative: there are no texts */
	uint32_t first_line;
	uint32_t line;
	uint32_t text_bytes;
};

/* In the parser: writes all of the answer but its header. Returns the result for the header. */
int jit_parser_answer(const struct helper_message *request, struct helper_message *reply);

/* 0: *ret_answer, and *ret_codes with valid entries; negative errno: it failed, or is malformed. */
int jit_read_answer_decode(const struct helper_message *message, struct jit_read_answer *ret_answer,
			   struct jit_codes *ret_codes);

/* A name in an answer; the texts are in the message. */
struct jit_named_texts {
	int result;
	uint32_t first_line, line;
	const char *language, *function, *file;
};

/* Number of names in the answer, or negative errno. */
int jit_names_answer_decode(const struct helper_message *message);

/* Reads the name at *offset (0: the first one) and advances it. False: it is malformed. */
bool jit_names_answer_next(const struct helper_message *message, size_t *offset,
			   struct jit_named_texts *ret_name);
