/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What may stand in a label of the tree. Paths are labels joined with ';', and answers are JSON in
 * UTF-8, so that every text from outside (names of threads, symbols, paths) goes through here once:
 * ';' becomes ':', control characters and bytes that are no UTF-8 become U+FFFD.
 */

#include "common/bytes.h"

/* A longer label is cut (on a character's border) and ends in U+2026. A label is drawn, not read by
 * machines. */
#define LABEL_MAX_BYTES 4096

/* Whether label_append() would change nothing. */
bool label_is_clean(const char *text, size_t length);

/* 0, -ENOMEM, -EFBIG (@out's ceiling). */
int label_append(struct bytes *out, const char *text, size_t length);

/*
 * DeepFlow's function type of a label below the root, from its prefix: 'P' for [p] and [g], 'T'
 * [t], 'K' [k], 'L' [l], 'C' [c], '?' for anything else in brackets, 'A' otherwise. One rule, so
 * that equal labels have equal types.
 */
char label_type(const char *label);
