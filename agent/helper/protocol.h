/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests of the agent to its helpers, and their answers. Every message begins with one of these
 * structures.
 */

#include "agent/executable/executable_learn.h"
#include "agent/helper/message.h"
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
	READER_MAPS,         /* the lines of executable mappings */
	READER_COMMAND_LINE, /* its first READER_BEGINNING_BYTES */
	READER_PAGES,        /* reads one byte of each page, to make the pages resident */
};

#define READER_BEGINNING_BYTES 4095

/* Maximum number of pages of one request. */
#define READER_MAX_PAGES 256

/* Followed by up to READER_MAX_PAGES addresses of 8 bytes for READER_PAGES. */
struct reader_request {
	uint32_t pid;
	uint32_t file; /* enum reader_file */
};

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
};

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
