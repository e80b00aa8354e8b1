/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes a call tree as lines of text: share, bar and indented name, the largest children first.
 * Output depends on the arguments only; the options hold the size and colours of the terminal.
 *
 * A frame with one callee and no self value shares a line with that callee ("main > run > loop").
 * If more lines exist than fit, the largest are written. A frame is never larger than its caller,
 * so that all callers of a written frame are written too.
 */

#include "common/bytes.h"
#include "common/event_type.h"
#include "symbolizer/cli/profile/call_tree.h"

struct flame_text_options {
	enum event_type type;
	int width;         /* columns; longer lines are cut */
	uint32_t max_rows; /* lines of the tree; 0: all */
	double min_pct;    /* frames below this share of the total are left out */
	bool colours;      /* ANSI sequences */
	bool ascii;        /* bars of '#' */
};

struct flame_heading {
	enum event_type type;
	uint64_t seconds; /* length of the requested range */
	int width;
};

/*
 * Appends the line above a tree: "demo, on-cpu: 1 m 40 s in 5 m (0.33 CPUs)". If agents sampled
 * only in a part of the range, the average is over that part.
 */
void flame_heading_write(const struct call_tree *tree, const struct flame_heading *heading,
			 struct bytes *out);

/*
 * Appends the lines to @out and sets *ret_n_hidden to the number of frames not shown. Returns 0 or
 * -ENOMEM.
 */
int flame_text_write(const struct call_tree *tree, const struct flame_text_options *options,
		     struct bytes *out, uint32_t *ret_n_hidden);

/* Appends a line "root;caller;callee value" for each stack. */
int folded_write(const struct call_tree *tree, struct bytes *out);

struct function_text_options {
	enum event_type type;
	int width;
	uint32_t max_rows; /* 0: all */
	bool by_total;     /* instead of by self; processes of whole hosts always by total */
	bool colours;
};

/*
 * Appends a table of the functions with the largest self (or total) value, without threads and
 * processes. For whole hosts, appends a table of the processes. Returns 0 or -ENOMEM.
 */
int function_text_write(const struct call_tree *tree, const struct function_text_options *options,
			struct bytes *out);

/* Appends the same rows in the same order as a JSON object; values in microseconds or bytes. */
int function_json_write(const struct call_tree *tree, const struct function_text_options *options,
			struct bytes *out);
