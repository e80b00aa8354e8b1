/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Random samples as plain rows, and the segments made of them. The rows are the model with which
 * tests compare segments: they have their definitions in full, so no index is shared with the code
 * under test.
 */

#include "tests/support/unit.h"

#include "common/hash.h"
#include "common/vec.h"
#include "symbolizer/store/segment/segment_builder.h"
#include "symbolizer/store/segment/segment_sum.h"

#define MODEL_MAX_FRAMES 12
#define MODEL_PERIOD_NS  UINT64_C(10000000)

struct model_row {
	unsigned int host, process, thread; /* numbers that name the host, and so on */
	uint64_t slot, value;
	bool with_stack;
	uint8_t cut;
	unsigned int n_frames;
	uint64_t frames[MODEL_MAX_FRAMES]; /* root first */
};

VEC_DEFINE(model, struct model_row);

/* Appends @count random rows with slots in [from, to). */
void model_add_random(struct model *model, uint64_t *random, size_t count, const uint64_t slots[2]);

uint64_t model_random(uint64_t *random);

/* A builder with a head and the rows of @model. Periods are MODEL_PERIOD_NS for even threads. */
struct segment_builder *builder_of(const struct model *model, enum event_value_kind kind);

/* Adds a head for @service, which is "web" in builder_of(). */
void builder_add_head(struct segment_builder *builder, const char *service,
		      enum event_value_kind kind);

/* The segment of @model, in @arena. */
struct segment segment_of(const struct model *model, struct arena *arena);

/* Encodes and decodes all tables. */
struct segment reread(const struct segment *segment, struct arena *arena);

/* All columns and texts are equal. */
void assert_segments_equal(const struct segment *a, const struct segment *b);

/* The segment has exactly the rows of the model, with the same definitions. */
void assert_has_rows(const struct segment *segment, const struct model *model);

/* Identifies the frames of a stack: equal for equal frames and cut. */
uint64_t model_stack_key(const struct model_row *row);
uint64_t segment_stack_key(const struct segment *segment, uint64_t stack);

/* The value in the unit of the event type. */
uint64_t model_value(const struct model_row *row);

static inline struct arena *new_arena(void)
{
	struct arena *arena;

	assert_ok(arena_new(256 * MIB, &arena));
	return arena;
}
