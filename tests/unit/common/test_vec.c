/* SPDX-License-Identifier: Apache-2.0 */
#include "common/vec.h"

#include "tests/support/unit.h"

VEC_DEFINE(u64_vec, uint64_t);

static void pushed_items_are_in_order(void **state)
{
	struct u64_vec vec = {};

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		assert_ok(vec_push(&vec, i * 3));
	assert_int_equal(vec.count, 1000);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(vec.items[i], i * 3);
	vec_release(&vec);
	assert_null(vec.items);
}

static void pushes_into_reserved_memory_do_not_move_items(void **state)
{
	struct u64_vec vec = {};
	uint64_t *items;

	(void)state;
	assert_ok(vec_reserve(&vec, 500));
	items = vec.items;
	for (uint64_t i = 0; i < 500; i++)
		assert_ok(vec_push(&vec, i));
	assert_ptr_equal(vec.items, items);
	vec_release(&vec);
}

static void sizes_that_overflow_are_refused_without_a_change(void **state)
{
	struct u64_vec vec = {};

	(void)state;
	assert_ok(vec_push(&vec, 7));
	assert_errno(vec_reserve(&vec, SIZE_MAX), -ENOMEM);
	assert_errno(vec_reserve(&vec, SIZE_MAX / 4), -ENOMEM);
	assert_int_equal(vec.count, 1);
	assert_int_equal(vec.items[0], 7);
	vec_release(&vec);
}

static void a_cleared_array_keeps_its_memory(void **state)
{
	struct u64_vec vec = {};

	(void)state;
	assert_ok(vec_push(&vec, 7));
	vec_clear(&vec);
	assert_int_equal(vec.count, 0);
	assert_true(vec.capacity > 0);
	vec_release(&vec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushed_items_are_in_order),
		cmocka_unit_test(pushes_into_reserved_memory_do_not_move_items),
		cmocka_unit_test(sizes_that_overflow_are_refused_without_a_change),
		cmocka_unit_test(a_cleared_array_keeps_its_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
