/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/cli/profile/profile_fixture.h"

static void columns_are_converted_to_nodes_with_depths_and_ends(void **state)
{
	static const struct {
		uint32_t depth, end;
		const char *name;
		char type;
	} expected[] = {
		{ 0, 12, "demo", 'P' },
		{ 1, 9, "[p] demo", 'P' },
		{ 2, 9, "main", 'A' },
		{ 3, 8, "work", 'A' },
		{ 4, 6, "work", 'A' },
		{ 5, 6, "[l] memcpy", 'L' },
		{ 4, 8, "[k] do_syscall_64", 'K' },
		{ 5, 8, "[k] ext4_read", 'K' },
		{ 3, 9, "[/opt/lib.so]", '?' },
		{ 1, 12, "[t] gc", 'T' },
		{ 2, 12, "loop", 'A' },
		{ 3, 12, "mark", 'A' },
	};
	scoped(call_tree_freep) struct call_tree *tree = profile_fixture_tree();

	(void)state;
	assert_int_equal(tree->n_nodes, ARRAY_SIZE(expected));
	for (uint32_t i = 0; i < tree->n_nodes; i++) {
		assert_int_equal(tree->nodes[i].depth, expected[i].depth);
		assert_int_equal(tree->nodes[i].end, expected[i].end);
		assert_string_equal(call_tree_function(tree, i)->name, expected[i].name);
		assert_int_equal(call_tree_function(tree, i)->type, expected[i].type);
	}
	assert_int_equal(tree->nodes[3].self, 10);
	assert_int_equal(tree->nodes[3].total, 60);
	assert_int_equal(tree->functions[3].total, 60);
}

static void the_part_without_names_is_read_from_the_figures_of_the_answer(void **state)
{
	static const struct {
		const char *figures;
		uint64_t unresolved;
	} cases[] = {
		{ "\"debug\":null", 0 },
		{ "\"debug\":{\"unsymbolized\":86}", 86 },
		{ "\"stats\":{\"unsymbolized\":85}", 85 },
		{ "\"debug\":{\"unsymbolized\":-1}", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(call_tree_freep) struct call_tree *tree = NULL;
		char answer[4096], description[64];

		(void)snprintf(answer, sizeof(answer), "{\"result\":%s,%s}", PROFILE_FIXTURE_RESULT,
			       cases[i].figures);
		assert_int_equal(
			profile_fixture_parse(answer, &tree, description, sizeof(description)), 1);
		assert_int_equal(tree->unresolved, cases[i].unresolved);
	}
}

static void the_message_of_an_answer_with_a_profile_is_returned(void **state)
{
	static const char *const cases[][2] = {
		{ "\"DESCRIPTION\":\"3 % lost\"", "3 % lost" },
		{ "\"message\":\"a gap\"", "a gap" },
		{ "\"message\":\"\"", "" },
		{ "\"debug\":null", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(call_tree_freep) struct call_tree *tree = NULL;
		char answer[4096], description[64] = "before";

		(void)snprintf(answer, sizeof(answer), "{\"result\":%s,%s}", PROFILE_FIXTURE_RESULT,
			       cases[i][0]);
		assert_int_equal(
			profile_fixture_parse(answer, &tree, description, sizeof(description)), 1);
		assert_string_equal(description, cases[i][1]);
	}
}

static void the_reason_for_an_answer_without_a_profile_is_returned(void **state)
{
	static const char *const results[] = {
		"null",
		"{\"functions\":null,\"function_types\":null,\"function_values\":"
		"{\"columns\":null,\"values\":null},\"node_values\":{\"columns\":null,"
		"\"values\":null}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		char answer[512], description[64] = "";
		struct call_tree *tree = NULL;

		(void)snprintf(answer, sizeof(answer),
			       "{\"DESCRIPTION\":\"because\",\"result\":%s}", results[i]);
		assert_int_equal(
			profile_fixture_parse(answer, &tree, description, sizeof(description)), 0);
		assert_string_equal(description, "because");
		assert_null(tree);
	}
}

/* An answer with one function "f" of type A and the given rows of nodes. */
#define ONE_FUNCTION(rows)                                                                         \
	"{\"result\":{\"functions\":[\"f\"],\"function_types\":[\"A\"],\"function_values\":"       \
	"{\"columns\":[\"self_value\",\"total_value\"],\"values\":[[1,1]]},\"node_values\":"       \
	"{\"columns\":[\"function_id\",\"parent_node_id\",\"self_value\",\"total_value\"],"        \
	"\"values\":" rows "}}}"

static void invalid_profiles_are_refused(void **state)
{
	static const char *const answers[] = {
		"",
		"[]",
		"{\"result\":{\"functions\":[]}}",
		"{\"result\":{\"functions\":[\"a\"],\"function_types\":[]}}",
		ONE_FUNCTION("[]"),                               /* not even a root */
		ONE_FUNCTION("[[0,0,1,1]]"),                      /* a root with a caller */
		ONE_FUNCTION("[[1,-1,1,1]]"),                     /* no such function */
		ONE_FUNCTION("[[-1,-1,1,1]]"),                    /* nor this one */
		ONE_FUNCTION("[[0,-1,-5,1]]"),                    /* a negative value */
		ONE_FUNCTION("[[0,-1,1]]"),                       /* a value is missing */
		ONE_FUNCTION("[[0,-1,0.5,1]]"),                   /* not whole */
		ONE_FUNCTION("[[0,-1,0,1],[0,-1,1,1]]"),          /* a second root */
		ONE_FUNCTION("[[0,-1,0,1],[0,1,1,1]]"),           /* its own caller */
		ONE_FUNCTION("[[0,-1,0,1],[0,2,0,1],[0,0,1,1]]"), /* before its caller */
		ONE_FUNCTION("[[0,-1,0,1],[0,0,0,1],[0,0,1,1],[0,1,1,1]]"), /* not depth first */
		ONE_FUNCTION("[[0,-1,0,99999999999999999999]]"),            /* beyond 64 bits */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		struct call_tree *tree = NULL;
		char description[64];

		if (profile_fixture_parse(answers[i], &tree, description, sizeof(description)) !=
		    -EBADMSG)
			fail_msg("accepted: %s", answers[i]);
		assert_null(tree);
	}
}

static void a_single_root_is_a_profile(void **state)
{
	scoped(call_tree_freep) struct call_tree *tree = NULL;
	char description[64];

	(void)state;
	assert_int_equal(profile_fixture_parse(ONE_FUNCTION("[[0,-1,1,1]]"), &tree, description,
					       sizeof(description)),
			 1);
	assert_int_equal(tree->n_nodes, 1);
	assert_int_equal(tree->nodes[0].end, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_converted_to_nodes_with_depths_and_ends),
		cmocka_unit_test(the_part_without_names_is_read_from_the_figures_of_the_answer),
		cmocka_unit_test(the_message_of_an_answer_with_a_profile_is_returned),
		cmocka_unit_test(the_reason_for_an_answer_without_a_profile_is_returned),
		cmocka_unit_test(invalid_profiles_are_refused),
		cmocka_unit_test(a_single_root_is_a_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
