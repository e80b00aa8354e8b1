/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/wanted.h"

#include "tests/support/unit.h"

static void queue_release(struct wanted_vec *queue)
{
	vec_release(queue);
}

static struct wanted request(uint8_t id)
{
	return (struct wanted){
		.id = { .kind = EXECUTABLE_ID_GNU, .size = 1, .bytes = { id } },
		.trusted_only = true,
	};
}

static void add(struct wanted_vec *queue, uint8_t id)
{
	const struct wanted wanted = request(id);

	assert_ok(wanted_add(queue, &wanted));
}

/* @arg: the rank of each ID. */
static uint64_t rank_in_table(void *arg, const struct wanted *wanted)
{
	const uint64_t *ranks = arg;

	return ranks[wanted->id.bytes[0]];
}

static void take(struct wanted_vec *queue, uint64_t *ranks, uint8_t expected_id)
{
	struct wanted wanted;

	assert_true(wanted_take(queue, rank_in_table, ranks, &wanted));
	assert_int_equal(wanted.id.bytes[0], expected_id);
}

static void the_largest_rank_comes_first_and_of_equal_ones_the_oldest(void **state)
{
	scoped(queue_release) struct wanted_vec queue = {};
	uint64_t ranks[] = { 5, 7, 5, 7 };
	struct wanted wanted;

	(void)state;
	for (uint8_t id = 0; id < ARRAY_SIZE(ranks); id++)
		add(&queue, id);
	take(&queue, ranks, 1);
	/* Ranks count when a request is taken. */
	ranks[2] = 8;
	take(&queue, ranks, 2);
	take(&queue, ranks, 3);
	take(&queue, ranks, 0);
	assert_false(wanted_take(&queue, rank_in_table, ranks, &wanted));
}

static void a_request_that_must_wait_stays_and_does_not_block_others(void **state)
{
	scoped(queue_release) struct wanted_vec queue = {};
	uint64_t ranks[] = { WANTED_NOT_NOW, 1 };
	struct wanted wanted;

	(void)state;
	add(&queue, 0);
	add(&queue, 1);
	take(&queue, ranks, 1);
	assert_false(wanted_take(&queue, rank_in_table, ranks, &wanted));
	assert_int_equal(queue.count, 1);
	ranks[0] = 1;
	take(&queue, ranks, 0);
}

static void a_repeated_request_is_one_and_keeps_the_weaker_condition(void **state)
{
	scoped(queue_release) struct wanted_vec queue = {};
	struct wanted again = request(3);

	(void)state;
	add(&queue, 3);
	again.trusted_only = false;
	assert_ok(wanted_add(&queue, &again));
	add(&queue, 3);
	assert_int_equal(queue.count, 1);
	assert_false(queue.items[0].trusted_only);
}

static void requests_beyond_the_maximum_are_ignored(void **state)
{
	scoped(queue_release) struct wanted_vec queue = {};
	struct wanted wanted = request(0);

	(void)state;
	wanted.id.size = 2;
	for (unsigned int i = 0; i < WANTED_MAX + 10; i++) {
		wanted.id.bytes[0] = (uint8_t)i;
		wanted.id.bytes[1] = (uint8_t)(i >> 8);
		assert_ok(wanted_add(&queue, &wanted));
	}
	assert_int_equal(queue.count, WANTED_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_largest_rank_comes_first_and_of_equal_ones_the_oldest),
		cmocka_unit_test(a_request_that_must_wait_stays_and_does_not_block_others),
		cmocka_unit_test(a_repeated_request_is_one_and_keeps_the_weaker_condition),
		cmocka_unit_test(requests_beyond_the_maximum_are_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
