/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the index of a day file has about a segment, so that a query decodes only what it needs. */

#include "common/limits.h"
#include "symbolizer/store/segment/segment.h"

#define SEGMENT_SLOTS_PER_DAY  (24 * 3600 * NSEC_PER_SEC / SLOT_NS)
#define SEGMENT_SLOTS_PER_HOUR (SEGMENT_SLOTS_PER_DAY / 24)

/* Largest encoded segment: the most bytes of an SQLite blob. */
#define SEGMENT_DB_MAX_SEGMENT_BYTES (900 * MIB)

struct segment_info {
	uint64_t id;    /* in its day file */
	uint64_t flush; /* number of the newest flush with rows in the segment */
	const char *tenant, *service, *event, *unit;
	enum event_value_kind event_kind;
	enum segment_kind kind;
	uint64_t first_slot, last_slot;
	uint64_t n_hosts, n_rows;
	uint64_t n_bytes;      /* encoded */
	uint64_t memory_bytes; /* decoded */
	bool without_stacks;   /* all its processes are */
	/* Roll-up: the samples that it sums were removed. Later samples of its hour may exist. */
	bool samples_removed;
};

/*
 * Describes a segment that has all tables. The texts are in @arena; id, flush and n_bytes are 0. 0,
 * -ENOMEM; -EBADMSG: it has no head, no rows, or rows on several days.
 */
int segment_info_of(const struct segment *segment, struct arena *arena,
		    struct segment_info *ret_info);

static inline uint64_t segment_info_hour(const struct segment_info *info)
{
	return info->first_slot / SEGMENT_SLOTS_PER_HOUR;
}

/* Whether two segments are of one hour, and their HEADs differ in KIND at most. */
bool segment_info_same_hour(const struct segment_info *a, const struct segment_info *b);

/*
 * Compares as qsort() needs it: segments of one hour, as above, are adjacent, and roll-ups are
 * before samples.
 */
int segment_info_order(const struct segment_info *a, const struct segment_info *b);

/* Whether two segments can be merged: all columns of HEAD are equal. */
bool segment_info_same_head(const struct segment_info *a, const struct segment_info *b);

/* Whether the index entry @a is that of the segment @b. IDs and flushes may differ. */
bool segment_info_equal(const struct segment_info *a, const struct segment_info *b);
