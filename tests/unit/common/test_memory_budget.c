/* SPDX-License-Identifier: Apache-2.0 */
#include "common/memory_budget.h"

#include <pthread.h>

#include "common/arena.h"
#include "common/bytes.h"
#include "tests/support/unit.h"

static void takers_share_the_limit(void **state)
{
	struct memory_budget budget = { .limit_bytes = 100 };

	(void)state;
	assert_true(memory_budget_take(&budget, 60));
	assert_false(memory_budget_take(&budget, 41));
	assert_false(memory_budget_take(&budget, UINT64_MAX));
	assert_int_equal(memory_budget_refused(&budget), 2);
	assert_true(memory_budget_take(&budget, 40));
	memory_budget_give(&budget, 60);
	assert_true(memory_budget_take(&budget, 41));
	assert_int_equal(budget.used_bytes, 81);
}

static void without_a_budget_there_is_no_limit(void **state)
{
	(void)state;
	assert_true(memory_budget_take(NULL, UINT64_MAX));
	memory_budget_give(NULL, UINT64_MAX);
	assert_int_equal(memory_budget_refused(NULL), 0);
}

static void *take_and_give(void *arg)
{
	struct memory_budget *budget = arg;

	for (int i = 0; i < 100000; i++) {
		if (!memory_budget_take(budget, 7))
			continue;
		assert(atomic_load(&budget->used_bytes) <= budget->limit_bytes);
		memory_budget_give(budget, 7);
	}
	return NULL;
}

static void threads_never_exceed_it_together(void **state)
{
	struct memory_budget budget = { .limit_bytes = 20 };
	pthread_t threads[4];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, &budget), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(budget.used_bytes, 0);
}

static void an_arena_takes_its_blocks_and_gives_them_back(void **state)
{
	struct memory_budget budget = { .limit_bytes = 300 * KIB };
	struct arena *first, *second;

	(void)state;
	assert_ok(arena_new_in(GIB, &budget, &first));
	assert_ok(arena_new_in(GIB, &budget, &second));
	assert_non_null(arena_alloc(first, 200 * KIB));
	assert_true(budget.used_bytes >= 200 * KIB);
	assert_null(arena_alloc(second, 200 * KIB));
	assert_int_equal(memory_budget_refused(&budget), 1);
	assert_null(arena_free(first));
	assert_non_null(arena_alloc(second, 200 * KIB));
	arena_clear(second);
	assert_int_equal(budget.used_bytes, 0);
	assert_null(arena_free(second));
	assert_int_equal(budget.used_bytes, 0);
}

static void a_buffer_takes_its_capacity_when_it_is_large(void **state)
{
	struct memory_budget budget = { .limit_bytes = MIB };
	struct bytes bytes = BYTES_INIT(GIB);

	(void)state;
	bytes.budget = &budget;
	assert_ok(bytes_reserve(&bytes, BYTES_OUTSIDE_BUDGET));
	assert_int_equal(budget.used_bytes, 0);
	assert_ok(bytes_reserve(&bytes, 600 * KIB));
	assert_int_equal(budget.used_bytes, bytes.capacity);
	bytes.size = 600 * KIB;
	assert_errno(bytes_reserve(&bytes, MIB), -ENOMEM);
	assert_int_equal(bytes_error(&bytes), -ENOMEM);
	bytes_release(&bytes);
	assert_int_equal(budget.used_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takers_share_the_limit),
		cmocka_unit_test(without_a_budget_there_is_no_limit),
		cmocka_unit_test(threads_never_exceed_it_together),
		cmocka_unit_test(an_arena_takes_its_blocks_and_gives_them_back),
		cmocka_unit_test(a_buffer_takes_its_capacity_when_it_is_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
