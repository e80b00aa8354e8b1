/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The different frames of a selection's stacks, each resolved once: to a place in the source, and
 * the places of the calls that were inlined around it. A name does not depend on the process; its
 * label does (own code or library, and the path of what has no name), and is made in frame_label.h.
 */

#include "common/vec.h"
#include "symbolizer/store/store.h"
#include "symbolizer/symbols/resolver.h"

/* Why a frame has no name; 0 it has one. */
enum frame_status {
	FRAME_NAMED,
	FRAME_NO_DEBUGINFO,
	FRAME_STRIPPED,
	FRAME_OUTSIDE,
	FRAME_TABLE_PENDING,
	FRAME_TABLE_FAILED,
	FRAME_NO_MAPPING, /* no executable, or no way from the file offset to an address */
};

/*
 * A function at a place in the source. Many addresses share one; labels are made once for each, not
 * for each address.
 */
struct frame_place {
	const char *function; /* NULL: only the line is known, there is nothing to show */
	uint32_t caller;      /* lower: what it is inlined into; RESOLVE_NO_PLACE */
	uint32_t
		own_label; /* 1 + the tree's string_id, 0 not made yet: as the program's own code */
	uint32_t library_label; /* the same, as a library's code */
	uint32_t kernel_label;  /* and as the kernel's */
};

struct frame {
	struct store_frame stored;
	enum frame_status status;
	uint32_t place;          /* FRAME_NAMED: the innermost */
	uint32_t executable;     /* index in the table's executables; FRAME_NO_EXECUTABLE */
	uint64_t function_start; /* ELF address, of a frame without a name; or RESOLVE_NO_START */
	uint32_t nameless_label; /* as the place's labels, where there is no name */
	bool kernel;
};

#define FRAME_NO_EXECUTABLE UINT32_MAX

VEC_DEFINE(frame_place_vec, struct frame_place);

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
	struct frame_place_vec places;
	struct store_executable *executables;
	size_t n_executables;
	uint32_t n_pending; /* executables whose symbol table is being made */
};

int frame_table_init(struct frame_table *table);
void frame_table_release(struct frame_table *table);

/* Finds or adds; *ret_index stays valid. 0, -ENOMEM. */
int frame_table_add(struct frame_table *table, const struct store_frame *frame,
		    uint32_t *ret_index);

struct frame_names {
	struct store *store;
	struct resolver *resolver;
	struct arena *arena;  /* for texts */
	uint64_t patience_ns; /* for all tables that are being made together */
	bool no_inlines;      /* name frames only by the function that has the code */
};

/* Names all frames. */
int frame_table_resolve(struct frame_table *table, const struct frame_names *names);
