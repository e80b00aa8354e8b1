/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the text of a source file: below a folder, or else among the files that were uploaded to
 * the server, or else the file with this path on this machine.
 */

#include "common/bytes.h"
#include "common/vec.h"
#include "symbolizer/cli/client/client.h"

VEC_DEFINE(source_texts, struct bytes);
VEC_DEFINE(source_names, char *);

/* The caller sets the first two fields. Texts live until source_finder_release(). */
struct source_finder {
	struct client *client;
	const char *folder; /* NULL: none */
	struct source_texts texts;
	struct source_names names; /* of @texts: the path of each */
};

void source_finder_release(struct source_finder *finder);

/* @arg is the finder. Each file is looked for once. Returns empty bytes if it is nowhere. */
struct bytes_view source_finder_find(void *arg, const char *build_id, const char *path);
