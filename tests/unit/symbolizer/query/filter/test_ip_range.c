/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/filter/ip_range.h"

#include "tests/support/unit.h"

static void an_address_is_in_the_ranges_that_contain_it(void **state)
{
	static const struct {
		const char *range, *address;
		bool contains;
	} cases[] = {
		{ "10.0.0.0/8", "10.255.1.2", true },
		{ "10.0.0.0/8", "11.0.0.1", false },
		{ "10.1.2.3/8", "10.9.9.9", true }, /* bits after the prefix are ignored */
		{ "10.1.2.3", "10.1.2.3", true },
		{ "10.1.2.3", "10.1.2.4", false },
		{ "10.1.2.3/32", "10.1.2.3", true },
		{ "0.0.0.0/0", "255.255.255.255", true },
		{ "0.0.0.0/0", "::1", false },
		{ "::/0", "::1", true },
		{ "::/0", "10.0.0.1", false },
		{ "fe80::/10", "fe80::1", true },
		{ "fe80::/10", "febf::1", true },
		{ "fe80::/10", "fec0::1", false },
		{ "2001:db8::1", "2001:db8:0:0::1", true },
		{ "10.0.0.0/8", "::ffff:10.1.1.1", true },
		{ "::ffff:10.0.0.0/104", "10.1.1.1", true },
		{ "10.0.0.0/15", "10.1.255.255", true },
		{ "10.0.0.0/15", "10.2.0.0", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ip_range range, address;

		assert_true(ip_range_parse(cases[i].range, &range));
		assert_true(ip_range_parse(cases[i].address, &address));
		assert_int_equal(ip_range_contains(&range, &address), cases[i].contains);
	}
}

static void invalid_addresses_are_refused(void **state)
{
	static const char *const cases[] = {
		"",
		"10.0.0",
		"10.0.0.256",
		"10.0.0.1/33",
		"10.0.0.1/",
		"10.0.0.1/-1",
		"10.0.0.1/ 8",
		"::1/129",
		"::1/1280",
		"10.0.0.1 ",
		" 10.0.0.1",
		"host",
		"/8",
		"10.0.0.1/8/8",
		"fe80::1%0",
		"1:2:3:4:5:6:7:8:9",
		"0123456789012345678901234567890123456789012345678901234567890",
	};
	struct ip_range range;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_false(ip_range_parse(cases[i], &range));
}

static void addresses_have_an_order(void **state)
{
	static const char *const rising[] = { "0.0.0.0", "9.255.255.255", "10.0.0.0", "255.0.0.1",
					      "::",      "::1",           "fe80::" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rising); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(rising); k++) {
			struct ip_range a, b;
			int order;

			assert_true(ip_range_parse(rising[i], &a) && ip_range_parse(rising[k], &b));
			order = ip_range_compare(&a, &b);
			assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_in_the_ranges_that_contain_it),
		cmocka_unit_test(invalid_addresses_are_refused),
		cmocka_unit_test(addresses_have_an_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
