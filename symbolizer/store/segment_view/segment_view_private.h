/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The tables of a view, and the translation of the rows of a part to the handles of the view. */

#include "common/string_table.h"
#include "common/vec.h"
#include "symbolizer/store/segment_view/segment_view.h"
#include "symbolizer/store/segment_view/tuple_table.h"

/* Most event types of all parts. A part with one more, which is not in the table, is damaged. */
#define VIEW_MAX_EVENT_TYPES 1024

/* A list of labels, or of paths, with more items is damaged. */
#define VIEW_MAX_LABELS 1024
#define VIEW_MAX_PATHS  65536

/* A series of a part. */
struct part_series {
	uint32_t id; /* of the view */
	/* Of its rows in the part; see has_samples(). */
	uint64_t first_slot, last_slot;
};

struct view_part {
	struct segment_part source;
	uint32_t head; /* ID; 0: not read, or of another tenant */
	bool is_read, is_damaged, is_rollup;
	uint32_t next_rollup;       /* of the same head: index + 1; 0: the last one */
	struct part_series *series; /* [n_series], in view->arena; NULL: not read */
	size_t n_series;
};

/* A service and event type. Texts are string_id of view->texts. */
struct view_head {
	string_id service;
	uint32_t event;    /* index in view->events */
	bool is_asked_for; /* by segment_view_find_series() */
	/* Its roll-ups of which the head was read: index of a part + 1; 0: none. */
	uint32_t first_rollup;
};

struct view_host {
	string_id agent, name;
	uint32_t labels;
	uint64_t end_slot; /* of the part that described it */
};

struct view_object {
	uint64_t class; /* see OBJECT in segment_tables.def */
	string_id id, name, attributes;
	uint32_t role;
	string_id path; /* from which some process maps it; 0 unknown */
};

struct view_process {
	uint32_t host;
	uint32_t pid;
	uint64_t start_time_ns;
	string_id name, executable_path;
	uint32_t main_object;
	uint64_t flags;
	uint32_t paths, labels;
	uint64_t end_slot; /* of the samples that have this description */
};

/* Sums over the items of a list of paths: equal for lists of equal items in any order. */
struct path_sum {
	uint64_t sums[2];
};

VEC_DEFINE(view_parts, struct view_part);
VEC_DEFINE(view_heads, struct view_head);
VEC_DEFINE(view_events, const struct event_type_info *);
VEC_DEFINE(view_hosts, struct view_host);
VEC_DEFINE(view_objects, struct view_object);
VEC_DEFINE(view_processes, struct view_process);
VEC_DEFINE(view_path_sums, struct path_sum);

/*
 * IDs of the tables are dense from 1. Item i of a vector belongs to the ID i + 1. Where a tuple has
 * a u64, it is two words.
 */
struct segment_view {
	struct segment_view_options options;
	struct arena *arena;   /* what lives as long as the view */
	struct arena *scratch; /* what one part needs */
	struct segment_codec codec;
	struct bytes content; /* of the part at hand, if it is fetched */
	struct string_table *texts;
	struct view_parts parts;
	size_t n_heads_read; /* of the first parts */
	size_t n_damaged;
	uint64_t taken_bytes; /* of the budget, for what is not in arenas */
	uint64_t path_seeds[2];

	struct tuple_table head_ids; /* service, event */
	struct view_heads heads;
	struct view_events events;
	struct tuple_table labels;   /* next, name, value, number of labels */
	struct tuple_table host_ids; /* agent */
	struct view_hosts hosts;
	struct tuple_table object_ids; /* class, ID */
	struct view_objects objects;
	struct tuple_table paths; /* next, object, path, number of paths */
	struct view_path_sums path_sums;
	struct tuple_table path_sets;   /* sums, number of paths */
	struct tuple_table process_ids; /* host, PID, start time, name, main object */
	struct view_processes processes;
	struct tuple_table series; /* process, TID, name, CPU + 1, period, labels, event */
	struct tuple_table frames; /* kind, object, position */
	struct tuple_table nodes;  /* parent, frame, depth */
	struct tuple_table stacks; /* node, cut */
};

/*
 * Translates rows of a part. Each array has an item for each row: the ID of the view, or 0 if the
 * row was not translated yet. All live in view->scratch. texts has string_id + 1.
 */
struct translation {
	struct segment_view *view;
	const struct segment *segment;
	uint64_t end_slot; /* of the part */
	/* Of each row of PROCESS, the slot after its last sample; 0: it has none. */
	const uint64_t *process_ends;
	uint32_t *texts, *labels, *hosts, *objects, *paths, *processes;
	uint32_t *frames, *nodes, *stacks;
	uint32_t *climb; /* nodes of a stack that are not translated yet */
};

