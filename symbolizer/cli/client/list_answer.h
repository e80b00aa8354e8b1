/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fetches answers of the form {"NAME": [{...}, ...]} and prints them, unchanged (--json) or as a
 * table.
 */

#include <jansson.h>

#include "symbolizer/cli/client/client.h"
#include "symbolizer/cli/options/exit_code.h"

/* Appends the table of @rows. @now_s is the present time, to compute ages. */
typedef void (*list_format)(const json_t *rows, uint64_t now_s, struct bytes *out);

/* If the list is empty, prints @empty to stderr and returns EXIT_NO_DATA. */
enum exit_code list_print(const struct connection_options *options, struct client *client,
			  const char *path, const char *name, const char *empty,
			  list_format format);

/* Return the value of @key in @row; "" or 0 if the key is missing or has another type. */
const char *list_text(const json_t *row, const char *key);
uint64_t list_number(const json_t *row, const char *key);
