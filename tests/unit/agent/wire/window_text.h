/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A window as text, one fact per line, in an order that encoding does not change: to be compared
 * with decoded_text() of the same batch.
 */

#include "agent/sample/window.h"
#include "common/bytes.h"

/* Sorts stacks and rows in place, and joins equal rows. */
void window_text(struct window *window, struct bytes *out);

/* What the server's decoder reads from @batch. 0, or its error with the reason in @out. */
int decoded_text(struct bytes_view batch, struct bytes *out);

/* One line each, shared by both. */
void text_segment(struct bytes *out, uint64_t file_offset, uint64_t vaddr, uint64_t file_size);
void text_frame(struct bytes *out, unsigned int kind, uint32_t executable, uint64_t address);
void text_row(struct bytes *out, uint32_t series, uint64_t slot, uint32_t stack, uint64_t value);
void text_pair(struct bytes *out, const char *what, const char *name, const char *value);
