/* SPDX-License-Identifier: Apache-2.0 */

/* Tests POST /v1/query/ with the statements of DeepFlow's Grafana plugin. */

#include "symbolizer/api/envelope.h"
#include "tests/unit/symbolizer/api/api_fixture.h"

static json_t *ask_sql(struct api_fixture *fixture, const char *database, const char *sql,
		       unsigned int status)
{
	scoped(http_response_release) struct http_response response;
	scoped(bytes_release) struct bytes form = BYTES_INIT(MIB);
	json_t *json;

	if (database)
		assert_ok(bytes_append_format(&form, "db=%s&", database));
	assert_ok(bytes_append_text(&form, "sql="));
	for (const char *c = sql; *c; c++)
		assert_ok(bytes_append_format(&form, "%%%02x", (unsigned char)*c));
	assert_ok(bytes_append_byte(&form, 0));
	fixture->error_style = envelope_error;
	ask_handler(fixture, api_deepflow_query, NULL, (const char *)form.data, &response);
	json = json_of(&response);
	if (response.status != status)
		fail_msg("%s: %u: %s", sql, response.status, json_text_at(json, "DESCRIPTION"));
	assert_int_equal(json_object_size(json), 4);
	assert_string_equal(json_text_at(json, "OPT_STATUS"), status == 200   ? "SUCCESS"
							      : status == 400 ? "INVALID_POST_DATA"
									      : "FAIL");
	return json;
}

/* Asserts that the result has these columns, written as one text, and rows as wide. */
static const json_t *values_of(const json_t *json, const char *columns)
{
	const json_t *result = json_object_get(json, "result");
	const json_t *names = json_object_get(result, "columns");
	const json_t *values = json_object_get(result, "values");
	scoped(bytes_release) struct bytes joined = BYTES_INIT(4 * KIB);

	assert_int_equal(json_object_size(result), 3);
	assert_true(json_is_array(json_object_get(result, "schemas")));
	assert_true(json_is_array(values));
	for (size_t i = 0; i < json_array_size(names); i++)
		assert_ok(bytes_append_format(&joined, "%s%s", i > 0 ? " " : "",
					      json_string_value(json_array_get(names, i))));
	assert_ok(bytes_append_byte(&joined, 0));
	if (columns)
		assert_string_equal((const char *)joined.data, columns);
	for (size_t i = 0; i < json_array_size(values); i++)
		assert_int_equal(json_array_size(json_array_get(values, i)),
				 json_array_size(names));
	return values;
}

static const char *text_at(const json_t *values, size_t row, size_t column)
{
	const char *text = json_string_value(json_array_get(json_array_get(values, row), column));

	return text ? text : "";
}

static void there_is_one_database_with_one_table(void **state)
{
	scoped(json_decrefp) json_t *databases = ask_sql(*state, NULL, "show databases", 200);
	scoped(json_decrefp) json_t *tables = ask_sql(*state, "profile", "show tables", 200);
	scoped(json_decrefp) json_t *language = ask_sql(*state, "flow_log", "show language", 200);
	const json_t *names = values_of(databases, "name"),
		     *table = values_of(tables, "name datasources"),
		     *languages = values_of(language, "language");

	assert_int_equal(json_array_size(names), 1);
	assert_string_equal(text_at(names, 0, 0), "profile");
	assert_int_equal(json_array_size(table), 1);
	assert_string_equal(text_at(table, 0, 0), "in_process");
	assert_true(json_is_null(json_array_get(json_array_get(table, 0), 1)));
	assert_string_equal(text_at(languages, 0, 0), "en");
}

static void there_are_no_metrics_and_functions(void **state)
{
	scoped(json_decrefp) json_t *functions =
		ask_sql(*state, "flow_log", "show metrics functions from l4_flow_log", 200);
	scoped(json_decrefp) json_t *metrics =
		ask_sql(*state, "profile", "show metrics from in_process", 200);

	assert_int_equal(json_array_size(values_of(functions,
						   "name type support_metric_types unit_overwrite "
						   "additional_param_count "
						   "is_support_other_operators value_type")),
			 0);
	assert_int_equal(
		json_array_size(values_of(
			metrics, "name is_agg display_name display_name_zh display_name_en unit "
				 "unit_zh unit_en type category operators permissions table "
				 "description description_zh description_en")),
		0);
}

/* Columns of a tag. */
enum { NAME = 0, TYPE = 6, OPERATORS = 8 };

static const json_t *find_tag(const json_t *values, const char *name)
{
	const json_t *found = NULL;

	for (size_t i = 0; i < json_array_size(values); i++)
		if (strcmp(text_at(values, i, NAME), name) == 0) {
			assert_null(found);
			found = json_array_get(values, i);
		}
	return found;
}

