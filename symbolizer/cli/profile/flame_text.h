/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A call tree as lines of text: share, bar and indented name, the largest children first. A pure
 * function of its arguments; the terminal's size and colours come in as options.
 *
 * A frame with one callee and nothing of its own shares its line ("main > run > loop"), and of more
 * lines than fit the largest stay: as a frame is never larger than its caller, the way to each of
 * them stays too.
 */

#include "common/bytes.h"
#include "common/event_type.h"
#include "symbolizer/cli/profile/call_tree.h"

struct flame_text_options {
	enum event_type type;
	int width;         /* columns; lines are cut to it */
	uint32_t max_rows; /* lines of the tree; 0: all */
	double min_pct;    /* frames below this share of everything are left out */
	bool colours;      /* ANSI sequences */
	bool ascii;        /* bars of '#' */
};

struct flame_heading {
	enum event_type type;
	uint64_t seconds; /* of the range that was asked for */
	int width;
};

/*
 * Appends the line above a tree: "demo, on-cpu: 1 m 40 s in 5 m (0.33 CPUs)". Where agents sampled
 * for a part of the range only, that part is what the average is of.
 */
void flame_heading_write(const struct call_tree *tree, const struct flame_heading *heading,
			 struct bytes *out);

/* Appends the lines to @out. 0 or -ENOMEM; *ret_n_hidden: frames that are not shown. */
int flame_text_write(const struct call_tree *tree, const struct flame_text_options *options,
		     struct bytes *out, uint32_t *ret_n_hidden);

/* Appends "root;caller;callee value" for each stack. */
int folded_write(const struct call_tree *tree, struct bytes *out);

struct function_text_options {
	enum event_type type;
	int width;
	uint32_t max_rows; /* 0: all */
	bool by_total;     /* instead of by self; processes of whole hosts always are */
	bool colours;
};

/*
 * Appends the functions with the largest self (or total) value; threads and processes are left out,
 * but of whole hosts the processes are listed. 0 or -ENOMEM.
 */
int function_text_write(const struct call_tree *tree, const struct function_text_options *options,
			struct bytes *out);

/* The same rows in the same order as one JSON object; values in microseconds or bytes. */
int function_json_write(const struct call_tree *tree, const struct function_text_options *options,
			struct bytes *out);
