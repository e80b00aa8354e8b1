/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Profiles with known shares and the noise of sampling: every sample is drawn independently from
 * the stacks, with probabilities in proportion to their costs (a multinomial distribution). The
 * number of samples is divided evenly among the blocks of each side.
 */

#include "symbolizer/query/regressions.h"
#include "tests/support/unit.h"

#define SYNTHETIC_MAX_STACKS 256

struct synthetic_stack {
	char path[160];
	/* By side and half of the range, so that growth can end: [side][last quarter]. */
	double cost[2][2];
};

struct synthetic {
	struct synthetic_stack stacks[SYNTHETIC_MAX_STACKS];
	size_t n_stacks;
	uint32_t n_samples; /* of each side */
	/* Consecutive samples of the same stack: 1, or more for a program with phases. */
	uint32_t run_length;
	uint64_t seed;
};

static inline uint64_t synthetic_random(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline double synthetic_uniform(uint64_t *state)
{
	return (double)(synthetic_random(state) >> 11) * 0x1p-53;
}

/* Returns the index of the first sum above @point; sums[count]. */
static inline size_t synthetic_search(const double *sums, size_t count, double point)
{
	size_t low = 0, high = count - 1;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (sums[middle] > point)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Draws the samples of one block and adds them. */
static inline void synthetic_fill(const struct synthetic *model, struct function_shares *shares,
				  size_t column, uint64_t *state)
{
	const size_t side = column / FUNCTION_SHARES_BLOCKS;
	const size_t block = column % FUNCTION_SHARES_BLOCKS;
	const bool last = block >= FUNCTION_SHARES_BLOCKS * 3 / 4;
	uint32_t drawn[SYNTHETIC_MAX_STACKS] = {};
	double sums[SYNTHETIC_MAX_STACKS], sum = 0;

	for (size_t i = 0; i < model->n_stacks; i++)
		sums[i] = sum += model->stacks[i].cost[side][last];
	for (uint32_t n = model->n_samples / FUNCTION_SHARES_BLOCKS / model->run_length; n > 0; n--)
		drawn[synthetic_search(sums, model->n_stacks, synthetic_uniform(state) * sum)] +=
			model->run_length;
	for (size_t i = 0; i < model->n_stacks; i++)
		if (drawn[i] > 0)
			assert_ok(function_shares_add_path(shares, model->stacks[i].path, column,
							   drawn[i]));
}

/* Draws all samples. */
static inline struct function_shares *synthetic_draw(const struct synthetic *model)
{
	struct function_shares *shares = NULL;
	uint64_t state = model->seed;

	assert_ok(function_shares_new(NULL, &shares));
	for (size_t column = 0; column < FUNCTION_SHARES_COLUMNS; column++)
		synthetic_fill(model, shares, column, &state);
	assert_ok(function_shares_finish(shares));
	return shares;
}

static inline struct synthetic_stack *synthetic_add(struct synthetic *model, const char *path,
						    double cost)
{
	struct synthetic_stack *stack = &model->stacks[model->n_stacks++];

	assert_in_range(model->n_stacks, 1, SYNTHETIC_MAX_STACKS);
	assert_in_range(strlen(path), 1, sizeof(stack->path) - 1);
	*stack = (struct synthetic_stack){ .cost = { { cost, cost }, { cost, cost } } };
	memcpy(stack->path, path, strlen(path) + 1);
	return stack;
}

/* Multiplies the cost of a stack after the change by @factor. */
static inline void synthetic_scale(struct synthetic_stack *stack, double factor)
{
	stack->cost[1][0] *= factor;
	stack->cost[1][1] *= factor;
}

/*
 * A server with 120 stacks: handlers that call workers, which call shared library functions. Costs
 * fall like 1/n, as in real profiles. The function "hot" has 20 % of the whole, "warm" 5 %.
 */
static inline void synthetic_server(struct synthetic *model, uint32_t n_samples, uint64_t seed)
{
	double rest = 0;

	*model = (struct synthetic){ .n_samples = n_samples, .run_length = 1, .seed = seed };
	for (int i = 0; i < 118; i++)
		rest += 1.0 / (i + 1);
	synthetic_add(model, "_start;main;serve;handler_0;hot", 0.20);
	synthetic_add(model, "_start;main;serve;handler_1;warm", 0.05);
	for (int i = 0; i < 118; i++) {
		char path[160];

		(void)snprintf(path, sizeof(path), "_start;main;serve;handler_%d;worker_%d;%s%d",
			       i % 4, i % 24, i % 3 ? "f" : "[l] lib", i % 3 ? i : i % 12);
		synthetic_add(model, path, 0.75 / rest / (i + 1));
	}
}

/* A model with its samples and result. */
struct synthetic_result {
	struct function_shares *shares;
	struct arena *arena;
	struct regressions found;
};

static inline void synthetic_find(const struct synthetic *model, struct synthetic_result *result)
{
	struct regressions_input input = {
		.base_period = 1,
		.after_period = 1,
		.n_base_blocks = FUNCTION_SHARES_BLOCKS,
		.n_after_blocks = FUNCTION_SHARES_BLOCKS,
		.confidence = REGRESSIONS_CONFIDENCE,
	};

	result->shares = synthetic_draw(model);
	input.shares = result->shares;
	assert_ok(arena_new(64 * MIB, &result->arena));
	assert_ok(regressions_find(&input, result->arena, &result->found));
}

static inline void synthetic_release(struct synthetic_result *result)
{
	result->arena = arena_free(result->arena);
	result->shares = function_shares_free(result->shares);
}

/* Returns the number of rows of a kind, and the first of them. */
static inline size_t synthetic_count(const struct regressions *found, enum regression_kind kind,
				     const struct regression **ret_first)
{
	size_t count = 0;

	*ret_first = NULL;
	for (size_t i = 0; i < found->count; i++) {
		if (found->rows[i].kind != kind)
			continue;
		if (count++ == 0)
			*ret_first = &found->rows[i];
	}
	return count;
}
