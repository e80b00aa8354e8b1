/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A head, and an arena for the results. */

#include "symbolizer/store/head/head.h"
#include "tests/support/unit.h"

/* Of batches; all texts must be set. */
#define HEAD_HOST                                                                                  \
	{                                                                                          \
		.name = "host", .machine_id = "", .boot_id = "", .agent_version = "",              \
		.kernel_release = "", .architecture = ""                                           \
	}

struct fixture {
	struct head *head;
	struct arena *arena;
	struct store_missing missing;
};

static inline int setup_with(void **state, uint64_t slots_per_segment, size_t max_bytes,
			     size_t max_numbers_bytes, size_t max_agents)
{
	const struct head_options options = { .slots_per_segment = slots_per_segment,
					      .max_bytes = max_bytes,
					      .max_numbers_bytes = max_numbers_bytes,
					      .max_agents = max_agents };
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	assert_ok(arena_new(64 * MIB, &fixture->arena));
	assert_ok(head_new(&options, &fixture->head));
	*state = fixture;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *fixture = *state;

	(void)head_free(fixture->head);
	(void)arena_free(fixture->arena);
	free(fixture);
	return 0;
}

static inline int add(struct fixture *fixture, const struct batch *batch)
{
	return head_add(fixture->head, "default", batch, fixture->arena, &fixture->missing);
}
