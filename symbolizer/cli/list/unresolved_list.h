/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The answer of GET /v1/unresolved: the files whose code has no names in a selection. */

#include <jansson.h>

#include "symbolizer/cli/client/client.h"

/* The server accepts no larger limit. */
#define UNRESOLVED_MAX_ROWS 1000

/*
 * Fetches the answer, in which "files" is an array. The caller releases *ret_root with
 * json_decref(). Logs errors.
 */
int unresolved_fetch(struct client *client, const struct selection_options *selection,
		     uint32_t max_rows, json_t **ret_root);

/* Words for a reason: "stripped file" for "stripped". An unknown reason is returned unchanged. */
const char *unresolved_reason_words(const char *reason);

/* Returns the last part of a row's "file". */
const char *unresolved_base_name(const json_t *row);

/* Returns whether the row is about a file, which the user can name: it has a build-ID or a path. */
bool unresolved_is_file(const json_t *row);

/*
 * Returns whether @text is the row's path, its last part, or a prefix of its build-ID (4 characters
 * or more).
 */
bool unresolved_matches(const json_t *row, const char *text);
