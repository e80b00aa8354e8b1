/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Texts about code without function names: the lines below a profile, the list of `hearth why`, and
 * the details of one file. Output depends on the server's answers and the options only.
 */

#include <jansson.h>

#include "common/bytes.h"
#include "symbolizer/cli/options/options.h"

struct unresolved_text_options {
	const struct selection_options *selection;
	const char *server; /* for the commands in the text; NULL: the default */
	int width;
	bool all; /* list also files with a share that rounds to 0.0 % */
	uint64_t now_s;
};

/* No hint if less of a profile has no names. */
#define UNRESOLVED_MIN_PCT 1.0

/*
 * Appends the largest files without names, each with the `hearth why` command that explains it.
 * Appends nothing below UNRESOLVED_MIN_PCT.
 */
void unresolved_hint_write(const json_t *root, const struct unresolved_text_options *options,
			   struct bytes *out);

/* Appends all files of the answer with reason, remedy and command. */
void unresolved_list_write(const json_t *root, const struct unresolved_text_options *options,
			   struct bytes *out);

/*
 * Appends a row of the answer with the details of its file. @status is the answer of
 * GET /v1/debuginfo/BUILDID/status, or NULL if the file has no build-ID.
 */
void unresolved_file_write(const json_t *row, const json_t *status,
			   const struct unresolved_text_options *options, struct bytes *out);

/* Appends the details of @status only: for a file that is in no row, because it has all names. */
void unresolved_status_write(const json_t *status, const struct unresolved_text_options *options,
			     struct bytes *out);
