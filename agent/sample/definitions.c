/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two tables of numbers with a ceiling: when one is full, what was not used for a minute leaves, and if that is not
 * enough, all of it. Numbers never come back, so forgetting costs one more definition on the wire and nothing else.
 */
#include "agent/sample/definitions.h"

#include <stdlib.h>

/* 40 bytes each: 2.6 MB when full. A busy host has some 20 thousand stacks a minute. */
#define MAX_STACK_NUMBERS 65536
#define MAX_SERIES_NUMBERS 32768

/* From here on what is old is looked for: where programs come and go, most of it is of processes that have ended. */
#define SWEEP_STACK_NUMBERS  (MAX_STACK_NUMBERS / 4)
#define SWEEP_SERIES_NUMBERS (MAX_SERIES_NUMBERS / 4)

/* Windows (5 s) after which an unused number leaves when room is needed. */
#define KEEP_WINDOWS 12

int definitions_init(struct definitions *definitions)
{
	int r;

	*definitions = (struct definitions){ .next_stack = 1, .next_series = 1 };
	r = hash_table_new(sizeof(uint64_t), sizeof(struct stack_number), 0, &definitions->stacks);
	if (r < 0)
		return r;
	return hash_table_new(sizeof(struct series_key), sizeof(struct series_number), 0, &definitions->series);
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

int definitions_series(struct definitions *definitions, const struct series_key *key, uint64_t window,
		       struct series_number **ret_number)
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

bool definitions_must_send(const struct definitions *definitions, uint64_t *first_sent_sequence, uint64_t sequence)
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

void definitions_sweep(struct definitions *definitions, uint64_t window)
{
	size_t cursor = 0;
	void *value;

	if (hash_table_count(definitions->stacks) > SWEEP_STACK_NUMBERS) {
		while (hash_table_next(definitions->stacks, &cursor, NULL, &value)) {
			if (((struct stack_number *)value)->last_window + KEEP_WINDOWS < window)
				hash_table_remove_at_cursor(definitions->stacks, &cursor);
		}
		if (hash_table_count(definitions->stacks) > MAX_STACK_NUMBERS)
			hash_table_clear(definitions->stacks);
	}
	cursor = 0;
	if (hash_table_count(definitions->series) > SWEEP_SERIES_NUMBERS) {
		while (hash_table_next(definitions->series, &cursor, NULL, &value)) {
			if (((struct series_number *)value)->last_window + KEEP_WINDOWS < window)
				hash_table_remove_at_cursor(definitions->series, &cursor);
		}
		if (hash_table_count(definitions->series) > MAX_SERIES_NUMBERS)
			hash_table_clear(definitions->series);
	}
}
