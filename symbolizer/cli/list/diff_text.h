/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Writes the answer of GET /v1/diff as a table, and looks for functions that grew. */

#include <jansson.h>

#include "common/bytes.h"
#include "common/event_type.h"

struct diff_text_options {
	enum event_type type;
	bool by_total;     /* print and judge total instead of self */
	uint32_t max_rows; /* 0: all */
	int width;         /* columns */
};

/* Appends a line about both sides, and the functions in the order of the answer. */
void diff_text_write(const json_t *answer, const struct diff_text_options *options,
		     struct bytes *out);

/* Returns the number of functions that grew by more than @percent, and the first of them. */
size_t diff_text_grown(const json_t *answer, bool by_total, double percent,
		       const json_t **ret_first);
