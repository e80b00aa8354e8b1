/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The values of one function by source line: self, of stacks whose innermost frame is at the line,
 * and total, of stacks with any frame at the line. A stack counts once for a line, and once for the
 * function, also if the function is recursive.
 *
 * Frames have the line of the address that was sampled, and callers the line of the call. So the
 * lines are those where the time is spent, not where functions begin.
 */

#include "symbolizer/query/resolved_stacks.h"

struct source_line {
	const char *file;                /* "": not known */
	const char *function;            /* its name, without parts that were added to labels */
	uint32_t line;                   /* 0: not known */
	uint64_t self, total;            /* not rounded */
	struct executable_id executable; /* of the first frame; EXECUTABLE_ID_NONE: code object */
};

struct source_lines;

/*
 * @function: a name as in lists of functions, or its linkage name. A prefix such as "[l] " and a
 * suffix such as " (app.py:12)" are left out. The texts of lines are copied to @arena.
 */
int source_lines_new(const char *function, struct arena *arena, struct source_lines **ret_lines);
struct source_lines *source_lines_free(struct source_lines *lines);

/* Its visits return 0, -ENOMEM, or -EFBIG: there are more than SOURCE_LINES_MAX lines. */
struct stack_visitor source_lines_visitor(struct source_lines *lines);

/* No function has as many. */
#define SOURCE_LINES_MAX 100000

/*
 * The lines by file and number. The array is valid until @lines is freed. No stack can be added
 * afterwards.
 */
const struct source_line *source_lines_sorted(struct source_lines *lines, size_t *ret_count);

/* Sums over the function: not those over the lines, because a stack may have several of them. */
uint64_t source_lines_self(const struct source_lines *lines);
uint64_t source_lines_total(const struct source_lines *lines);

DEFINE_SCOPED(struct source_lines *, source_lines_free);
