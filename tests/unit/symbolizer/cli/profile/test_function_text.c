/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/profile/flame_text.h"

#include "tests/unit/symbolizer/cli/profile/profile_fixture.h"

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

static void functions_can_be_sorted_by_total_and_limited(void **state)
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

/* [p] demo has a self of 1 and a total of 70, [p] x a self of 2 and a total of 30. */
static struct call_tree *tree_of_hosts(void)
{
	struct call_tree *tree = profile_fixture_tree();

	tree->functions[0].type = 'H';
	tree->functions[1].self = 1;
	tree->functions[8].type = 'P';
	tree->functions[8].self = 2;
	(void)memcpy(tree->functions[8].name, "[p] x", sizeof("[p] x"));
	return tree;
}

static void whole_hosts_list_their_processes_by_total(void **state)
{
	static const struct function_text_options options = { .type = EVENT_ON_CPU, .width = 60 };
	scoped(call_tree_freep) struct call_tree *tree = tree_of_hosts();
	struct bytes out = BYTES_INIT(64 * KIB);

	(void)state;
	assert_ok(function_text_write(tree, &options, &out));
	assert_bytes_equal_text(&out, "       self                 total           process\n"
				      "       1 us    1.0 %        70 us   70.0 %  [p] demo\n"
				      "       2 us    2.0 %        30 us   30.0 %  [p] x\n");
	bytes_release(&out);
}

static void json_and_text_have_the_same_rows_in_the_same_order(void **state)
{
	static const struct {
		struct function_text_options options;
		bool of_hosts;
		const char *expected;
	} cases[] = {
		{ { .type = EVENT_ON_CPU, .max_rows = 2 },
		  false,
		  "{\"event\":\"on-cpu\",\"unit\":\"microseconds\",\"total\":100,\"functions\":["
		  "{\"function\":\"[l] memcpy\",\"type\":\"L\","
		  "\"self_value\":30,\"total_value\":30},"
		  "{\"function\":\"mark\",\"type\":\"A\","
		  "\"self_value\":30,\"total_value\":30}]}\n" },
		{ { .type = EVENT_MEM_ALLOC, .max_rows = 1, .by_total = true },
		  false,
		  "{\"event\":\"mem-alloc\",\"unit\":\"bytes\",\"total\":100,\"functions\":["
		  "{\"function\":\"main\",\"type\":\"A\","
		  "\"self_value\":5,\"total_value\":70}]}\n" },
		{ { .type = EVENT_ON_CPU, .max_rows = 1 },
		  true,
		  "{\"event\":\"on-cpu\",\"unit\":\"microseconds\",\"total\":100,\"functions\":["
		  "{\"function\":\"[p] demo\",\"type\":\"P\","
		  "\"self_value\":1,\"total_value\":70}]}\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(call_tree_freep) struct call_tree *tree =
			cases[i].of_hosts ? tree_of_hosts() : profile_fixture_tree();
		struct bytes out = BYTES_INIT(64 * KIB);

		assert_ok(function_json_write(tree, &cases[i].options, &out));
		assert_bytes_equal_text(&out, cases[i].expected);
		bytes_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_sorted_by_self_then_total_then_name),
		cmocka_unit_test(functions_can_be_sorted_by_total_and_limited),
		cmocka_unit_test(whole_hosts_list_their_processes_by_total),
		cmocka_unit_test(json_and_text_have_the_same_rows_in_the_same_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