static void tags_have_the_types_by_which_the_plugin_writes_conditions(void **state)
{
	static const struct {
		const char *name, *type, *operator;
	} tags[] = {
		{ "app_service", "string_enum", "LIKE" },
		{ "profile_event_type", "string", "IN" },
		{ "profile_language_type", "string_enum", "IN" },
		{ "process_id", "int", ">=" },
		{ "host_ip", "ip", "IN" },
		{ "host", "string_enum", "REGEXP" },
		/* a label of the host */
		{ "rack", "map_item", "NOT LIKE" },
	};
	scoped(json_decrefp) json_t *json =
		ask_sql(*state, "profile", "show tags from in_process", 200);
	const json_t *values = values_of(
		json, "name client_name server_name display_name display_name_zh display_name_en "
		      "type category operators permissions description description_zh "
		      "description_en related_tag deprecated not_supported_operators table");

	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		const json_t *tag = find_tag(values, tags[i].name), *operators;
		bool has_operator = false;

		if (!tag)
			fail_msg("'%s' is missing", tags[i].name);
		assert_string_equal(json_string_value(json_array_get(tag, TYPE)), tags[i].type);
		operators = json_array_get(tag, OPERATORS);
		for (size_t k = 0; k < json_array_size(operators); k++)
			has_operator |= strcmp(json_string_value(json_array_get(operators, k)),
					       tags[i].operator) == 0;
		assert_true(has_operator);
	}
	/* No agent can know these names of DeepFlow. */
	assert_null(find_tag(values, "vpc"));
	assert_null(find_tag(values, "time"));
}

