/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests of the agent to its helpers, and their answers. Every message begins with one of these
 * structures.
 */

#include "agent/executable/executable_learn.h"
#include "agent/helper/message.h"
#include "agent/interpreter/hotspot/hotspot_code.h"
#include "agent/interpreter/runtime/read_code.h"
#include "agent/unwind/table_make.h"

/*
 * Time for one answer of a finder: longer than it takes on a busy host. It may be too short for a
 * disk that has to spin up; then the caller tries again later.
 */
#define FINDER_TIMEOUT_NS (3 * NSEC_PER_SEC)

/* Hashing 512 MiB of code takes 0.1 s from memory, and some seconds from a disk. */
#define PARSER_TIMEOUT_NS (5 * NSEC_PER_SEC)

enum finder_operation {
	/* returns facts of the files of up to FINDER_MAX_ITEMS mappings, without opening them */
	FINDER_LOOK,
	FINDER_OPEN,   /* opens the file behind one mapping; returns facts and descriptor */
	FINDER_SOURCE, /* opens the file of an executable in one way; returns the descriptor */
	FINDER_JIT,    /* opens the files that name a process's generated code (jit_protocol.h) */
};

#define FINDER_MAX_ITEMS 16

struct finder_request {
	uint32_t operation; /* enum finder_operation */
	uint32_t n_items;
};

/* Followed by path_bytes bytes of the path with its NUL, and zeros up to a multiple of 8. */
struct finder_item {
	uint64_t start, end;
	struct reported_file reported;
	uint32_t pid, parent_pid;
	uint32_t role; /* FINDER_SOURCE: enum executable_role */
	uint32_t way;  /* FINDER_SOURCE: as in file_finder_open_source() */
	uint32_t path_bytes;
	uint32_t is_copy;     /* as in struct mapped_file */
	uint64_t file_offset; /* of a copy */
};

struct finder_answer {
	uint32_t n_items;
	struct {
		bool is_found;
		struct file_facts facts;
	} items[FINDER_MAX_ITEMS];
};

/* Begins a request without items in @message. */
void finder_request_begin(struct helper_message *message, enum finder_operation operation);

/*
 * Appends an item to the request in @message. False: it does not fit, or the path is longer than
 * PATH_MAX.
 */
bool finder_request_add(struct helper_message *message, const struct finder_item *item,
			const char *path);

/*
 * Reads the item at *offset (0: the first one) and advances *offset. False: there is none, or it is
 * malformed.
 */
bool finder_request_next(const struct helper_message *message, size_t *offset,
			 struct finder_item *ret_item, const char **ret_path);

enum reader_file {
	READER_MAPS,            /* the lines of executable mappings */
	READER_COMMAND_LINE,    /* its first READER_BEGINNING_BYTES */
	READER_PAGES,           /* reads one byte of each page, to make the pages resident */
	READER_CODE,            /* reads code objects of an interpreter */
	READER_JVM,             /* reads the layout of a JVM */
	READER_COMPILED_FRAMES, /* reads which functions compiled code executes */
};

#define READER_BEGINNING_BYTES 4095

/* Maximum number of pages of one request. */
#define READER_MAX_PAGES 256

/* Maximum number of code objects of one request. */
#define READER_MAX_CODE 256

/*
 * Followed by up to READER_MAX_PAGES addresses of 8 bytes for READER_PAGES, by a struct
 * reader_code_request for READER_CODE and READER_COMPILED_FRAMES, or by a struct reader_jvm_request
 * for READER_JVM.
 */
struct reader_request {
	uint32_t pid;
	uint32_t file; /* enum reader_file */
};

/*
 * Writes a request to @message, with the @size bytes of @body after struct reader_request. Lists of
 * addresses and items are appended by the caller.
 */
void reader_request_write(struct helper_message *message, uint32_t pid, enum reader_file file,
			  const void *body, size_t size);

/*
 * Followed by @count items: struct reader_code_item, or for READER_COMPILED_FRAMES struct
 * reader_compiled_item.
 */
struct reader_code_request {
	uint32_t runtime; /* enum interpreter_runtime */
	uint32_t version; /* of CPython, V8, PHP, CRuby, Perl or Lua */
	uint32_t count;
	uint32_t zero;
	struct hotspot_layout layout; /* of a JVM */
};

struct reader_code_item {
	uint64_t address;
	uint64_t known_mark; /* struct read_code.mark of an earlier answer; 0: none */
	uint64_t caller;     /* Lua: struct lua_caller; else 0 */
	uint32_t caller_position;
	uint32_t zero;
};

/*
 * The answer to READER_CODE is a list of these, each followed by the content that
 * python_code_read() returned and zeros up to a multiple of 8. Items that do not fit into the
 * message are missing.
 */
struct reader_code {
	uint64_t address;
	int32_t result; /* of python_code_read() */
	uint32_t zero;
	struct read_code code; /* if the result is 1 */
};

static inline size_t reader_code_padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

/*
 * Reads the element at *@offset of an answer to READER_CODE (0: the first one) and advances
 * *@offset. False: there is none, or it is malformed.
 */
