/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Compares the functions of two profiles, the base and the one after it.
 *
 * A change is in per cent, so that one threshold fits all ways to compare:
 *
 *   TOP_DIFF_RELATIVE    the share of the whole profile, in percentage points. Changes when a
 *                        service does other work, but not when it only does more of the same work
 *   TOP_DIFF_NORMALISED  the value per second that agents covered, in per cent of the base's whole.
 *                        For ranges of different lengths
 *   TOP_DIFF_ABSOLUTE    the value, in per cent of the base's whole
 */

#include "symbolizer/query/top.h"

enum top_diff_mode {
	TOP_DIFF_RELATIVE,
	TOP_DIFF_NORMALISED,
	TOP_DIFF_ABSOLUTE,
};

/* "relative", "normalised", "absolute". Returns false for any other name. */
bool top_diff_mode_from_name(const char *name, enum top_diff_mode *ret_mode);
const char *top_diff_mode_name(enum top_diff_mode mode);

struct top_diff_side {
	struct top_row *rows; /* [n_rows]; is sorted again */
	size_t n_rows;
	uint64_t whole; /* total of the root */
	double seconds; /* that agents covered, greater than 0 */
};

struct top_diff_input {
	struct top_diff_side base, after;
	enum top_diff_mode mode;
	bool by_total; /* sort by the change of total instead of self */
};

struct top_diff_row {
	const char *label; /* borrowed from the rows */
	char type;
	uint64_t base_self, base_total; /* both 0: the function appeared */
	uint64_t self, total;           /* both 0: it vanished */
	double self_change, total_change;
};

/*
 * Fills ret_rows[*ret_count] in @arena: each function of either side, the largest change first,
 * growth before decline. Returns 0 or -ENOMEM.
 */
int top_diff_make(const struct top_diff_input *input, struct arena *arena,
		  struct top_diff_row **ret_rows, size_t *ret_count);
