/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two tables with a maximum size: numbers of stacks, and numbers of series. When a table gets full,
 * the agent removes numbers that were not used for a minute, and if that is not enough, those that
 * were used longest ago. A removed number is never used again: if the stack is sampled again, it
 * gets a new number and its definition is sent once more.
 */
#include "agent/sample/definitions.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"

/* 40 bytes each: 2.6 MB when full. A busy host has some 20 thousand stacks a minute. */
#define MAX_STACK_NUMBERS  65536
#define MAX_SERIES_NUMBERS 32768

/*
 * A table is swept when it is more than 1/4 full: where many short programs run, most numbers
 * belong to processes that have ended.
 */
#define SWEEP_FRACTION 4

/* Windows (of 5 s) after which an unused number is removed. */
#define KEEP_WINDOWS 12

int definitions_init(struct definitions *definitions)
{
	int r;

	*definitions = (struct definitions){ .next_stack = 1, .next_series = 1 };
	r = hash_table_new(sizeof(uint64_t), sizeof(struct stack_number), 0, &definitions->stacks);
	if (r < 0)
		return r;
	return hash_table_new(sizeof(struct series_key), sizeof(struct series_number), 0,
			      &definitions->series);
}

void definitions_release(struct definitions *definitions)
{
	definitions->stacks = hash_table_free(definitions->stacks);
	definitions->series = hash_table_free(definitions->series);
}

int definitions_stack(struct definitions *definitions, uint64_t content_hash, uint64_t window,
		      struct stack_number **ret_number)
{
	struct stack_number *stack;
	void *value;
	int r;

	r = hash_table_insert(definitions->stacks, &content_hash, &value);
	if (r < 0)
		return r;
	stack = value;
	if (r == 1)
		stack->number = definitions->next_stack++;
	stack->last_window = window;
	*ret_number = stack;
	return 0;
}

int definitions_series(struct definitions *definitions, const struct series_key *key,
		       uint64_t window, struct series_number **ret_number)
{
	struct series_number *series;
	void *value;
	int r;

	r = hash_table_insert(definitions->series, key, &value);
	if (r < 0)
		return r;
	series = value;
	if (r == 1)
		series->number = definitions->next_series++;
	series->last_window = window;
	*ret_number = series;
	return 0;
}

void definitions_acknowledge(struct definitions *definitions, uint64_t sequence)
{
	if (sequence > definitions->acknowledged_sequence)
		definitions->acknowledged_sequence = sequence;
}

bool definitions_must_send(const struct definitions *definitions, uint64_t *first_sent_sequence,
			   uint64_t sequence)
{
	if (*first_sent_sequence != 0 && *first_sent_sequence <= definitions->acknowledged_sequence)
		return false;
	if (*first_sent_sequence == 0)
		*first_sent_sequence = sequence;
	return true;
}

void definitions_forget(struct definitions *definitions, bool all)
{
	size_t cursor = 0;
	void *value;

	while (hash_table_next(definitions->stacks, &cursor, NULL, &value)) {
		struct stack_number *stack = value;

		if (all || stack->first_sent_sequence > definitions->acknowledged_sequence)
			stack->first_sent_sequence = 0;
	}
	cursor = 0;
	while (hash_table_next(definitions->series, &cursor, NULL, &value)) {
		struct series_number *series = value;

		if (all || series->first_sent_sequence > definitions->acknowledged_sequence)
			series->first_sent_sequence = 0;
	}
}

/*
 * Removes numbers that were not used in the last @keep windows before @window. @last_window_at:
 * offset of the field last_window in a value of the table.
 */
static size_t remove_unused(struct hash_table *table, size_t last_window_at, uint64_t keep,
			    uint64_t window)
{
	size_t before = hash_table_count(table);
	size_t cursor = 0;
	void *value;

	while (hash_table_next(table, &cursor, NULL, &value)) {
		uint64_t last_window;

		memcpy(&last_window, (const uint8_t *)value + last_window_at, sizeof(last_window));
		if (last_window + keep < window)
			hash_table_remove_at_cursor(table, &cursor);
	}
	return before - hash_table_count(table);
}

/*
 * Removes numbers that were not used recently. If there are still too many, removes those used
 * longest ago and counts them. Numbers used in the open window are kept, because it refers to them.
 */
static void sweep_table(struct definitions *definitions, struct hash_table *table,
			size_t last_window_at, size_t max_numbers, uint64_t window)
{
	size_t evicted = 0;

	if (hash_table_count(table) <= max_numbers / SWEEP_FRACTION)
		return;
	(void)remove_unused(table, last_window_at, KEEP_WINDOWS, window);
	for (uint64_t keep = KEEP_WINDOWS; keep-- > 0 && hash_table_count(table) > max_numbers;)
		evicted += remove_unused(table, last_window_at, keep, window);
	if (evicted > 0 && definitions->n_evicted == 0)
		log_warn("more than %zu stacks or series are in use: the agent forgets those used "
			 "longest ago and defines them again when they are used",
			 max_numbers);
	definitions->n_evicted += evicted;
}

void definitions_sweep(struct definitions *definitions, uint64_t window)
{
	sweep_table(definitions, definitions->stacks, offsetof(struct stack_number, last_window),
		    MAX_STACK_NUMBERS, window);
	sweep_table(definitions, definitions->series, offsetof(struct series_number, last_window),
		    MAX_SERIES_NUMBERS, window);
}
