/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Prints an answer of GET /v1/disassembly: instructions below their source lines. */

#include "symbolizer/cli/list/source_text.h"

struct disassembly_text_options {
	enum event_type event;
	int width;     /* columns */
	bool all;      /* also code without values */
	uint32_t rows; /* the instructions with the largest total that are shown; 0: all */
	source_text_find find;
	void *find_arg;
};

/* Appends the files one after another. Returns 0, -ENOMEM, -EBADMSG, or the error of @out. */
int disassembly_text_write(const json_t *answer, const struct disassembly_text_options *options,
			   struct bytes *out);
