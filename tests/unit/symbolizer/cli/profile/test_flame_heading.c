/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/cli/profile/profile_fixture.h"

#include "symbolizer/cli/profile/flame_text.h"

static void the_average_is_over_the_time_that_was_sampled(void **state)
{
	static const struct {
		uint64_t covered_s;
		const char *line;
	} cases[] = {
		{ 0, "demo, on-cpu: 1 m 40 s in 5 m (0.33 CPUs)\n" },
		{ 300, "demo, on-cpu: 1 m 40 s in 5 m (0.33 CPUs)\n" },
		{ 299, "demo, on-cpu: 1 m 40 s in 5 m (0.33 CPUs)\n" },
		{ 50,
		  "demo, on-cpu: 1 m 40 s in the 50.0 s of 5 m that were sampled (2.00 CPUs)\n" },
	};
	scoped(call_tree_freep) struct call_tree *tree = profile_fixture_tree();
	const struct flame_heading heading = { .type = EVENT_ON_CPU, .seconds = 300, .width = 80 };

	(void)state;
	tree->nodes[0].total = 100000000;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes out = BYTES_INIT(KIB);

		tree->covered_s = cases[i].covered_s;
		flame_heading_write(tree, &heading, &out);
		assert_bytes_equal_text(&out, cases[i].line);
		bytes_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_average_is_over_the_time_that_was_sampled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