/*
 * Decodes the columns of a part into view->scratch, which it clears. 1; 0: the part is damaged;
 * -ENOMEM.
 */
int view_load(struct segment_view *view, struct view_part *part, uint64_t columns,
	      struct segment *ret_segment);

/* Marks the part as damaged if @r is -EBADMSG. Returns 0 for such a part, else @r. */
int view_check(struct segment_view *view, struct view_part *part, int r);

/* Takes the memory that the tables use from the budget. 0 or -ENOMEM. */
int view_account(struct segment_view *view);

/* Columns of definitions. */
#define VIEW_HEAD_COLUMNS                                                                          \
	(SEGMENT_COLUMN_SET(TEXT_END) | SEGMENT_COLUMN_SET(HEAD_KIND) |                            \
	 SEGMENT_COLUMN_SET(HEAD_TENANT) | SEGMENT_COLUMN_SET(HEAD_SERVICE) |                      \
	 SEGMENT_COLUMN_SET(HEAD_EVENT) | SEGMENT_COLUMN_SET(HEAD_UNIT) |                          \
	 SEGMENT_COLUMN_SET(HEAD_EVENT_KIND))

/* Columns of the rows of a segment that tell when a series has samples. */
#define VIEW_RANGE_COLUMNS (SEGMENT_COLUMN_SET(ROW_SERIES) | SEGMENT_COLUMN_SET(ROW_SLOT))

/* The ranges of time of the series, without their sums. */
#define VIEW_TOTAL_RANGE_COLUMNS                                                                   \
	(SEGMENT_COLUMN_SET(TOTAL_SERIES) | SEGMENT_COLUMN_SET(TOTAL_FIRST_SLOT) |                 \
	 SEGMENT_COLUMN_SET(TOTAL_LAST_SLOT))

/* Whether the segment is one of samples of format 1, in which only the rows have their times. */
static inline bool view_lacks_ranges(const struct view_part *part, const struct segment *segment)
{
	return !part->is_rollup && segment->count[SEGMENT_TOTAL] == 0 &&
	       segment->count[SEGMENT_ROW] > 0;
}

/* All columns of the tables of a set. */
uint64_t view_columns(unsigned int tables);

/* @tables: those with rows to translate; they are decoded. 0 or -ENOMEM. */
int translation_init(struct translation *translation, struct segment_view *view,
		     const struct view_part *part, const struct segment *segment,
		     unsigned int tables);

/* 0, -EBADMSG, -ENOMEM. */
int translate_text(struct translation *translation, uint64_t row, string_id *ret_id);
int translate_labels(struct translation *translation); /* all rows */
int translate_paths(struct translation *translation);  /* all rows */
int translate_object(struct translation *translation, uint64_t row, uint32_t *ret_id);
int translate_processes(struct translation *translation); /* all rows; after labels and paths */

/* @stack: as in ROW_STACK. *ret_id: 0 none. Reads OBJECT, FRAME, NODE, STACK and TEXT. */
int translate_stack(struct translation *translation, uint64_t stack, uint32_t *ret_id);

/* Reads the head of a part. 1; 0: it is of another tenant, or damaged; -ENOMEM. */
int view_read_head(struct segment_view *view, struct view_part *part);

/* Reads head and series of a part. 1; 0: it is of another tenant, or damaged; -ENOMEM. */
int view_read_series(struct segment_view *view, struct view_part *part);

/* Whether a slot of the range [from_slot, to_slot) may be in the part. */
bool view_part_overlaps(const struct view_part *part, uint64_t from_slot, uint64_t to_slot);

/* Reads the heads of all parts. 0, -ENOMEM, -ECANCELED. */
int view_read_heads(struct segment_view *view);

/*
 * Whether a roll-up has all rows of a part of samples, and lies within the range: then the samples
 * need not be read. Reads the heads of other parts. 1, 0, negative errno.
 */
int view_is_covered(struct segment_view *view, struct view_part *part, uint64_t from_slot,
		    uint64_t to_slot);

/* Whether a roll-up is of no use for the range, because the samples must be read. */
static inline bool view_rollup_is_useless(const struct view_part *part, uint64_t from_slot,
					  uint64_t to_slot)
{
	return part->is_rollup && !part->source.samples_removed &&
	       (part->source.first_slot < from_slot || part->source.end_slot > to_slot);
}

static inline bool has_samples(const struct part_series *series)
{
	return series->first_slot <= series->last_slot;
}

static inline uint64_t words_u64(const uint32_t *words)
{
	return words[0] | (uint64_t)words[1] << 32;
}

static inline const char *view_text(const struct segment_view *view, string_id id)
{
	return string_table_text(view->texts, id);
}
