/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes a window as text, one fact per line, in an order that encoding does not change. To be
 * compared with decoded_text() of the same batch.
 */

#include "agent/sample/window.h"
#include "common/bytes.h"

/* Sorts stacks and rows in place, and joins equal rows. */
void window_text(struct window *window, struct bytes *out);

/* Writes the batch as the server's decoder reads it. On error, @out is the decoder's reason. */
int decoded_text(struct bytes_view batch, struct bytes *out);

/* Each writes one line; used by both sides. */
void text_segment(struct bytes *out, uint64_t file_offset, uint64_t vaddr, uint64_t file_size);
void text_frame(struct bytes *out, unsigned int kind, uint32_t executable, uint64_t address);
void text_row(struct bytes *out, uint32_t series, uint64_t slot, uint32_t stack, uint64_t value);
void text_pair(struct bytes *out, const char *what, const char *name, const char *value);
