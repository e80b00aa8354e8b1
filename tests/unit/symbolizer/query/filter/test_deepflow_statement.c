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
	{ "SELECT app_service FROM in_process", "", 0 },
	{ "SELECT profile_event_type AS `value`, profile_event_type AS `display_name` FROM "
	  "in_process GROUP BY profile_event_type LIMIT 1",
	  "", 0 },
	{ "SELECT profile_event_type AS value, profile_event_type AS display_name FROM in_process "
	  "GROUP BY profile_event_type",
	  "", 0 },
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
		cmocka_unit_test(other_statements_are_refused),
		cmocka_unit_test(long_statements_and_names_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
