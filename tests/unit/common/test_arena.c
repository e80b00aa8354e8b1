/* SPDX-License-Identifier: Apache-2.0 */
#include "common/arena.h"

#include "tests/support/unit.h"

static bool is_zero(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (data[i] != 0)
			return false;
	return true;
}

static void memory_is_aligned_zeroed_and_does_not_overlap(void **state)
{
	scoped(arena_freep) struct arena *arena = NULL;
	uint8_t *previous = NULL;

	(void)state;
	assert_ok(arena_new(64 * MIB, &arena));
	for (size_t size = 0; size < 2000; size++) {
		uint8_t *memory = arena_alloc(arena, size);

		assert_non_null(memory);
		assert_ptr_not_equal(memory, previous);
		assert_int_equal((uintptr_t)memory % 16, 0);
		assert_true(is_zero(memory, size));
		memset(memory, 0xff, size);
		previous = memory;
	}
}

static void memory_is_zeroed_again_after_a_clear(void **state)
{
	scoped(arena_freep) struct arena *arena = NULL;

	(void)state;
	assert_ok(arena_new(64 * MIB, &arena));
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 100; i++) {
			uint8_t *memory = arena_alloc(arena, 3000);

			assert_non_null(memory);
			assert_true(is_zero(memory, 3000));
			memset(memory, 0xff, 3000);
		}
		assert_true(arena_used_bytes(arena) >= 300000);
		assert_true(arena_held_bytes(arena) >= arena_used_bytes(arena));
		arena_clear(arena);
		assert_int_equal(arena_used_bytes(arena), 0);
	}
}

static void the_ceiling_bounds_small_and_large_requests(void **state)
{
	static const size_t sizes[] = { 1, 100, 5000, 70000, 200000, 999000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		scoped(arena_freep) struct arena *arena = NULL;
		size_t total = 0;

		assert_ok(arena_new(1000000, &arena));
		while (arena_alloc(arena, sizes[i]))
			total += sizes[i];
		assert_true(total > 0);
		assert_true(arena_used_bytes(arena) <= 1000000);
		arena_clear(arena);
		assert_non_null(arena_alloc(arena, 1));
	}
}

static void sizes_that_overflow_give_null(void **state)
{
	scoped(arena_freep) struct arena *arena = NULL;

	(void)state;
	assert_ok(arena_new(SIZE_MAX, &arena));
	assert_null(arena_alloc(arena, SIZE_MAX));
	assert_null(arena_alloc(arena, SIZE_MAX - 32));
	assert_null(arena_alloc_array(arena, SIZE_MAX / 2, 3));
	assert_null(arena_copy_text(arena, "", SIZE_MAX));
}

static void copies_are_equal_and_texts_end_in_nul(void **state)
{
	scoped(arena_freep) struct arena *arena = NULL;

	(void)state;
	assert_ok(arena_new(MIB, &arena));
	assert_memory_equal(arena_copy(arena, "a\0b", 3), "a\0b", 3);
	assert_string_equal(arena_copy_text(arena, "hello", 4), "hell");
	assert_string_equal(arena_copy_text(arena, NULL, 0), "");
	assert_string_equal(arena_format(arena, "%s-%03d", "x", 7), "x-007");
	assert_non_null(arena_copy(arena, NULL, 0));
}

static void a_clear_frees_large_objects(void **state)
{
	scoped(arena_freep) struct arena *arena = NULL;

	(void)state;
	assert_ok(arena_new(1000000, &arena));
	assert_non_null(arena_alloc(arena, 16));
	assert_non_null(arena_alloc(arena, 500000));
	assert_null(arena_alloc(arena, 600000));
	arena_clear(arena);
	assert_non_null(arena_alloc(arena, 600000));
}

static void a_large_object_does_not_waste_the_current_block(void **state)
{
	scoped(arena_freep) struct arena *arena = NULL;
	uint8_t *first, *second;

	(void)state;
	assert_ok(arena_new(64 * MIB, &arena));
	first = arena_alloc(arena, 16);
	assert_non_null(arena_alloc(arena, 8 * MIB));
	second = arena_alloc(arena, 16);
	assert_ptr_equal(second, first + 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_aligned_zeroed_and_does_not_overlap),
		cmocka_unit_test(memory_is_zeroed_again_after_a_clear),
		cmocka_unit_test(the_ceiling_bounds_small_and_large_requests),
		cmocka_unit_test(sizes_that_overflow_give_null),
		cmocka_unit_test(copies_are_equal_and_texts_end_in_nul),
		cmocka_unit_test(a_clear_frees_large_objects),
		cmocka_unit_test(a_large_object_does_not_waste_the_current_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
