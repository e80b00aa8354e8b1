/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/helper/avoid_list.h"
#include "tests/support/unit.h"

static struct avoid_list *new_list(size_t max_keys, unsigned int free_failures)
{
	const struct avoid_list_options options = {
		.key_size = sizeof(uint32_t),
		.max_keys = max_keys,
		.free_failures = free_failures,
		.first_ns = 10,
		.max_ns = 60,
	};
	struct avoid_list *list;

	assert_ok(avoid_list_new(&options, &list));
	return list;
}

static void each_failure_doubles_the_time_up_to_the_maximum(void **state)
{
	scoped(avoid_list_freep) struct avoid_list *list = new_list(8, 1);
	static const uint64_t avoided_ns[] = { 0, 10, 20, 40, 60, 60 };
	const uint32_t key = 7, other = 8;
	uint64_t now_ns = 1000;

	(void)state;
	assert_false(avoid_list_has(list, &key, now_ns));
	for (size_t i = 0; i < ARRAY_SIZE(avoided_ns); i++) {
		avoid_list_add_failure(list, &key, now_ns);
		assert_int_equal(avoid_list_has(list, &key, now_ns + avoided_ns[i] - 1),
				 avoided_ns[i] > 0);
		assert_false(avoid_list_has(list, &key, now_ns + avoided_ns[i]));
		assert_false(avoid_list_has(list, &other, now_ns));
		now_ns += avoided_ns[i];
	}
	for (int i = 0; i < 100; i++)
		avoid_list_add_failure(list, &key, now_ns);
	assert_false(avoid_list_has(list, &key, now_ns + 60));
}

static void after_a_success_the_count_of_failures_restarts(void **state)
{
	scoped(avoid_list_freep) struct avoid_list *list = new_list(8, 0);
	const uint32_t key = 7;

	(void)state;
	avoid_list_add_failure(list, &key, 0);
	avoid_list_add_failure(list, &key, 0);
	assert_true(avoid_list_has(list, &key, 19));
	avoid_list_forgive(list, &key);
	assert_false(avoid_list_has(list, &key, 0));
	avoid_list_add_failure(list, &key, 0);
	assert_true(avoid_list_has(list, &key, 9));
	assert_false(avoid_list_has(list, &key, 10));
}

static void a_full_list_removes_all_keys_and_adds_the_next(void **state)
{
	scoped(avoid_list_freep) struct avoid_list *list = new_list(4, 0);

	(void)state;
	for (uint32_t key = 0; key < 5; key++)
		avoid_list_add_failure(list, &key, 0);
	assert_false(avoid_list_has(list, &(uint32_t){ 0 }, 0));
	assert_true(avoid_list_has(list, &(uint32_t){ 4 }, 0));
}

static void a_key_that_fails_too_often_is_avoided_permanently(void **state)
{
	const struct avoid_list_options options = { .key_size = sizeof(uint32_t),
						    .max_keys = 8,
						    .first_ns = 10,
						    .max_ns = 60,
						    .max_failures = 3 };
	scoped(avoid_list_freep) struct avoid_list *list = NULL;
	const uint32_t key = 7;

	(void)state;
	assert_ok(avoid_list_new(&options, &list));
	assert_int_equal(avoid_list_until_ns(list, &key), 0);
	avoid_list_add_failure(list, &key, 100);
	assert_int_equal(avoid_list_until_ns(list, &key), 110);
	avoid_list_add_failure(list, &key, 200);
	assert_int_equal(avoid_list_until_ns(list, &key), 220);
	avoid_list_add_failure(list, &key, 300);
	assert_true(avoid_list_until_ns(list, &key) == UINT64_MAX);
	assert_true(avoid_list_has(list, &key, UINT64_MAX - 1));
	avoid_list_forgive(list, &key);
	assert_false(avoid_list_has(list, &key, 300));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_failure_doubles_the_time_up_to_the_maximum),
		cmocka_unit_test(after_a_success_the_count_of_failures_restarts),
		cmocka_unit_test(a_full_list_removes_all_keys_and_adds_the_next),
		cmocka_unit_test(a_key_that_fails_too_often_is_avoided_permanently),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
