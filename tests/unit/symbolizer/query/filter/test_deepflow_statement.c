/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/filter/deepflow_statement.h"

#include "common/limits.h"
#include "tests/support/unit.h"

static const struct expected {
	const char *text;
	enum deepflow_statement_kind kind;
	const char *table, *tag, *condition;
	uint64_t skip, count; /* count 0: without LIMIT; UINT64_MAX: LIMIT 0 */
} statements[] = {
	{ "show databases", DEEPFLOW_DATABASES, NULL, NULL, "", 0, 0 },
	{ "  SHOW\tDatabases ", DEEPFLOW_DATABASES, NULL, NULL, "", 0, 0 },
	{ "show language", DEEPFLOW_LANGUAGE, NULL, NULL, "", 0, 0 },
	{ "show tables", DEEPFLOW_TABLES, NULL, NULL, "", 0, 0 },
	{ "show metrics functions", DEEPFLOW_FUNCTIONS, NULL, NULL, "", 0, 0 },
	{ "show metrics functions from l4_flow_log", DEEPFLOW_FUNCTIONS, "l4_flow_log", NULL, "", 0,
	  0 },
	{ "show metrics from in_process", DEEPFLOW_METRICS, "in_process", NULL, "", 0, 0 },
	{ "show tags from `in_process`", DEEPFLOW_TAGS, "in_process", NULL, "", 0, 0 },
	{ "show tag host values from in_process", DEEPFLOW_TAG_VALUES, "in_process", "host", "", 0,
	  0 },
	{ "show tag k8s.label.app/x-y values FROM t WHERE a='b' LIMIT 7", DEEPFLOW_TAG_VALUES, "t",
	  "k8s.label.app/x-y", " a='b' ", 0, 7 },
	{ "show tag `a b` values FROM t WHERE `a b` LIKE '*limit 1*' OR c='where' LIMIT 20,100",
	  DEEPFLOW_TAG_VALUES, "t", "a b", " `a b` LIKE '*limit 1*' OR c='where' ", 20, 100 },
	{ "show tag host values FROM t LIMIT 999999999", DEEPFLOW_TAG_VALUES, "t", "host", "", 0,
	  DEEPFLOW_MAX_VALUES },
	{ "show tag host values FROM t LIMIT 5,0", DEEPFLOW_TAG_VALUES, "t", "host", "", 5,
	  UINT64_MAX },
	{ "SELECT profile_event_type AS `value`, profile_event_type AS `display_name` FROM "
	  "in_process GROUP BY profile_event_type",
	  DEEPFLOW_EVENT_TYPES, "in_process", NULL, "", 0, 0 },
};

static void assert_same(const char *statement, const char *actual, const char *expected)
{
	if (!actual != !expected || (actual && strcmp(actual, expected) != 0))
		fail_msg("%s: '%s' instead of '%s'", statement, actual ? actual : "(none)",
			 expected ? expected : "(none)");
}

static void the_statements_of_the_plugin_are_parsed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(statements); i++) {
		const struct expected *expected = &statements[i];
		scoped(arena_freep) struct arena *arena = NULL;
		struct deepflow_statement statement;
		struct filter_error error;
		uint64_t count = expected->count;

		assert_ok(arena_new(MIB, &arena));
		if (deepflow_statement_parse(expected->text, arena, &statement, &error) < 0)
			fail_msg("%s: '%s' at %zu", expected->text, error.message, error.offset);
		if (statement.kind != expected->kind)
			fail_msg("%s: %d", expected->text, (int)statement.kind);
		assert_same(expected->text, statement.table, expected->table);
		assert_same(expected->text, statement.tag, expected->tag);
		assert_same(expected->text, statement.condition, expected->condition);
		assert_true(strncmp(expected->text + statement.condition_offset,
				    statement.condition, strlen(statement.condition)) == 0);
		if (count == 0)
			count = DEEPFLOW_MAX_VALUES;
		assert_int_equal(statement.count, count == UINT64_MAX ? 0 : count);
		assert_int_equal(statement.skip, expected->skip);
	}
}

