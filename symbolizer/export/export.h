/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes a profile in a format that other programs read. Each format has a file; its writer is a
 * pure function of the stacks or the tree that it is given. common/export_formats.def lists the
 * formats.
 *
 * Values are exact integers in the unit of the event type (nanoseconds, bytes), unless the format
 * says otherwise. Texts of the output are valid UTF-8 without control characters, whatever bytes
 * the names of functions, threads and files have.
 */

#include "symbolizer/query/resolved_stacks.h"

/* What was selected. */
struct export_selection {
	const char *service; /* NULL: all that match the filter */
	const struct event_type_info *event;
	const char *filter; /* NULL: none */
	uint64_t since_wall_ns;
	uint64_t until_wall_ns;
};

/* What is known after the query. */
struct export_result {
	const char *message; /* the parts that are missing; or "" */
	uint64_t period_ns;  /* 0: unknown */
	const struct profile_stats *stats;
};

/* A format that is written stack by stack. */
struct export_stack_operations {
	/* The format has times: the range is divided into at most this many blocks. 0: into one. */
	uint32_t max_blocks;
	/* The writer appends to @out until it is freed. */
	int (*begin)(const struct export_selection *selection, struct bytes *out,
		     void **ret_writer);
	/* A stack_visitor's visit(); @arg is the writer. */
	int (*add)(void *arg, const struct resolved_stacks *stacks,
		   const struct resolved_stack *stack);
	int (*end)(void *writer, const struct export_result *result);
	void (*free)(void *writer); /* accepts NULL */
};

/* A profile as a finished tree. */
struct export_tree {
	const struct export_selection *selection;
	const struct export_result *result;
	const struct tree *tree;
};

/* All functions return 0 or a negative errno: -EFBIG if the output has no room, -ENOMEM. */
struct export_writer {
	/* One of these is NULL. */
	const struct export_stack_operations *stacks;
	int (*write_tree)(const struct export_tree *input, struct bytes *out);
	bool rounded; /* the tree is rounded to the unit of the API's answers */
};

/* Sets how a profile has to be requested for a writer of stacks. */
void export_divide(const struct export_writer *writer, struct profile_request *request);

struct export_format {
	const char *name;
	const char *content_type;
	const char *suffix; /* of file names, without a dot */
	const struct export_writer *writer;
};

/* NULL: there is no such format. */
const struct export_format *export_format_find(const char *name);

/* "pprof, folded, ..." */
extern const char *const export_format_names;

#define EXPORT_FORMAT(id, ...) extern const struct export_writer export_##id;
#include "common/export_formats.def"
#undef EXPORT_FORMAT
