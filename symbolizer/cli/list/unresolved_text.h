/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Code without names, in words: the lines below a profile, the list of `hearth why`, and what is
 * known of one file. Pure functions of the server's answers.
 */

#include <jansson.h>

#include "common/bytes.h"
#include "symbolizer/cli/options/options.h"

struct unresolved_text_options {
	const struct selection_options *selection;
	const char *server; /* for commands that are printed; NULL: the default */
	int width;
	bool all; /* list also what rounds to 0.0 % */
	uint64_t now_s;
};

/* Below 1 % of a profile nothing is said. */
#define UNRESOLVED_MIN_PCT 1.0

/* Appends which files' code has no names and the command that says more; nothing below
 * UNRESOLVED_MIN_PCT. */
void unresolved_hint_write(const json_t *root, const struct unresolved_text_options *options,
			   struct bytes *out);

/* Appends all files of the answer with reason, remedy and command. */
void unresolved_list_write(const json_t *root, const struct unresolved_text_options *options,
			   struct bytes *out);

/*
 * Appends a row of the answer with all that is known of its file: @status is the answer of
 * GET /v1/debuginfo/BUILDID/status, or NULL where the file has no build-ID.
 */
void unresolved_file_write(const json_t *row, const json_t *status,
			   const struct unresolved_text_options *options, struct bytes *out);

/* The part of that which comes from @status: for a file whose code has names in the selection. */
void unresolved_status_write(const json_t *status, const struct unresolved_text_options *options,
			     struct bytes *out);
