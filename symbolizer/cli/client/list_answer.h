/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Answers of the form {"NAME": [{...}, ...]}: fetched, printed as they are (--json) or handed over
 * for a table.
 */

#include <jansson.h>

#include "symbolizer/cli/client/client.h"
#include "symbolizer/cli/options/exit_code.h"

/* Appends the table for @rows; @now_s for ages. */
typedef void (*list_format)(const json_t *rows, uint64_t now_s, struct bytes *out);

/* @empty is what is said when the list is empty (status 3). */
enum exit_code list_print(const struct connection_options *options, struct client *client,
			  const char *path, const char *name, const char *empty,
			  list_format format);

/* "" and 0 where the key is missing or of another type. */
const char *list_text(const json_t *row, const char *key);
uint64_t list_number(const json_t *row, const char *key);
