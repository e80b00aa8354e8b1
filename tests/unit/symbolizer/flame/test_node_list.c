/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/flame/node_list.h"

#include "tests/unit/symbolizer/flame/tree_fixture.h"

/* f is recursive; two children of [t] have equal totals; 1499 and 1500 ns round differently. */
static const struct folded stacks[] = {
	{ "[p] app;main;f", 1499 },
	{ "[p] app;main;f;f", 1500 },
	{ "[t] worker;b", 400 },
	{ "[t] worker;a", 400 },
};

static const char golden_nodes[] =
	"[{\"profile_location_str\":\"app\",\"node_id\":\"\",\"parent_node_id\":\"-1\","
	"\"self_value\":0,\"total_value\":4},"
	"{\"profile_location_str\":\"[p] app\",\"node_id\":\"ID1\",\"parent_node_id\":\"\","
	"\"self_value\":0,\"total_value\":3},"
	"{\"profile_location_str\":\"main\",\"node_id\":\"ID2\",\"parent_node_id\":\"ID1\","
	"\"self_value\":0,\"total_value\":3},"
	"{\"profile_location_str\":\"f\",\"node_id\":\"ID3\",\"parent_node_id\":\"ID2\","
	"\"self_value\":1,\"total_value\":3},"
	"{\"profile_location_str\":\"f\",\"node_id\":\"ID4\",\"parent_node_id\":\"ID3\","
	"\"self_value\":2,\"total_value\":2},"
	"{\"profile_location_str\":\"[t] worker\",\"node_id\":\"ID5\",\"parent_node_id\":\"\","
	"\"self_value\":0,\"total_value\":1},"
	"{\"profile_location_str\":\"a\",\"node_id\":\"ID6\",\"parent_node_id\":\"ID5\","
	"\"self_value\":0,\"total_value\":0},"
	"{\"profile_location_str\":\"b\",\"node_id\":\"ID7\",\"parent_node_id\":\"ID5\","
	"\"self_value\":0,\"total_value\":0}]";

static const char golden_columns[] =
	"{\"functions\":[\"app\",\"[p] app\",\"main\",\"f\",\"[t] worker\",\"a\",\"b\"],"
	"\"function_types\":[\"P\",\"P\",\"A\",\"A\",\"T\",\"A\",\"A\"],"
	"\"function_values\":{\"columns\":[\"self_value\",\"total_value\"],"
	"\"values\":[[0,4],[0,3],[0,3],[3,3],[0,1],[0,0],[0,0]]},"
	"\"node_values\":{\"columns\":[\"function_id\",\"parent_node_id\",\"self_value\",\"total_"
	"value\"],"
	"\"values\":[[0,-1,0,4],[1,0,0,3],[2,1,0,3],[3,2,1,3],[3,3,2,2],[4,0,0,1],[5,5,0,0],[6,5,0,"
	"0]]}}";

/* The IDs of the paths, computed with another implementation of RFC 4122. */
static const char *const golden_ids[] = {
	"74edea89-0365-5657-a25a-3a901285e33d", "a9d04908-5206-586c-abc7-4fd556b067eb",
	"8a25c745-a77d-5113-9a7c-09e978f9cddc", "5c663981-b24b-58d7-b57d-93323551c44d",
	"384f80fa-7063-58a4-a451-b640b2168447", "a62f1685-e20b-549f-9867-2ebbc5695ab2",
	"3c95f834-dbaf-5da8-a519-9201d5bc65e4",
};

static void replace_ids(const char *template, struct bytes *out)
{
	while (*template) {
		if (strncmp(template, "\"ID", 3) == 0) {
			assert_ok(
				bytes_append_format(out, "\"%s\"", golden_ids[template[3] - '1']));
			template += 5;
		} else {
			assert_ok(bytes_append_byte(out, (uint8_t) * template ++));
		}
	}
	assert_ok(bytes_append_byte(out, 0));
}

static void the_node_list_is_depth_first_by_falling_total(void **state)
{
	scoped(tree_freep) struct tree *tree = tree_from_folded("app", stacks, ARRAY_SIZE(stacks));
	scoped(bytes_release) struct bytes expected = BYTES_INIT(64 * KIB);
	scoped(bytes_release) struct bytes out = BYTES_INIT(64 * KIB);
	struct json_writer json;

	(void)state;
	replace_ids(golden_nodes, &expected);
	json_writer_init(&json, &out);
	assert_ok(node_list_write(tree, 1000, &json));
	assert_bytes_equal_text(&out, (const char *)expected.data);
}

static void the_columns_count_recursion_once(void **state)
{
	scoped(tree_freep) struct tree *tree = tree_from_folded("app", stacks, ARRAY_SIZE(stacks));
	scoped(bytes_release) struct bytes out = BYTES_INIT(64 * KIB);
	struct json_writer json;

	(void)state;
	json_writer_init(&json, &out);
	assert_ok(node_columns_write(tree, 1000, false, &json));
	assert_bytes_equal_text(&out, golden_columns);
}

