/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/flame_text.h"

#include "tests/unit/symbolizer/cli/profile_fixture.h"

static void assert_functions(const struct function_text_options *options, const char *expected)
{
	scoped(call_tree_freep) struct call_tree *tree = profile_fixture_tree();
	struct bytes out = BYTES_INIT(64 * KIB);

	assert_ok(function_text_write(tree, options, &out));
	assert_bytes_equal_text(&out, expected);
	bytes_release(&out);
}

static void functions_are_sorted_by_self_then_total_then_name(void **state)
{
	static const struct function_text_options options = { .type = EVENT_ON_CPU, .width = 100 };

	(void)state;
	assert_functions(&options,
			 "       self                 total           function\n"
			 "      30 us   30.0 %        30 us   30.0 %  [l] memcpy\n"
			 "      30 us   30.0 %        30 us   30.0 %  mark\n"
			 "      20 us   20.0 %        20 us   20.0 %  [k] ext4_read\n"
			 "      10 us   10.0 %        60 us   60.0 %  work\n"
			 "       5 us    5.0 %        70 us   70.0 %  main\n"
			 "       5 us    5.0 %         5 us    5.0 %  [/opt/lib.so]\n"
			 "       0 us    0.0 %        30 us   30.0 %  loop\n"
			 "       0 us    0.0 %        20 us   20.0 %  [k] do_syscall_64\n");
}

static void functions_can_be_sorted_by_total_and_cut(void **state)
{
	static const struct function_text_options options = {
		.type = EVENT_ON_CPU, .width = 50, .max_rows = 3, .by_total = true
	};

	(void)state;
	assert_functions(&options, "       self                 total           function\n"
				   "       5 us    5.0 %        70 us   70.0 %  main\n"
				   "      10 us   10.0 %        60 us   60.0 %  work\n"
				   "      30 us   30.0 %        30 us   30.0 %  [l] memcpy\n");
}

static void whole_hosts_list_their_processes(void **state)
{
	static const struct function_text_options options = { .type = EVENT_ON_CPU, .width = 60 };
	scoped(call_tree_freep) struct call_tree *tree = profile_fixture_tree();
	struct bytes out = BYTES_INIT(64 * KIB);

	(void)state;
	tree->functions[0].type = 'H';
	assert_ok(function_text_write(tree, &options, &out));
	assert_bytes_equal_text(&out, "       self                 total           function\n"
				      "       0 us    0.0 %        70 us   70.0 %  [p] demo\n");
	bytes_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_sorted_by_self_then_total_then_name),
		cmocka_unit_test(functions_can_be_sorted_by_total_and_cut),
		cmocka_unit_test(whole_hosts_list_their_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
