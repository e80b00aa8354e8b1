/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Prints an answer of GET /v1/source: the lines of a function, with their text if it is found. */

#include <jansson.h>

#include "common/bytes.h"
#include "common/event_type.h"

/* Returns the text of a source file of the answer, or empty bytes. The text lives until the end. */
typedef struct bytes_view (*source_text_find)(void *arg, const char *build_id, const char *file);

struct source_text_options {
	enum event_type event;
	int width; /* columns */
	source_text_find find;
	void *find_arg;
};

/* Appends the files one after another. Returns 0, -EBADMSG, or the error of @out. */
int source_text_write(const json_t *answer, const struct source_text_options *options,
		      struct bytes *out);
