/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The list of debuginfo as a table that fits the terminal, and build-IDs by their beginning. */

#include <jansson.h>

#include "common/bytes.h"

/* Shorter beginnings of a build-ID are refused. */
#define DEBUGINFO_MIN_ID_CHARACTERS 4

/*
 * Appends a line for each of @rows. Of fewer than 120 columns, build-IDs are shortened to their
 * first 12 characters, which the commands take, and the time of the upload is left out.
 */
void debuginfo_list_write(const json_t *rows, int width, uint64_t now_s, struct bytes *out);

/*
 * The whole build-ID of the rows that begins with @text: 1 found, 0 none, -ENOTUNIQ several.
 * *ret_id lives as long as
 * @rows.
 */
int debuginfo_list_find(const json_t *rows, const char *text, const char **ret_id);
