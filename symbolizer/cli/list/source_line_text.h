/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Lines of source files for a terminal. */

#include "common/bytes.h"

/* Returns line @number, from 1 on, without its end; data is NULL if the text has fewer lines. */
struct bytes_view source_line_find(struct bytes_view text, uint64_t number);

/* Appends a line with blanks for tabs, cut at @max_columns, without blanks at its end. */
void source_line_append(struct bytes *out, struct bytes_view line, int max_columns);
