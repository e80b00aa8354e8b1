/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The names of labels of the segments of a flush: the day files list them, so that a message about
 * an unknown name needs not decode segments. Names of deleted services stay until their day is
 * removed.
 */

#include "common/hash_table.h"
#include "symbolizer/store/segment_db/day_file.h"

struct label_name {
	segment_day day;
	const char *tenant, *name;
};

/* Zeroed: empty. */
struct label_names {
	struct hash_table *known;
	VEC_DEFINE(, struct label_name) names; /* each once; the texts are in the caller's arena */
};

void label_names_release(struct label_names *names);

/* Adds the names of a segment. @tenant is in @arena. */
struct labeled_segment {
	segment_day day;
	const char *tenant;
	const struct segment *segment;
};
int label_names_add(struct label_names *names, const struct labeled_segment *segment,
		    struct arena *arena);

/* Adds the names of @day to its file. Needs an open transaction. */
int label_names_write(const struct label_names *names, segment_day day, struct sqlite_db *file);
