/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The different frames of a selection's stacks, each resolved once. A frame's name does not depend
 * on the process; its label does (own code or library, and the path of what has no name), and is
 * made in frame_label.h.
 */

#include "symbolizer/store/store.h"
#include "symbolizer/symbols/resolver.h"

/* Why a frame has no name; 0 it has one. */
enum frame_status {
	FRAME_NAMED,
	FRAME_NO_DEBUGINFO,
	FRAME_NO_SYMBOL,
	FRAME_TABLE_FAILED,
	FRAME_NO_MAPPING, /* no executable, or no way from the file offset to an address */
};

struct frame {
	struct store_frame stored;
	enum frame_status status;
	const char *function; /* FRAME_NAMED */
	uint32_t executable;  /* index in the table's executables; UINT32_MAX none */
	bool kernel;
	uint32_t own_label; /* 1 + the tree's string_id, 0 not made yet: as own code, as kernel, or
			       as "[unknown]" */
	uint32_t library_label; /* 1 + the tree's string_id, 0 not made yet: as a library's code */
};

#define FRAME_NO_EXECUTABLE UINT32_MAX

/*
 *   frames[n_frames]
 *   executables[n_executables]  by id
 */
struct frame_table {
	struct frame *frames;
	size_t n_frames;
	size_t capacity;
	uint32_t *slots;
	size_t slot_mask;
	struct store_executable *executables;
	size_t n_executables;
};

int frame_table_init(struct frame_table *table);
void frame_table_release(struct frame_table *table);

/* Finds or adds; *ret_index stays valid. 0, -ENOMEM. */
int frame_table_add(struct frame_table *table, const struct store_frame *frame,
		    uint32_t *ret_index);

/* Names all frames. Texts live in @arena. */
int frame_table_resolve(struct frame_table *table, struct store *store, struct resolver *resolver,
			struct arena *arena);
