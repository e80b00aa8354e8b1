/* SPDX-License-Identifier: Apache-2.0 */
#include "common/did_you_mean.h"

#include "tests/support/unit.h"

static void distance_counts_letters_that_differ(void **state)
{
	static const struct {
		const char *a, *b;
		unsigned int distance;
	} cases[] = {
		{ "shop", "shop", 0 },      { "shop", "SHOP", 0 },
		{ "shop", "chop", 1 },      { "shop", "hop", 1 },
		{ "shop", "shopd", 1 },     { "shop", "posh", 4 },
		{ "kitten", "sitting", 3 }, { "", "abc", 3 },
		{ "api", "my-api-v2", 1 },  { "", "", 0 },
		{ "flaw", "lawn", 2 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(name_distance(cases[i].a, cases[i].b), cases[i].distance);
		assert_int_equal(name_distance(cases[i].b, cases[i].a), cases[i].distance);
	}
}

static void only_the_beginning_of_long_names_is_compared(void **state)
{
	char a[300], b[300];

	(void)state;
	memset(a, 'a', sizeof(a));
	memset(b, 'b', sizeof(b));
	a[sizeof(a) - 1] = b[sizeof(b) - 1] = '\0';
	assert_int_equal(name_distance(a, b), DID_YOU_MEAN_MAX_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distance_counts_letters_that_differ),
		cmocka_unit_test(only_the_beginning_of_long_names_is_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
