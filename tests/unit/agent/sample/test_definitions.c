/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sample/definitions.h"

#include "tests/support/unit.h"

static int setup(void **state)
{
	struct definitions *definitions = calloc(1, sizeof(*definitions));

	assert_non_null(definitions);
	assert_ok(definitions_init(definitions));
	*state = definitions;
	return 0;
}

static int teardown(void **state)
{
	definitions_release(*state);
	free(*state);
	return 0;
}

static void equal_stacks_have_one_number_and_numbers_are_never_reused(void **state)
{
	struct definitions *definitions = *state;
	struct stack_number *number;
	uint32_t first;

	assert_ok(definitions_stack(definitions, 11, 1, &number));
	first = number->number;
	assert_ok(definitions_stack(definitions, 12, 1, &number));
	assert_int_not_equal(number->number, first);
	assert_ok(definitions_stack(definitions, 11, 2, &number));
	assert_int_equal(number->number, first);

	/* Fills the table, so that sweeping removes old numbers. */
	for (uint64_t hash = 100; hash < 100 + 70000; hash++)
		assert_ok(definitions_stack(definitions, hash, 100, &number));
	definitions_sweep(definitions, 100);
	assert_ok(definitions_stack(definitions, 11, 101, &number));
	assert_true(number->number > 70000);
}

static void numbers_used_longest_ago_are_evicted_first(void **state)
{
	struct definitions *definitions = *state;
	struct stack_number *number;

	/* Ten windows of 8000 numbers, all recently used: more than fit. */
	for (uint64_t window = 100; window < 110; window++) {
		for (uint64_t i = 0; i < 8000; i++)
			assert_ok(definitions_stack(definitions, window * 10000 + i, window,
						    &number));
	}
	definitions_sweep(definitions, 109);
	assert_int_equal(hash_table_count(definitions->stacks), 64000);
	assert_int_equal(definitions->n_evicted, 16000);
	assert_ok(definitions_stack(definitions, 102 * 10000, 110, &number));
	assert_int_equal(number->number, 2 * 8000 + 1);
	assert_ok(definitions_stack(definitions, 101 * 10000, 110, &number));
	assert_int_equal(number->number, 80001);
}

static void a_definition_is_sent_until_a_batch_with_it_is_acknowledged(void **state)
{
	struct definitions *definitions = *state;
	uint64_t first_sent = 0;

	assert_true(definitions_must_send(definitions, &first_sent, 5));
	assert_int_equal(first_sent, 5);
	assert_true(definitions_must_send(definitions, &first_sent, 6));
	assert_int_equal(first_sent, 5);
	definitions_acknowledge(definitions, 4);
	assert_true(definitions_must_send(definitions, &first_sent, 7));
	definitions_acknowledge(definitions, 5);
	assert_false(definitions_must_send(definitions, &first_sent, 8));
	/* An older acknowledgement changes nothing. */
	definitions_acknowledge(definitions, 2);
	assert_false(definitions_must_send(definitions, &first_sent, 9));
}

static void after_a_dropped_batch_unacknowledged_definitions_are_sent_again(void **state)
{
	struct definitions *definitions = *state;
	struct stack_number *known;
	struct stack_number *dropped;

	assert_ok(definitions_stack(definitions, 1, 1, &known));
	assert_true(definitions_must_send(definitions, &known->first_sent_sequence, 1));
	definitions_acknowledge(definitions, 1);
	assert_ok(definitions_stack(definitions, 2, 1, &dropped));
	assert_true(definitions_must_send(definitions, &dropped->first_sent_sequence, 2));

	definitions_forget(definitions, false);
	assert_ok(definitions_stack(definitions, 1, 1, &known));
	assert_ok(definitions_stack(definitions, 2, 1, &dropped));
	assert_int_equal(known->first_sent_sequence, 1);
	assert_int_equal(dropped->first_sent_sequence, 0);

	definitions_forget(definitions, true);
	assert_int_equal(known->first_sent_sequence, 0);
}

static void series_differ_by_every_field_of_their_key(void **state)
{
	static const struct series_key keys[] = {
		{ .process = 1, .tid = 2, .cpu = -1, .type = EVENT_ON_CPU, .thread_name = "a" },
		{ .process = 2, .tid = 2, .cpu = -1, .type = EVENT_ON_CPU, .thread_name = "a" },
		{ .process = 1, .tid = 3, .cpu = -1, .type = EVENT_ON_CPU, .thread_name = "a" },
		{ .process = 1, .tid = 2, .cpu = 0, .type = EVENT_ON_CPU, .thread_name = "a" },
		{ .process = 1, .tid = 2, .cpu = -1, .type = EVENT_OFF_CPU, .thread_name = "a" },
		{ .process = 1, .tid = 2, .cpu = -1, .type = EVENT_ON_CPU, .thread_name = "b" },
	};
	struct definitions *definitions = *state;
	struct series_number *number;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		assert_ok(definitions_series(definitions, &keys[i], 1, &number));
		assert_int_equal(number->number, i + 1);
	}
	assert_ok(definitions_series(definitions, &keys[2], 1, &number));
	assert_int_equal(number->number, 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(equal_stacks_have_one_number_and_numbers_are_never_reused),
		TEST(numbers_used_longest_ago_are_evicted_first),
		TEST(a_definition_is_sent_until_a_batch_with_it_is_acknowledged),
		TEST(after_a_dropped_batch_unacknowledged_definitions_are_sent_again),
		TEST(series_differ_by_every_field_of_their_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
