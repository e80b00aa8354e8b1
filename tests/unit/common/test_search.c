/* SPDX-License-Identifier: Apache-2.0 */
#include "common/search.h"

#include "tests/support/unit.h"

static void the_first_item_that_is_not_before_is_found(void **state)
{
	static const int items[] = { 1, 3, 3, 3, 7 };
	static const struct {
		size_t count, below, at_or_below;
		int wanted;
	} cases[] = {
		{ 0, 0, 0, 3 }, { 1, 0, 0, 0 }, { 1, 0, 1, 1 }, { 1, 1, 1, 2 }, { 5, 0, 0, 0 },
		{ 5, 1, 4, 3 }, { 5, 4, 4, 5 }, { 5, 4, 5, 7 }, { 5, 5, 5, 8 }, { 4, 1, 4, 3 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const int wanted = cases[i].wanted;

		assert_int_equal(lower_bound(at, cases[i].count, items[at] < wanted),
				 cases[i].below);
		assert_int_equal(lower_bound(at, cases[i].count, items[at] <= wanted),
				 cases[i].at_or_below);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_item_that_is_not_before_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
