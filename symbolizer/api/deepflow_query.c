/* SPDX-License-Identifier: Apache-2.0 */

/*
 * POST /v1/query/: the statements of DeepFlow's querier by which its Grafana plugin fills the
 * editor of a panel with profiles. There is one database with one table.
 */

#include <string.h>

#include "common/limits.h"
#include "symbolizer/api/deepflow_tags.h"
#include "symbolizer/api/envelope.h"

#define DATABASE "profile"
#define TABLE    "in_process"

/* Values of tags are those of the last day, unless the statement has another range. */
#define DEFAULT_RANGE_S (24 * 3600)

#define SLOTS_PER_SECOND (NSEC_PER_SEC / SLOT_NS)

static void write_names(struct json_writer *json, const char *column, const char *name)
{
	deepflow_table_begin(json, &column, 1);
	json_array_begin(json);
	json_text(json, name);
	json_array_end(json);
	deepflow_table_end(json);
}

/* The second column is the intervals of sums, of which profiles have none. */
static void write_tables(struct json_writer *json)
{
	static const char *const columns[] = { "name", "datasources" };

	deepflow_table_begin(json, columns, ARRAY_SIZE(columns));
	json_array_begin(json);
	json_text(json, TABLE);
	json_null_value(json);
	json_array_end(json);
	deepflow_table_end(json);
}

/* There are none: the server computes profiles, but no metrics of this table. */
static void write_functions(struct json_writer *json)
{
	static const char *const columns[] = {
		"name",
		"type",
		"support_metric_types",
		"unit_overwrite",
		"additional_param_count",
		"is_support_other_operators",
		"value_type",
	};

	deepflow_table_begin(json, columns, ARRAY_SIZE(columns));
	deepflow_table_end(json);
}

static void write_metrics(struct json_writer *json)
{
	static const char *const columns[] = {
		"name",
		"is_agg",
		"display_name",
		"display_name_zh",
		"display_name_en",
		"unit",
		"unit_zh",
		"unit_en",
		"type",
		"category",
		"operators",
		"permissions",
		"table",
		"description",
		"description_zh",
		"description_en",
	};

	deepflow_table_begin(json, columns, ARRAY_SIZE(columns));
	deepflow_table_end(json);
}

static int write_event_types(struct deepflow_call *call, struct json_writer *json)
{
	static const char *const columns[] = { "value", "display_name" };
	struct service_summary *services;
	size_t count;
	int r;

	r = profile_list_services(call->view, call->profile.from_slot, call->profile.to_slot,
				  call->arena, &services, &count);
	if (r < 0)
		return r;
	deepflow_table_begin(json, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < count; i++)
		if (service_is_first_of_type(services, i))
			deepflow_write_value(json, services[i].event->name);
	deepflow_table_end(json);
	return 0;
}

static int write_result(struct deepflow_call *call, const struct deepflow_statement *statement,
			struct json_writer *json)
{
	switch (statement->kind) {
	case DEEPFLOW_DATABASES:
		write_names(json, "name", DATABASE);
		break;
	case DEEPFLOW_LANGUAGE:
		write_names(json, "language", "en");
		break;
	case DEEPFLOW_TABLES:
		write_tables(json);
		break;
	case DEEPFLOW_FUNCTIONS:
		write_functions(json);
		break;
	case DEEPFLOW_METRICS:
		write_metrics(json);
		break;
	case DEEPFLOW_TAGS:
		return deepflow_write_tags(call, json);
	case DEEPFLOW_TAG_VALUES:
		return deepflow_write_tag_values(call, statement, json);
	case DEEPFLOW_EVENT_TYPES:
		return write_event_types(call, json);
	case DEEPFLOW_SELECT:
		return deepflow_write_selection(call, statement, json);
	}
	return 0;
}

static bool parse_statement(struct deepflow_call *call, struct deepflow_statement *ret_statement)
{
	static const char known[] =
#define X(id, text) "; " text
		DEEPFLOW_STATEMENTS(X)
#undef X
			"; select TAG, ... from TABLE where FILTER group by TAG, ...";
	struct filter_error error;
	int r = deepflow_statement_parse(call->sql, call->arena, ret_statement, &error);

	if (r == -ENOMEM) {
		http_response_error(call->response, 500, "out of memory");
	} else if (r < 0 && error.message[0]) {
		http_response_error(call->response, 400, "sql: %s at character %zu", error.message,
				    error.offset + 1);
	} else if (r < 0) {
		http_response_error(call->response, 400,
				    "sql: '%.80s' is no statement that this server answers; these "
				    "are: %s",
				    call->sql, known + strlen("; "));
	}
	return r == 0;
}

/* Statements about the server or about all tables need no database: the plugin sends any. */
static bool check_table(struct deepflow_call *call, const struct deepflow_statement *statement)
{
	const char *database = form_value(&call->form, "db");

	if (statement->kind == DEEPFLOW_DATABASES || statement->kind == DEEPFLOW_LANGUAGE ||
	    statement->kind == DEEPFLOW_FUNCTIONS)
		return true;
	if (!database || strcmp(database, DATABASE) != 0) {
		http_response_error(call->response, 400,
				    "db: '%.60s' is no database of this server, only " DATABASE
				    " is",
				    database ? database : "");
		return false;
	}
	if (!statement->table || strcmp(statement->table, TABLE) == 0)
		return true;
	http_response_error(call->response, 400,
			    "sql: '%.60s' is no table of this server, only " TABLE " is",
			    statement->table);
	return false;
}

static bool set_conditions(struct deepflow_call *call, const struct deepflow_statement *statement)
{
	uint64_t now_s = clock_wall_ns(call->context->clock) / NSEC_PER_SEC;
	struct profile_request *profile = &call->profile;

	if (!deepflow_set_conditions(call, statement->condition, statement->condition_offset))
		return false;
	if (profile->to_slot == UINT64_MAX)
		profile->to_slot = (now_s + 1) * SLOTS_PER_SECOND;
	if (profile->from_slot == 0)
		profile->from_slot = profile->to_slot -
				     MIN(profile->to_slot, DEFAULT_RANGE_S * SLOTS_PER_SECOND);
	/* A range that begins in the future, or ends before it begins, has no samples. */
	profile->to_slot = MAX(profile->to_slot, profile->from_slot + 1);
	return true;
}

static void answer(struct deepflow_call *call, const struct deepflow_statement *statement)
{
	const uint64_t refused = memory_budget_refused(call->context->memory);
	struct json_writer json;
	int r;

	envelope_begin(&json, call->response, "SUCCESS", "");
	r = write_result(call, statement, &json);
	r = answer_memory_error(call->context, r, refused, call->message);
	if (r < 0) {
		deepflow_fail(call, r);
		return;
	}
	envelope_debug(&json);
	json_null_value(&json);
	envelope_end(&json);
}

void api_deepflow_query(struct api_context *context, const struct http_request *request,
			struct http_response *response)
{
	struct deepflow_call call = { .context = context,
				      .request = request,
				      .response = response };
	struct deepflow_statement statement;

	if (deepflow_begin(&call) && parse_statement(&call, &statement) &&
	    check_table(&call, &statement) && set_conditions(&call, &statement))
		answer(&call, &statement);
	deepflow_end(&call);
}

void api_deepflow_query_bare(struct api_context *context, const struct http_request *request,
			     struct http_response *response)
{
	api_deepflow_query(context, request, response);
}

void api_deepflow_query_of_editor(struct api_context *context, const struct http_request *request,
				  struct http_response *response)
{
	api_deepflow_query(context, request, response);
}
