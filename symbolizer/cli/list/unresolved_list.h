/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The answer of GET /v1/unresolved: the files whose code has no names in a selection. */

#include <jansson.h>

#include "symbolizer/cli/client/client.h"

/* So many rows may be asked for. */
#define UNRESOLVED_MAX_ROWS 1000

/* *ret_root is the answer, to be released with json_decref(); its "files" is an array. Errors are
 * said. */
int unresolved_fetch(struct client *client, const struct selection_options *selection,
		     uint32_t max_rows, json_t **ret_root);

/* "stripped file" for the reason "stripped"; the reason itself where it is not known. */
const char *unresolved_reason_words(const char *reason);

/* The last part of a row's "file". */
const char *unresolved_base_name(const json_t *row);

/* Whether the row lies in a file that the user could name. */
bool unresolved_is_file(const json_t *row);

/* Whether @text is the row's path, its last part, or (at least 4 characters) the beginning of its
 * build-ID. */
bool unresolved_is_meant(const json_t *row, const char *text);
