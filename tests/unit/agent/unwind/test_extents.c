/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/extents.h"

#include "tests/support/unit.h"

static void what_is_taken_is_not_given_twice_and_comes_back_whole(void **state)
{
	enum { SIZE = 1000, HELD = 32 };
	struct extents extents;
	struct extent held[HELD] = {};
	bool owned[SIZE] = {};
	unsigned int seed = 4711;

	(void)state;
	assert_ok(extents_init(&extents, SIZE));
	for (int round = 0; round < 20000; round++) {
		struct extent *slot = &held[(unsigned int)rand_r(&seed) % HELD];

		if (slot->count > 0) {
			for (uint32_t i = 0; i < slot->count; i++)
				owned[slot->first + i] = false;
			assert_ok(extents_give_back(&extents, *slot));
			*slot = (struct extent){};
			continue;
		}
		if (extents_take(&extents, 1 + (uint32_t)rand_r(&seed) % 90, slot) != 1)
			continue;
		assert_true(slot->first + slot->count <= SIZE);
		for (uint32_t i = 0; i < slot->count; i++) {
			assert_false(owned[slot->first + i]);
			owned[slot->first + i] = true;
		}
	}
	for (int i = 0; i < HELD; i++)
		assert_ok(extents_give_back(&extents, held[i]));
	/* All holes have joined: the whole is there again, in one piece. */
	assert_int_equal(extents.used, 0);
	assert_int_equal(extents.free.count, 1);
	assert_int_equal(extents.free.items[0].count, SIZE);
	extents_release(&extents);
}

static void a_full_array_says_so(void **state)
{
	struct extents extents;
	struct extent extent;

	(void)state;
	assert_ok(extents_init(&extents, 10));
	assert_int_equal(extents_take(&extents, 11, &extent), 0);
	assert_int_equal(extents_take(&extents, 10, &extent), 1);
	assert_int_equal(extents_take(&extents, 1, &extent), 0);
	assert_int_equal(extents_take(&extents, 0, &extent), 1);
	extents_release(&extents);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_taken_is_not_given_twice_and_comes_back_whole),
		cmocka_unit_test(a_full_array_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