static void values_of_tags_are_selected_and_limited(void **state)
{
	static const struct {
		const char *statement, *values;
	} cases[] = {
		{ "show tag app_service values from in_process", "heap shares" },
		{ "show tag app_service values FROM in_process WHERE Enum(app_service) LIKE "
		  "'***' LIMIT 0,100",
		  "heap shares" },
		{ "show tag app_service values FROM in_process WHERE Enum(app_service) LIKE "
		  "'*SHA*' LIMIT 0,100",
		  "shares" },
		{ "show tag app_service values FROM in_process WHERE app_service='heap' OR "
		  "app_service='x'",
		  "heap" },
		{ "show tag app_service values FROM in_process WHERE app_service='heap'", "heap" },
		{ "show tag app_service values FROM in_process WHERE app_service REGEXP '^s'",
		  "shares" },
		{ "show tag app_service values FROM in_process WHERE app_service='none'", "" },
		{ "show tag app_service values FROM in_process LIMIT 1", "heap" },
		{ "show tag app_service values FROM in_process LIMIT 1,1", "shares" },
		{ "show tag app_service values FROM in_process LIMIT 2,1", "" },
		{ "show tag profile_event_type values FROM in_process WHERE "
		  "profile_event_type='on-cpu'",
		  "on-cpu" },
		{ "show tag profile_language_type values FROM in_process", "eBPF" },
		{ "show tag thread values FROM in_process WHERE app_service='shares'",
		  "shares worker" },
		{ "show tag rack values FROM in_process WHERE rack LIKE '***' OR rack LIKE '***'",
		  "r7" },
		{ "show tag vpc values FROM in_process", "" },
		{ "show tag host values FROM in_process WHERE time>=1699990000 AND "
		  "time<=1700000060",
		  "web-1" },
		{ "show tag host values FROM in_process WHERE time<=1699990000", "" },
		{ "show tag host values FROM in_process WHERE time>=1700009999", "" },
		/* a range that ends before it begins */
		{ "show tag host values from in_process where time>=1700000001 and "
		  "time<=1700000000",
		  "" },
		{ "SELECT profile_event_type AS `value`, profile_event_type AS `display_name` FROM "
		  "in_process GROUP BY profile_event_type",
		  "mem-alloc on-cpu" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(json_decrefp) json_t *json =
			ask_sql(*state, "profile", cases[i].statement, 200);
		const json_t *values = values_of(json, "value display_name");
		scoped(bytes_release) struct bytes joined = BYTES_INIT(4 * KIB);

		for (size_t k = 0; k < json_array_size(values); k++) {
			assert_ok(bytes_append_format(&joined, "%s%s", k > 0 ? " " : "",
						      text_at(values, k, 0)));
			assert_string_equal(text_at(values, k, 0), text_at(values, k, 1));
		}
		assert_ok(bytes_append_byte(&joined, 0));
		if (strcmp((const char *)joined.data, cases[i].values) != 0)
			fail_msg("%s: '%s'", cases[i].statement, (const char *)joined.data);
	}
}

static void selected_tags_are_the_columns_of_their_combinations(void **state)
{
	static const struct {
		const char *statement, *columns, *rows;
	} cases[] = {
		{ "SELECT app_service, Enum(profile_event_type) FROM in_process GROUP BY "
		  "app_service, profile_event_type",
		  "app_service Enum(profile_event_type)", "heap,mem-alloc; shares,on-cpu; " },
		{ "SELECT Enum(thread) AS `name`, host_id FROM in_process WHERE "
		  "app_service='shares' AND time>=1699990000 AND time<=1700000060 "
		  "GROUP BY thread, host_id LIMIT 1,5",
		  "name host_id", "worker,web-1; " },
		/* a group that is no column, and a tag that the series lack */
		{ "SELECT pod_id FROM in_process WHERE app_service='shares' GROUP BY thread, "
		  "pod_id",
		  "pod_id", "; ; " },
		{ "SELECT host FROM in_process WHERE time>=2 AND time<=1 GROUP BY host", "host",
		  "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(json_decrefp) json_t *json =
			ask_sql(*state, "profile", cases[i].statement, 200);
		const json_t *values = values_of(json, cases[i].columns);
		scoped(bytes_release) struct bytes joined = BYTES_INIT(4 * KIB);

		for (size_t k = 0; k < json_array_size(values); k++)
			for (size_t c = 0, n = json_array_size(json_array_get(values, k)); c < n;
			     c++)
				assert_ok(bytes_append_format(&joined, "%s%s",
							      text_at(values, k, c),
							      c + 1 < n ? "," : "; "));
		assert_ok(bytes_append_byte(&joined, 0));
		if (strcmp((const char *)joined.data, cases[i].rows) != 0)
			fail_msg("%s: '%s'", cases[i].statement, (const char *)joined.data);
	}
}

static void a_statement_may_be_in_a_json_object(void **state)
{
	static const char body[] =
		"{\"db\":\"profile\",\"sql\":\"show tag host values from in_process\"}";
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *values;

	fixture->error_style = envelope_error;
	ask_handler(fixture, api_deepflow_query, NULL, body, &response);
	json = json_of(&response);
	values = values_of(json, "value display_name");
	assert_int_equal(json_array_size(values), 1);
	assert_string_equal(text_at(values, 0, 0), "web-1");
}

static void other_requests_are_refused_with_the_reason(void **state)
{
	static const struct {
		const char *database, *statement, *reason;
	} cases[] = {
		{ "profile", "SELECT Sum(profile_value) FROM in_process",
		  "'SELECT Sum(profile_value) FROM in_process' is no statement that this server "
		  "answers; these are: show databases; show language; show tables; show metrics "
		  "functions from TABLE; show metrics from TABLE; show tags from TABLE; show tag "
		  "TAG values from TABLE; select profile_event_type as `value`, " },
		{ "profile", "show tables; drop table samples", "is no statement" },
		{ "flow_log", "show tables", "db: 'flow_log' is no database" },
		{ NULL, "show tags from in_process", "db: '' is no database" },
		{ "profile", "show tags from l7_flow_log", "'l7_flow_log' is no table" },
		{ "profile", "show tag hots values from in_process",
		  "sql: 'hots' is no tag (known: app_service" },
		{ "profile", "show tag host values from in_process where hots = 'a'",
		  "sql: unknown tag 'hots' at character 44 (known: app_service" },
		{ "profile", "show tag host values from in_process where host =",
		  "but the filter ends here at character 50" },
		{ "profile", "show tag host values from in_process limit x",
		  "sql: expected a number of values at character 44" },
		{ "profile", "SELECT host FROM in_process", "expected WHERE or GROUP BY" },
		{ "profile", "SELECT host FROM l7_flow_log GROUP BY host",
		  "'l7_flow_log' is no table" },
		{ "profile", "SELECT hots FROM in_process GROUP BY hots",
		  "sql: 'hots' is no tag (known: app_service" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(json_decrefp) json_t *json =
			ask_sql(*state, cases[i].database, cases[i].statement, 400);

		assert_true(json_is_null(json_object_get(json, "result")));
		if (!strstr(json_text_at(json, "DESCRIPTION"), cases[i].reason))
			fail_msg("%s: %s", cases[i].statement, json_text_at(json, "DESCRIPTION"));
	}
}

static void a_store_that_fails_is_no_mistake_of_the_client(void **state)
{
	static const char *const statements[] = {
		"show tags from in_process",
		"show tag host values from in_process",
		("SELECT profile_event_type AS `value`, profile_event_type AS `display_name` FROM "
		 "in_process GROUP BY profile_event_type"),
	};
	struct api_fixture *fixture = *state;

	fixture->store.error = -EIO;
	for (size_t i = 0; i < ARRAY_SIZE(statements); i++) {
		scoped(json_decrefp) json_t *json = ask_sql(fixture, "profile", statements[i], 500);

		assert_true(json_is_null(json_object_get(json, "result")));
		assert_non_null(
			strstr(json_text_at(json, "DESCRIPTION"), "the sample store failed"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(there_is_one_database_with_one_table),
		API_TEST(there_are_no_metrics_and_functions),
		API_TEST(tags_have_the_types_by_which_the_plugin_writes_conditions),
		API_TEST(values_of_tags_are_selected_and_limited),
		API_TEST(selected_tags_are_the_columns_of_their_combinations),
		API_TEST(a_statement_may_be_in_a_json_object),
		API_TEST(other_requests_are_refused_with_the_reason),
		API_TEST(a_store_that_fails_is_no_mistake_of_the_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