static void a_leaf_of_a_memory_type_is_an_object(void **state)
{
	static const struct folded allocations[] = {
		{ "[p] app;main;malloc", 10 },
		{ "[p] app;main", 1 },
		{ "[t] w;grow;malloc", 5 },
		{ "[t] idle", 3 },
	};
	scoped(tree_freep) struct tree *tree =
		tree_from_folded("app", allocations, ARRAY_SIZE(allocations));
	scoped(bytes_release) struct bytes out = BYTES_INIT(64 * KIB);
	struct json_writer json;

	(void)state;
	json_writer_init(&json, &out);
	assert_ok(node_columns_write(tree, 1, true, &json));
	assert_ok(bytes_append_byte(&out, 0));
	assert_non_null(strstr((const char *)out.data,
			       "\"functions\":[\"app\",\"[p] app\",\"main\",\"malloc\",\"[t] "
			       "w\",\"grow\",\"[t] idle\"]"));
	assert_non_null(strstr((const char *)out.data,
			       "\"function_types\":[\"P\",\"P\",\"A\",\"O\",\"T\",\"A\",\"T\"]"));
}

static void node_ids_equal_those_of_deepflow(void **state)
{
	static const struct folded total[] = {
		{ "[p] process-exporte", 25028 },
		{ "[p] deepflow-agent;[t] stats-collector", 33 },
	};
	static const char *const ids[] = {
		"\"node_id\":\"9d3c5fd3-4cd2-5d04-be22-e0f27144f638\",\"parent_node_id\":\"\"",
		"\"node_id\":\"1762633e-a955-5c80-a5be-22529903b0bf\",\"parent_node_id\":\"\"",
		("\"node_id\":\"99e8ce53-e3bf-5b33-a63d-aa47e00e2ff4\","
		 "\"parent_node_id\":\"1762633e-a955-5c80-a5be-22529903b0bf\""),
	};
	scoped(tree_freep) struct tree *tree = tree_from_folded("Total", total, ARRAY_SIZE(total));
	scoped(bytes_release) struct bytes out = BYTES_INIT(64 * KIB);
	struct json_writer json;

	(void)state;
	json_writer_init(&json, &out);
	assert_ok(node_list_write(tree, 1, &json));
	assert_ok(bytes_append_byte(&out, 0));
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		assert_non_null(strstr((const char *)out.data, ids[i]));
}

static void an_answer_larger_than_its_buffer_is_an_error(void **state)
{
	scoped(tree_freep) struct tree *tree = tree_from_folded("app", stacks, ARRAY_SIZE(stacks));

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		scoped(bytes_release) struct bytes out = BYTES_INIT(100);
		struct json_writer json;

		json_writer_init(&json, &out);
		assert_errno(i ? node_list_write(tree, 1, &json)
			       : node_columns_write(tree, 1, false, &json),
			     -EFBIG);
	}
}

static void the_levels_are_rows_in_the_same_order(void **state)
{
	scoped(tree_freep) struct tree *tree = tree_from_folded("app", stacks, ARRAY_SIZE(stacks));
	scoped(bytes_release) struct bytes out = BYTES_INIT(64 * KIB);
	struct json_writer json;

	(void)state;
	json_writer_init(&json, &out);
	assert_ok(node_levels_write(tree, 1000, &json));
	assert_bytes_equal_text(
		&out, "{\"columns\":[\"level\",\"function\",\"self_value\",\"total_value\"],"
		      "\"values\":[[0,\"root\",0,4],[1,\"[p] app\",0,3],[2,\"main\",0,3],"
		      "[3,\"f\",1,3],[4,\"f\",2,2],[1,\"[t] worker\",0,1],[2,\"a\",0,0],"
		      "[2,\"b\",0,0]]}");
}

static void without_a_tree_the_levels_are_null(void **state)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(64 * KIB);
	struct json_writer json;

	(void)state;
	json_writer_init(&json, &out);
	assert_ok(node_levels_write(NULL, 1000, &json));
	assert_bytes_equal_text(
		&out, "{\"columns\":[\"level\",\"function\",\"self_value\",\"total_value\"],"
		      "\"values\":null}");
}

static void values_are_rounded_half_up_after_summing(void **state)
{
	static const struct folded halves[] = { { "a", 500 }, { "b", 500 }, { "c", 499 } };
	scoped(tree_freep) struct tree *tree = tree_from_folded("r", halves, ARRAY_SIZE(halves));
	scoped(bytes_release) struct bytes out = BYTES_INIT(64 * KIB);
	struct json_writer json;

	(void)state;
	json_writer_init(&json, &out);
	assert_ok(node_columns_write(tree, 1000, false, &json));
	assert_ok(bytes_append_byte(&out, 0));
	assert_non_null(strstr((const char *)out.data,
			       "\"values\":[[0,-1,0,1],[1,0,1,1],[2,0,1,1],[3,0,0,0]]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_node_list_is_depth_first_by_falling_total),
		cmocka_unit_test(the_columns_count_recursion_once),
		cmocka_unit_test(a_leaf_of_a_memory_type_is_an_object),
		cmocka_unit_test(node_ids_equal_those_of_deepflow),
		cmocka_unit_test(an_answer_larger_than_its_buffer_is_an_error),
		cmocka_unit_test(the_levels_are_rows_in_the_same_order),
		cmocka_unit_test(without_a_tree_the_levels_are_null),
		cmocka_unit_test(values_are_rounded_half_up_after_summing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
