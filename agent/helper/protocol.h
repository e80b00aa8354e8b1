/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests of the agent to its helpers, and their answers. Every message begins with one of these
 * structures.
 */

#include "agent/executable/executable_learn.h"
#include "agent/helper/message.h"
#include "agent/unwind/table_make.h"

enum finder_operation {
	/* facts of the files behind up to FINDER_MAX_ITEMS mappings, without opening them */
	FINDER_LOOK,
	FINDER_OPEN,   /* opens the file behind one mapping: facts and descriptor */
	FINDER_SOURCE, /* opens the file of an executable in one of several ways: descriptor */
};

#define FINDER_MAX_ITEMS 16

struct finder_request {
	uint32_t operation; /* enum finder_operation */
	uint32_t n_items;
};

/* Followed by path_bytes bytes of the path with its NUL, and zeros up to a multiple of 8. */
struct finder_item {
	uint64_t start, end;
	struct told_file told;
	uint32_t pid, parent_pid;
	uint32_t role; /* FINDER_SOURCE: enum executable_role */
	uint32_t way;  /* FINDER_SOURCE: of file_finder_open_source() */
	uint32_t path_bytes;
	uint32_t is_copy;     /* of struct mapped_file */
	uint64_t file_offset; /* of a copy */
};

struct finder_answer {
	uint32_t n_items;
	struct {
		bool is_found;
		struct file_facts facts;
	} items[FINDER_MAX_ITEMS];
};

/*
 * Appends an item to the request in @message. False: it does not fit, or the path is longer than
 * PATH_MAX.
 */
bool finder_request_add(struct helper_message *message, const struct finder_item *item,
			const char *path);

/* Reads the item at *offset (0: the first), and advances *offset. False: there is none, or it is malformed. */
bool finder_request_next(const struct helper_message *message, size_t *offset,
			 struct finder_item *ret_item, const char **ret_path);

enum reader_file {
	READER_MAPS,         /* the lines of executable mappings */
	READER_COMMAND_LINE, /* its first READER_BEGINNING_BYTES */
	READER_PAGES,        /* a byte of each page of its memory, to have it resident */
};

#define READER_BEGINNING_BYTES 4095

/* Pages of one request. */
#define READER_MAX_PAGES 256

/* PAGES: then up to READER_MAX_PAGES addresses of 8 bytes. */
struct reader_request {
	uint32_t pid;
	uint32_t file; /* enum reader_file */
};

/* To PAGES: how many of them there are of each kind (page_toucher.h). */
struct reader_touched {
	uint32_t touched, absent, gone, failed;
};

/* To the others: then text, up to the end of the message. As many of them as it takes. */
struct reader_answer {
	int32_t result; /* of the last one: 0 or negative errno */
	uint32_t is_last;
};

enum parser_operation {
	PARSER_IDENTIFY, /* descriptor of the file -> struct parser_identity */
	PARSER_TEXT,     /* descriptor of the file -> struct parser_identity with id alone */
	PARSER_SOURCE,   /* descriptor of the file -> struct parser_source */
	/*
	 * descriptors of the file and of an empty one for its unwind table -> struct parser_table
	 */
	PARSER_TABLE,
	/* descriptors of the file and of an empty one for its extract -> struct parser_answer */
	PARSER_EXTRACT,
};

struct parser_request {
	uint32_t operation; /* enum parser_operation */
	uint32_t what;      /* EXTRACT: as of elf_extract_write() */
	struct hash128 key; /* PARSER_TABLE: written into the table file */
};

/* The header of each answer of a parser. */
struct parser_answer {
	/* 1: done; 0: the file is not of the expected kind; negative errno. EXTRACT: 0: done */
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
 * By which the agent checks whether a file is a known executable, and finds its unwind table in the
 * cache.
 */
struct parser_source {
	struct parser_answer header; /* result of file_identity_read() */
	int32_t key_result;          /* result of table_make_key() */
	uint32_t zero;
	struct hash128 content; /* executable_content.h */
	struct hash128 key;
};

/* Result of table_make(). The reader of the table file checks its contents. */
struct parser_table {
	struct parser_answer header;
	uint64_t cpu_ns; /* CPU time that this table took */
};

/* Decodes an answer to PARSER_SOURCE. 1: *ret_source; 0: the file cannot be read, or the answer is malformed. */
int parser_source_decode(const struct helper_message *message, struct parser_source *ret_source);

/*
 * Decodes an answer to PARSER_TABLE: returns what table_make() returned. -EBADMSG: the answer is
 * malformed.
 */
int parser_table_decode(const struct helper_message *message, uint64_t *ret_cpu_ns);

/*
 * Decodes an answer to PARSER_EXTRACT: returns what elf_extract_write() returned. -EBADMSG: it is
 * malformed.
 */
int parser_extract_decode(const struct helper_message *message);

/* Decodes an answer to PARSER_IDENTIFY. 1: *ret_identity, which the caller releases; 0: none, or malformed; -ENOMEM. */
int parser_identity_decode(const struct helper_message *message,
			   struct file_identity *ret_identity);

/* Decodes an answer to PARSER_TEXT. 1: *ret_id; 0: none, or malformed, and *ret_id is of kind NONE. */
int parser_text_decode(const struct helper_message *message, struct executable_id *ret_id);
