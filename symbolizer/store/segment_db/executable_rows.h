/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The executables of the segments of a flush: the day files list them, so that a lookup by identity
 * needs not decode segments. Executables of deleted services stay until their day is removed.
 */

#include "common/hash_table.h"
#include "symbolizer/store/segment_db/label_names.h"

/* A row of the table "executable". Texts that are not known (yet) are "". */
struct executable_row {
	segment_day day;
	const char *tenant;
	unsigned int class; /* enum executable_id_kind */
	uint64_t role;
	struct bytes_view id;
	const char *name, *path;
};

/*
 * Zeroed: empty. Each executable of a tenant and day is there once. Their texts are bounded: beyond
 * 64 MiB in one flush, further ones are left out, which only hides their descriptions.
 */
struct executable_rows {
	struct hash_table *known;
	struct arena *arena; /* of the texts, but for tenants */
	VEC_DEFINE(, struct executable_row) rows;
};

void executable_rows_release(struct executable_rows *rows);

/* Adds the executables of a segment. @segment->tenant must live as long as @rows. 0, -ENOMEM. */
int executable_rows_add(struct executable_rows *rows, const struct labeled_segment *segment);

/*
 * Adds the rows of @day to its file. A row that the file has keeps its texts, but gets those that
 * it lacks. Needs an open transaction.
 */
int executable_rows_write(const struct executable_rows *rows, segment_day day,
			  struct sqlite_db *file);
