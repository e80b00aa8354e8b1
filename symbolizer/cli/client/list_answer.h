/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests an answer of the form {"NAME": [{...}, ...]} from the server, and prints it: with --json
 * as it is, else as a table that the caller's function formats.
 */

#include <jansson.h>

#include "symbolizer/cli/client/client.h"
#include "symbolizer/cli/options/exit_code.h"

/* Appends the table for @rows to @out. @now_s is the current time, for columns with ages. */
typedef void (*list_format)(const json_t *rows, uint64_t now_s, struct bytes *out);

/*
 * Requests @path and prints the list with the key @name. If the list is empty, prints @empty on
 * stderr and returns EXIT_NO_DATA.
 */
enum exit_code list_print(const struct connection_options *options, struct client *client,
			  const char *path, const char *name, const char *empty,
			  list_format format);

/* The value of @key in @row; "" or 0 if the key is missing or has another type. */
const char *list_text(const json_t *row, const char *key);
uint64_t list_number(const json_t *row, const char *key);
