/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the frames of one function in resolved stacks, by the label that lists and graphs show or
 * by the linkage name. A prefix such as "[l] " and a suffix such as " (app.py:12)" are left out.
 */

#include "symbolizer/query/resolved_stacks.h"

struct function_match {
	char *name;       /* without prefix and suffix */
	uint8_t *matches; /* [n_matches] by index in the functions of the frame table */
	size_t n_matches;
};

int function_match_init(struct function_match *match, const char *label);
void function_match_release(struct function_match *match);

/* To be called at each visit, before function_match_is(). 0 or -ENOMEM. */
int function_match_begin(struct function_match *match, const struct resolved_stacks *stacks);

/* Whether the frame has the name. Each function of the frame table is compared once. */
bool function_match_is(struct function_match *match, const struct resolved_stacks *stacks,
		       const struct resolved_frame *frame);

/* The same for a frame without a name, by its label: "libz.so.1.2.13+0x5e20". */
bool function_match_is_nameless(const struct function_match *match,
				const struct resolved_stacks *stacks,
				const struct resolved_frame *frame);
