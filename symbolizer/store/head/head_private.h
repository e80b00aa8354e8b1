/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A segment of the head, and adding definitions to it. */

#include "common/hash_table.h"
#include "symbolizer/store/head/numbers.h"
#include "symbolizer/store/segment/segment_builder.h"

/* Names a definition of an agent: the row in the segment is looked up by it. */
struct lane_key {
	uint64_t epoch; /* number of the agent's epoch within the head */
	uint32_t table; /* enum segment_table */
	uint32_t number;
	uint32_t versions[2]; /* of the definition, and of the process of a series */
};

struct lane {
	struct segment_builder *builder;
	struct hash_table *rows; /* struct lane_key -> row + 1 */
	uint64_t end_slot;
	uint64_t id; /* no two lanes of a head have the same */

	/* Adjacent frames mostly have the same object: its last row, plus one. */
	struct lane_key last_object;
	uint64_t last_object_row;
};

/* The agent of a batch. */
struct lane_agent {
	struct hash128 id;
	uint64_t epoch; /* number of the epoch within the head */
	const struct numbers *numbers;
};

/* *ret_row is the row of SERIES or STACK, plus one. Returns 0, -ENOSPC, -ENOMEM. */
int lane_add_series(struct lane *lane, const struct lane_agent *agent, uint32_t number,
		    uint64_t *ret_row);
int lane_add_stack(struct lane *lane, const struct lane_agent *agent, uint32_t number,
		   uint64_t *ret_row);
