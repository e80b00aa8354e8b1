/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the agent asks its helpers, and what they answer. Every message begins with one of the headers here.
 */

#include "agent/executable/executable_learn.h"
#include "agent/helper/message.h"
#include "agent/unwind/table_make.h"

enum finder_operation {
	FINDER_LOOK,   /* at up to FINDER_MAX_ITEMS mappings: their facts */
	FINDER_OPEN,   /* one mapping: facts and descriptor */
	FINDER_SOURCE, /* one executable, by one way: descriptor */
};

#define FINDER_MAX_ITEMS 16

struct finder_request {
	uint32_t operation; /* enum finder_operation */
	uint32_t n_items;
};

/* Then @path_bytes bytes of the path with its NUL, and zeros up to a multiple of 8. */
struct finder_item {
	uint64_t start, end;
	struct told_file told;
	uint32_t pid, parent_pid;
	uint32_t role; /* FINDER_SOURCE: enum executable_role */
	uint32_t way;  /* FINDER_SOURCE */
	uint32_t path_bytes;
	uint32_t zero;
};

struct finder_answer {
	uint32_t n_items;
	struct {
		bool is_found;
		struct file_facts facts;
	} items[FINDER_MAX_ITEMS];
};

/* Appends an item to the request in @message. False: it does not fit. */
bool finder_request_add(struct helper_message *message, const struct finder_item *item, const char *path);

/* The next item of the request, from *offset on (0: the first). False: there is none, or it is malformed. */
bool finder_request_next(const struct helper_message *message, size_t *offset, struct finder_item *ret_item,
			 const char **ret_path);

enum parser_operation {
	PARSER_IDENTIFY, /* descriptor of the file -> struct parser_identity */
	PARSER_TEXT,	 /* descriptor of the file -> struct parser_identity with id alone */
	PARSER_SOURCE,	 /* descriptor of the file -> struct parser_source */
	PARSER_TABLE,	 /* descriptors of the file and of an empty one for its unwind table -> struct parser_table */
};

struct parser_request {
	uint32_t operation; /* enum parser_operation */
	uint32_t zero;
	struct hash128 key; /* TABLE: goes into the table file */
};

/* Before each answer. */
struct parser_answer {
	int32_t result;	 /* 1 done; 0 the file is nothing of the kind; negative errno */
	uint32_t zero;
	uint64_t cpu_ns; /* that the process used in all */
};

struct parser_identity {
	struct parser_answer header;
	struct executable_id id;
	struct hash128 content;
	uint32_t n_segments;
	struct load_segment segments[MAX_LOAD_SEGMENTS];
};

/* Whether a file is an executable that was met before, and what its unwind table would be made from. */
struct parser_source {
	struct parser_answer header; /* of reading the content */
	int32_t key_result;	     /* of table_make_key() */
	uint32_t zero;
	struct hash128 content; /* executable_content.h */
	struct hash128 key;
};

/* Of table_make(). What is in the file is checked by who reads it. */
struct parser_table {
	struct parser_answer header;
	uint64_t cpu_ns; /* that this table took */
};

/* An answer of PARSER_SOURCE. 1 *ret_source; 0: the file cannot be read. */
int parser_source_decode(const struct helper_message *message, struct parser_source *ret_source);

/* What table_make() returned. -EBADMSG: the answer is none. */
int parser_table_decode(const struct helper_message *message, uint64_t *ret_cpu_ns);

/* Checks an answer of PARSER_IDENTIFY as the foreign bytes that it is. 1 *ret_identity to be released, 0, -ENOMEM. */
int parser_identity_decode(const struct helper_message *message, struct file_identity *ret_identity);

/* The same of PARSER_TEXT. 1, or 0: kind NONE. */
int parser_text_decode(const struct helper_message *message, struct executable_id *ret_id);
