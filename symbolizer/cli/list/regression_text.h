/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Writes the answer of GET /v1/regressions as a table, and looks for regressions above a limit. */

#include <jansson.h>

#include "common/bytes.h"

/*
 * Appends a line about both sides, the regressions with their intervals, and the functions whose
 * growth is none: the cost moved, or the growth ended. @max_rows of each; 0: all.
 */
void regression_text_write(const json_t *answer, uint32_t max_rows, int width, struct bytes *out);

/* Returns the number of regressions of at least @percent, even at the low end of their interval,
 * and the first of them. */
size_t regression_text_above(const json_t *answer, double percent, const json_t **ret_first);