bool reader_code_next(const struct helper_message *message, size_t *offset,
		      struct reader_code *ret_code, const uint8_t **ret_content);

struct reader_jvm_request {
	uint64_t symbols[HOTSPOT_N_SYMBOLS]; /* addresses in the process */
};

struct reader_jvm {
	int32_t result; /* of hotspot_layout_read() */
	uint32_t zero;
	struct hotspot_layout layout;
	struct abi_jvm jvm;
};

/* Decodes an answer to READER_JVM. Returns the result, or -EBADMSG: the answer is malformed. */
int reader_jvm_decode(const struct helper_message *message, struct reader_jvm *ret_jvm);

/* Maximum number of items of one request: their answers fit into a message. */
#define READER_MAX_COMPILED_FRAMES 64

struct reader_compiled_item {
	uint64_t code; /* the nmethod, or a pointer to the Code of V8 */
	uint32_t pc_offset;
	uint32_t zero;
};

/* The answer to READER_COMPILED_FRAMES is a list of these, in the order of the items. */
struct reader_compiled_frames {
	struct reader_compiled_item item;
	int32_t result; /* of hotspot_frames_read() or v8_frames_read() */
	uint32_t zero;
	struct compiled_frame frames[COMPILED_MAX_INLINED];
};

/* Reads element @index of an answer. False: there is none, or it is malformed. */
bool reader_compiled_frames_get(const struct helper_message *message, size_t index,
				struct reader_compiled_frames *ret_frames);

/* Answer to READER_PAGES: number of pages with each outcome (page_toucher.h). */
struct reader_touched {
	uint32_t touched, absent, gone, failed;
};

/*
 * Answer to the other requests, followed by text up to the end of the message. Long text takes
 * several messages.
 */
struct reader_answer {
	int32_t result; /* in the last message: 0 or negative errno */
	uint32_t is_last;
};

enum parser_operation {
	PARSER_IDENTIFY, /* descriptor of the file -> struct parser_identity */
	PARSER_TEXT,     /* descriptor of the file -> struct parser_identity with id alone */
	PARSER_SOURCE,   /* descriptor of the file -> struct parser_source */
	/* descriptors of the file and of an empty one for its table -> struct parser_table */
	PARSER_TABLE,
	/* descriptors of the file and of an empty file for its extract -> struct parser_answer */
	PARSER_EXTRACT,
	PARSER_JIT_READ, /* these two: jit_protocol.h */
	PARSER_JIT_NAMES,
};

/* The kernel's own limit (include/linux/err.h). */
#define MAX_ERRNO 4095

struct parser_request {
	uint32_t operation;           /* enum parser_operation */
	uint32_t what;                /* PARSER_EXTRACT: as in elf_extract_write() */
	struct hash128 key;           /* PARSER_TABLE: written into the table file */
	struct unwind_options unwind; /* PARSER_SOURCE, PARSER_TABLE */
};

/* The header of each answer of a parser. */
struct parser_answer {
	/* 1: done; 0: not the expected kind of file; negative errno. PARSER_EXTRACT: 0: done */
	int32_t result;
	uint32_t zero;
	uint64_t cpu_ns; /* CPU time of the helper since it was forked */
};

struct parser_identity {
	struct parser_answer header;
	struct executable_id id;
	struct hash128 content;
	struct interpreter_facts interpreter;
	uint32_t n_segments;
	struct load_segment segments[MAX_LOAD_SEGMENTS];
};

/*
 * With these the agent checks whether a file is a known executable, and finds its unwind table in
 * the cache.
 */
struct parser_source {
	struct parser_answer header; /* result of file_identity_read() */
	int32_t key_result;          /* result of table_make_key() */
	uint32_t zero;
	struct hash128 content; /* executable_content.h */
	struct hash128 key;
};

/* Result of table_make(). The reader of the table file checks the content of that file. */
struct parser_table {
	struct parser_answer header;
	uint64_t cpu_ns; /* CPU time that this table took */
};

/*
 * Decodes an answer to PARSER_SOURCE. 1: *ret_source; 0: the file cannot be read, or the answer is
 * malformed.
 */
int parser_source_decode(const struct helper_message *message, struct parser_source *ret_source);

/*
 * Decodes an answer to PARSER_TABLE. Returns the result of table_make(), or -EBADMSG: the answer is
 * malformed.
 */
int parser_table_decode(const struct helper_message *message, uint64_t *ret_cpu_ns);

/*
 * Decodes an answer to PARSER_EXTRACT. Returns the result of elf_extract_write(), or -EBADMSG: the
 * answer is malformed.
 */
int parser_extract_decode(const struct helper_message *message);

/*
 * Decodes an answer to PARSER_IDENTIFY. 1: *ret_identity, which the caller releases; 0: the file
 * has no identity, or the answer is malformed; -ENOMEM.
 */
int parser_identity_decode(const struct helper_message *message,
			   struct file_identity *ret_identity);

/*
 * Decodes an answer to PARSER_TEXT. 1: *ret_id; 0: the file has no identity, or the answer is
 * malformed; then *ret_id is of kind NONE.
 */
int parser_text_decode(const struct helper_message *message, struct executable_id *ret_id);
