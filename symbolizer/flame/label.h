/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Cleans labels of the tree. Answers join labels with ';' to paths and are JSON in UTF-8. Text from
 * outside (names of threads, symbols, files) is therefore cleaned before it becomes a label: ';' is
 * replaced by ':', control characters and invalid UTF-8 by U+FFFD.
 */

#include "common/bytes.h"

/* A longer label is cut after a whole character and ends with U+2026. People read labels; no
 * program needs the rest. */
#define LABEL_MAX_BYTES 4096

/* True if label_append() would append @text unchanged. */
bool label_is_clean(const char *text, size_t length);

/* Appends @text, cleaned. Returns 0, -ENOMEM, or -EFBIG at the size limit of @out. */
int label_append(struct bytes *out, const char *text, size_t length);

/*
 * Returns DeepFlow's function type for a label below the root. It depends on the label's prefix
 * alone, so that equal labels have equal types: 'P' for [p] and [g], 'T' for [t], 'K' for [k], 'L'
 * for [l], 'C' for [c], '?' for any other label that begins with '[', else 'A'.
 */
char label_type(const char *label);