/* "": the text is none of the statements. */
static const struct {
	const char *text, *message;
	size_t offset;
} refused[] = {
	{ "", "", 0 },
	{ "show", "", 0 },
	{ "show database", "", 0 },
	{ "show databases; drop table samples", "", 0 },
	{ "show databases where 1", "", 0 },
	{ "show tag values from in_process", "", 0 },
	{ "show tags from", "", 0 },
	{ "show tags from 'in_process'", "", 0 },
	{ "show tags from in_process limit 10", "", 0 },
	{ "show tag host values from", "", 0 },
	{ "show tag-values", "", 0 },
	{ "`show` databases", "", 0 },
	{ "select 1", "", 0 },
	{ "SELECT Sum(profile_value) FROM in_process", "", 0 },
	{ "SELECT a", "", 0 },
	{ "SELECT a,, b FROM t GROUP BY a", "", 0 },
	{ "SELECT Enum(a FROM t GROUP BY a", "", 0 },
	{ "SELECT a AS FROM t GROUP BY a", "", 0 },
	{ "SELECT * FROM t GROUP BY a", "", 0 },
	{ "SELECT a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a FROM t GROUP BY a", "", 0 },
	{ "SELECT a FROM", "the name of a table", 13 },
	{ "SELECT a FROM t", "WHERE or GROUP BY", 15 },
	{ "SELECT a FROM t WHERE a = 'b' LIMIT 1", "WHERE or GROUP BY", 30 },
	{ "SELECT a FROM t GROUP BY", "the name of a tag", 24 },
	{ "SELECT a FROM t GROUP BY a, 1", "the name of a tag", 28 },
	{ "SELECT a, b FROM t GROUP BY a", "GROUP BY lacks the tag 'b'", 19 },
	{ "SELECT a FROM t GROUP BY a ORDER BY a", "WHERE, LIMIT or the end", 27 },
	{ "SELECT a FROM t GROUP BY a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a",
	  "more than 16 tags", 71 },
	{ "show tag a values from t order by a", "WHERE, LIMIT or the end", 25 },
	{ "show tag a values from t limit", "a number of values", 30 },
	{ "show tag a values from t limit x", "a number of values", 31 },
	{ "show tag a values from t limit -1", "a number of values", 31 },
	{ "show tag a values from t limit 1.5", "a number of values", 31 },
	{ "show tag a values from t limit 1e3", "a number of values", 31 },
	{ "show tag a values from t limit 1234567890", "a number of values", 31 },
	{ "show tag a values from t limit 1,", "a number of values", 33 },
	{ "show tag a values from t limit 1,2,3", "WHERE, LIMIT or the end", 34 },
	{ "show tag a values from t where a='b", "no closing '", 33 },
	{ "show tag a values from t where a=;", "unexpected ';'", 33 },
};

static void selected_tags_are_columns(void **state)
{
	static const struct {
		const char *text;
		const char *columns; /* "name=group:tag ..." */
		const char *condition;
		uint64_t skip, count;
	} cases[] = {
		{ "SELECT app_service FROM in_process GROUP BY app_service",
		  "app_service=0:app_service ", "", 0, DEEPFLOW_MAX_VALUES },
		{ "select Enum(host) , pod_id as `id`, pod AS 'Pod' from t where x = 'group by' "
		  "and `group`='g' group by pod, Enum( host ), pod_id limit 2,7",
		  "Enum(host)=1:host id=2:pod_id Pod=0:pod ", " x = 'group by' and `group`='g' ", 2,
		  7 },
		{ "SELECT a AS value, a AS display_name FROM t GROUP BY value, b",
		  "value=0:a display_name=0:a ", "", 0, DEEPFLOW_MAX_VALUES },
		{ "SELECT `a b` FROM t WHERE group = 'g' GROUP BY `a b`", "a b=0:a b ",
		  " group = 'g' ", 0, DEEPFLOW_MAX_VALUES },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(arena_freep) struct arena *arena = NULL;
		struct deepflow_statement statement;
		struct filter_error error;
		char columns[128] = "";

		assert_ok(arena_new(MIB, &arena));
		if (deepflow_statement_parse(cases[i].text, arena, &statement, &error) < 0)
			fail_msg("%s: '%s' at %zu", cases[i].text, error.message, error.offset);
		assert_int_equal(statement.kind, DEEPFLOW_SELECT);
		for (size_t k = 0; k < statement.n_columns; k++) {
			const struct deepflow_column *column = &statement.columns[k];
			size_t used = strlen(columns);

			assert_string_equal(statement.groups[column->group], column->tag);
			(void)snprintf(columns + used, sizeof(columns) - used, "%s=%zu:%s ",
				       column->name, column->group, column->tag);
		}
		assert_string_equal(columns, cases[i].columns);
		assert_string_equal(statement.condition, cases[i].condition);
		assert_int_equal(statement.skip, cases[i].skip);
		assert_int_equal(statement.count, cases[i].count);
	}
}

static void other_statements_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		scoped(arena_freep) struct arena *arena = NULL;
		struct deepflow_statement statement;
		struct filter_error error = { .message = "none" };

		assert_ok(arena_new(MIB, &arena));
		assert_errno(deepflow_statement_parse(refused[i].text, arena, &statement, &error),
			     -EINVAL);
		if (!refused[i].message[0] != !error.message[0] ||
		    !strstr(error.message, refused[i].message) || error.offset != refused[i].offset)
			fail_msg("%s: '%s' at %zu", refused[i].text, error.message, error.offset);
	}
}

static void long_statements_and_names_are_refused(void **state)
{
	static const size_t lengths[] = { 257, 64 * KIB, 900 * KIB };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		scoped(arena_freep) struct arena *arena = NULL;
		scoped_free char *name = calloc(1, lengths[i] + 1);
		scoped_free char *text = NULL;
		struct deepflow_statement statement;
		struct filter_error error;

		assert_non_null(name);
		memset(name, 'a', lengths[i]);
		assert_true(asprintf(&text, "show tag %s values from t", name) > 0);
		assert_ok(arena_new(4 * MIB, &arena));
		assert_errno(deepflow_statement_parse(text, arena, &statement, &error), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_statements_of_the_plugin_are_parsed),
		cmocka_unit_test(selected_tags_are_columns),
		cmocka_unit_test(other_statements_are_refused),
		cmocka_unit_test(long_statements_and_names_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
