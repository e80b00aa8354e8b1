/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The list of stored debuginfo as a table that fits the terminal, and build-IDs by their prefix. */

#include <jansson.h>

#include "common/bytes.h"

/* Shorter prefixes of a build-ID are refused. */
#define DEBUGINFO_MIN_ID_CHARACTERS 4

/*
 * Appends a line for each of @rows. If @width is less than 120 columns, it shortens build-IDs to
 * their first 12 characters, which the commands accept, and omits the time of the upload.
 */
void debuginfo_list_write(const json_t *rows, int width, uint64_t now_s, struct bytes *out);

/*
 * Finds the build-ID in @rows that begins with @text. Returns 1 and sets *ret_id, which is valid as
 * long as @rows; 0 if there is none; -ENOTUNIQ if there are several.
 */
int debuginfo_list_find(const json_t *rows, const char *text, const char **ret_id);
