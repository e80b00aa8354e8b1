/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/list/service_choice.h"

#include "tests/support/unit.h"

static void the_five_busiest_services_are_printed_with_an_example(void **state)
{
	static struct service_row rows[] = {
		{ .name = "nginx", .cpu_us = 500 },
		{ .name = "a-name-of-more-than-24-characters", .cpu_us = 250 },
		{ .name = "c", .cpu_us = 100 },
		{ .name = "d", .cpu_us = 1 },
		{ .name = "e" },
		{ .name = "f" },
	};
	struct service_list list = { .rows = rows, .count = 6, .cpu_total_us = 1000 };
	struct bytes out = BYTES_INIT(4 * KIB);

	(void)state;
	assert_ok(service_choice_write(&list, "hearth top", &out));
	assert_bytes_equal_text(
		&out, "hearth top: which service? The busiest of 6, by share of the CPU time:\n"
		      "  nginx                      50.0 %\n"
		      "  a-name-of-mo…-characters   25.0 %\n"
		      "  c                          10.0 %\n"
		      "  d                           0.1 %\n"
		      "  e                           0.0 %\n"
		      "Name one, as in 'hearth top nginx'; 'hearth top Total' is whole hosts, "
		      "'hearth services' lists all.\n");
	bytes_release(&out);
}

static void the_example_is_quoted_for_a_shell(void **state)
{
	static const char *const cases[][2] = {
		{ "Web Content", "'hearth flame \"Web Content\"'" },
		{ "-bash", "'hearth flame --service=-bash'" },
		{ "php-fpm8.2", "'hearth flame php-fpm8.2'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct service_row row = { .name = cases[i][0] };
		struct service_list list = { .rows = &row, .count = 1 };
		struct bytes out = BYTES_INIT(4 * KIB);

		assert_ok(service_choice_write(&list, "hearth flame", &out));
		assert_non_null(memmem(out.data, out.size, cases[i][1], strlen(cases[i][1])));
		bytes_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_five_busiest_services_are_printed_with_an_example),
		cmocka_unit_test(the_example_is_quoted_for_a_shell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
