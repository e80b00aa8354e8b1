/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A segment of the head, and adding definitions to it. */

#include "common/hash_table.h"
#include "common/id_map.h"
#include "symbolizer/store/head/head.h"
#include "symbolizer/store/head/numbers.h"
#include "symbolizer/store/head/stack_content.h"
#include "symbolizer/store/segment/segment_builder.h"

/*
 * Names an object, a process or a series of an agent: the row in the segment is looked up by it.
 * Stacks are looked up by their content instead, which agents share.
 */
struct lane_key {
	uint64_t epoch; /* agent.order */
	uint32_t table; /* enum segment_table */
	uint32_t number;
	uint32_t version; /* of a process, or of the process of a series */
	uint32_t zero;
};

struct lane {
	struct segment_builder *builder;
	struct hash_table *rows;   /* struct lane_key -> row + 1 */
	struct hash_table *stacks; /* struct content -> u32 row + 1 */
	struct id_map nodes;       /* epoch number << 32 | node of the agent + 1 -> row + 1 */
	uint64_t end_slot;
	uint64_t last_slot; /* of the rows so far */
	bool has_stacks;    /* a process is not without_stacks */
	uint64_t id;        /* no two lanes of a head have the same */

	/* Adjacent frames mostly have the same object: its last row, plus one. */
	struct lane_key last_object;
	uint64_t last_object_row;
};

/* The agent of a batch. */
struct lane_agent {
	struct hash128 id;
	uint64_t epoch; /* agent.order */
	const struct numbers *numbers;
	const struct stack_seeds *seeds;
};

/* Most segments of one batch, and half of those of a head. */
#define MAX_BATCH_LANES (HEAD_MAX_SEGMENTS / 2)

/*
 * Whether the rows of a batch, of which all numbers are known, make more segments. 1, 0, or
 * -ENOMEM.
 */
int lanes_exceed(const struct numbers *numbers, const struct batch *batch,
		 uint64_t slots_per_segment);

/* *ret_row is the row of SERIES or STACK, plus one. Returns 0, -ENOSPC, -ENOMEM. */
int lane_add_series(struct lane *lane, const struct lane_agent *agent, uint32_t number,
		    uint64_t *ret_row);
int lane_add_stack(struct lane *lane, const struct lane_agent *agent, uint32_t number,
		   uint64_t *ret_row);
