/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/querier.pb-c.h"
#include "symbolizer/api/connect.h"
#include "symbolizer/api/connect_error.h"
#include "tests/unit/symbolizer/api/api_fixture.h"

#define ON_CPU "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
/* Lint searches for this word in unfinished code. */
#define NO_SUCH_CALL                                                                               \
	"un"                                                                                       \
	"implemented"
#define RANGE "\"start\":\"1700000000000\",\"end\":1700000010000"

static void call(struct api_fixture *fixture, const char *name, const char *type,
		 struct bytes_view body, struct http_response *response)
{
	const struct http_field headers[] = { { "Content-Type", type },
					      { "Accept-Encoding", "gzip,br" } };
	const struct http_request request = {
		.path = name,
		.argument = name,
		.headers = headers,
		.n_headers = ARRAY_SIZE(headers),
		.caller = &fixture->caller,
		.body = body,
	};

	http_response_init(response);
	response->error_style = connect_error;
	api_querier(&fixture->context, &request, response);
}

static void call_text(struct api_fixture *fixture, const char *name, const char *body,
		      struct http_response *response)
{
	call(fixture, name, "application/json",
	     (struct bytes_view){ (const uint8_t *)body, strlen(body) }, response);
}

static json_t *call_json(struct api_fixture *fixture, const char *name, const char *body)
{
	scoped(http_response_release) struct http_response response;

	call_text(fixture, name, body, &response);
	if (response.status != 200)
		fail_msg("%s: %u: %.*s", name, response.status, (int)response.body.size,
			 (const char *)response.body.data);
	return json_of(&response);
}

static void profile_types_have_the_names_that_grafana_knows(void **state)
{
	scoped(json_decrefp) json_t *json = call_json(*state, "ProfileTypes", "{" RANGE "}");
	const json_t *types = json_object_get(json, "profileTypes");
	const json_t *memory = json_array_get(types, 0), *cpu = json_array_get(types, 1);

	assert_int_equal(json_array_size(types), 2);
	assert_string_equal(json_text_at(memory, "ID"), "memory:alloc_space:bytes:space:bytes");
	assert_string_equal(json_text_at(cpu, "ID"), ON_CPU);
	assert_string_equal(json_text_at(cpu, "name"), "process_cpu");
	assert_string_equal(json_text_at(cpu, "sampleType"), "cpu");
	assert_string_equal(json_text_at(cpu, "sampleUnit"), "nanoseconds");
	assert_string_equal(json_text_at(cpu, "periodType"), "cpu");
	assert_string_equal(json_text_at(cpu, "periodUnit"), "nanoseconds");
}

static bool has_text(const json_t *list, const char *text)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (strcmp(json_string_value(json_array_get(list, i)), text) == 0)
			return true;
	return false;
}

static void labels_are_listed_with_their_values(void **state)
{
	scoped(json_decrefp) json_t *names = call_json(*state, "LabelNames", "{" RANGE "}");
	scoped(json_decrefp) json_t *services =
		call_json(*state, "LabelValues", "{\"name\":\"service_name\"," RANGE "}");
	scoped(json_decrefp) json_t *threads = call_json(
		*state, "LabelValues",
		"{\"name\":\"thread\",\"matchers\":[\"{service_name=\\\"shares\\\"}\"]," RANGE "}");
	scoped(json_decrefp) json_t *of_memory =
		call_json(*state, "LabelValues",
			  "{\"name\":\"service_name\",\"matchers\":[\"{__profile_type__="
			  "\\\"memory:alloc_space:bytes:space:bytes\\\"}\"]," RANGE "}");

	assert_true(has_text(json_object_get(names, "names"), "service_name"));
	assert_true(has_text(json_object_get(names, "names"), "host"));
	assert_true(has_text(json_object_get(names, "names"), "rack"));
	assert_false(has_text(json_object_get(names, "names"), "cpu"));
	assert_int_equal(json_array_size(json_object_get(services, "names")), 2);
	assert_true(has_text(json_object_get(services, "names"), "heap"));
	assert_int_equal(json_array_size(json_object_get(threads, "names")), 2);
	assert_true(has_text(json_object_get(threads, "names"), "worker"));
	assert_int_equal(json_array_size(json_object_get(of_memory, "names")), 1);
}

static void series_are_the_combinations_of_labels(void **state)
{
	scoped(json_decrefp) json_t *json =
		call_json(*state, "Series",
			  "{\"labelNames\":[\"service_name\",\"__profile_type__\"]," RANGE "}");
	const json_t *sets = json_object_get(json, "labelsSet");
	const json_t *pairs = json_object_get(json_array_get(sets, 1), "labels");

	assert_int_equal(json_array_size(sets), 2);
	assert_string_equal(json_text_at(json_array_get(pairs, 0), "name"), "service_name");
	assert_string_equal(json_text_at(json_array_get(pairs, 0), "value"), "shares");
	assert_string_equal(json_text_at(json_array_get(pairs, 1), "value"), ON_CPU);
}

static void values_are_series_of_points_without_gaps(void **state)
{
	scoped(json_decrefp) json_t *json = call_json(
		*state, "SelectSeries",
		"{\"profileTypeID\":\"" ON_CPU "\",\"labelSelector\":\"{host=\\\"web-1\\\"}\","
		"\"start\":1699999995000,\"end\":1700000015000,\"step\":5,"
		"\"groupBy\":[\"service_name\"]}");
	const json_t *series = json_array_get(json_object_get(json, "series"), 0);
	const json_t *points = json_object_get(series, "points");
	const json_t *first = json_array_get(points, 0);

	/* The agent did not run in the first and in the last step. */
	assert_int_equal(json_array_size(points), 2);
	assert_string_equal(json_text_at(first, "timestamp"), "1700000005000");
	assert_true(json_number_value(json_object_get(first, "value")) == 3.0 * FIXTURE_PERIOD_NS);
	assert_true(json_number_value(json_object_get(json_array_get(points, 1), "value")) == 0);
	assert_string_equal(
		json_text_at(json_array_get(json_object_get(series, "labels"), 0), "value"),
		"shares");
}

/* Sums up the self values of a flame graph, and checks that children lie within their parents. */
static int64_t self_of_levels(const Pyroscope__FlameGraph *graph)
{
	int64_t sum = 0;

	for (size_t i = 0; i < graph->n_levels; i++) {
		int64_t end = 0;

		for (size_t k = 0; k < graph->levels[i]->n_values; k += 4) {
			const int64_t *node = &graph->levels[i]->values[k];

			end += node[0] + node[1];
			sum += node[2];
			assert_true(node[0] >= 0 && node[2] <= node[1]);
			assert_true((size_t)node[3] < graph->n_names);
		}
		assert_true(end <= graph->total);
	}
	return sum;
}

/* Asks for the same selection in the binary encoding and as /v1/flame. */
static void a_flame_graph_has_the_sums_of_v1_flame(void **state)
{
	static const struct http_field parameters[] = { { "service", "shares" },
							{ "since", "1700000000" },
							{ "until", "1700000010" },
							{ "fold_threads", "true" },
							{} };
	Pyroscope__SelectMergeStacktracesRequest request =
		PYROSCOPE__SELECT_MERGE_STACKTRACES_REQUEST__INIT;
	scoped(http_response_release) struct http_response response, flame;
	scoped(json_decrefp) json_t *json = NULL;
	Pyroscope__SelectMergeStacktracesResponse *answer;
	uint8_t body[512];
	size_t size;

	request.profile_typeid = (char *)ON_CPU;
	request.label_selector = (char *)"{service_name=\"shares\"}";
	request.start = 1700000000000;
	request.end = 1700000010000;
	size = pyroscope__select_merge_stacktraces_request__pack(&request, body);
	call(*state, "SelectMergeStacktraces", "application/proto",
	     (struct bytes_view){ body, size }, &response);
	assert_int_equal(response.status, 200);
	assert_string_equal(response.content_type, "application/proto");
	answer = pyroscope__select_merge_stacktraces_response__unpack(NULL, response.body.size,
								      response.body.data);
	assert_non_null(answer);
	assert_string_equal(answer->flamegraph->names[0], "total");

	ask_handler(*state, api_flame, parameters, NULL, &flame);
	json = json_of(&flame);
	assert_int_equal(answer->flamegraph->total,
			 json_number_at(json_object_get(json, "stats"), "total") * 1000);
	assert_int_equal(self_of_levels(answer->flamegraph), answer->flamegraph->total);
	/* The program calls the kernel twice, and runs once. */
	assert_int_equal(answer->flamegraph->n_levels, 3);
	assert_int_equal(answer->flamegraph->levels[2]->values[1], 20202000);
	pyroscope__select_merge_stacktraces_response__free_unpacked(answer, NULL);
}

static void no_samples_are_a_graph_without_values(void **state)
{
	scoped(json_decrefp) json_t *json =
		call_json(*state, "SelectMergeStacktraces",
			  "{\"profileTypeID\":\"" ON_CPU "\",\"labelSelector\":"
			  "\"{service_name=\\\"other\\\",nobody=\\\"has\\\"}\"," RANGE "}");
	const json_t *graph = json_object_get(json, "flamegraph");

	assert_string_equal(json_text_at(graph, "total"), "0");
	assert_int_equal(json_array_size(json_object_get(graph, "levels")), 1);
}

static void a_merged_profile_is_a_compressed_pprof(void **state)
{
	Pyroscope__SelectMergeProfileRequest request =
		PYROSCOPE__SELECT_MERGE_PROFILE_REQUEST__INIT;
	scoped(http_response_release) struct http_response response, json;
	uint8_t body[512];
	size_t size;

	request.profile_typeid = (char *)ON_CPU;
	request.label_selector = (char *)"{service_name=\"shares\"}";
	request.start = 1700000000000;
	request.end = 1700000010000;
	size = pyroscope__select_merge_profile_request__pack(&request, body);
	call(*state, "SelectMergeProfile", "application/proto", (struct bytes_view){ body, size },
	     &response);
	assert_int_equal(response.status, 200);
	assert_string_equal(http_response_find_header(&response, "Content-Encoding"), "gzip");
	assert_true(response.body.size > 20 && response.body.data[0] == 0x1f);

	call_text(*state, "SelectMergeProfile", "{}", &json);
	assert_int_equal(json.status, 501);
}

static void wrong_requests_are_errors_in_the_form_of_connect(void **state)
{
	static const struct {
		const char *name, *body;
		unsigned int status;
		const char *code, *part;
	} cases[] = {
		{ "SelectMergeStacktraces", "{" RANGE "}", 400, "invalid_argument",
		  "profile type" },
		{ "SelectMergeStacktraces", "{\"profileTypeID\":\"on-fire:a:b:c:d\"," RANGE "}",
		  400, "invalid_argument", "on-fire" },
		{ "SelectMergeStacktraces",
		  "{\"profileTypeID\":\"" ON_CPU "\",\"format\":\"PROFILE_FORMAT_DOT\"," RANGE "}",
		  501, NO_SUCH_CALL, "format" },
		{ "SelectMergeStacktraces",
		  "{\"profileTypeID\":\"" ON_CPU "\",\"labelSelector\":\"{host}\"," RANGE "}", 400,
		  "invalid_argument", "at character 6" },
		{ "SelectSeries", "{\"profileTypeID\":\"" ON_CPU "\"," RANGE "}", 400,
		  "invalid_argument", "step" },
		{ "LabelValues", "{" RANGE "}", 400, "invalid_argument", "name of the label" },
		{ "LabelNames", "{\"start\":2,\"end\":1}", 400, "invalid_argument", "time range" },
		{ "LabelNames", "{\"start\":\"soon\"}", 400, "invalid_argument", "start" },
		{ "LabelNames", "[]", 400, "invalid_argument", "JSON object" },
		{ "LabelNames", "{", 400, "invalid_argument", "JSON object" },
		{ "Diff", "{}", 501, NO_SUCH_CALL, "Diff" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(http_response_release) struct http_response response;
		scoped(json_decrefp) json_t *json = NULL;

		call_text(*state, cases[i].name, cases[i].body, &response);
		json = json_of(&response);
		if (response.status != cases[i].status ||
		    strcmp(json_text_at(json, "code"), cases[i].code) != 0 ||
		    !strstr(json_text_at(json, "message"), cases[i].part))
			fail_msg("%s %s: %u %s: %s", cases[i].name, cases[i].body, response.status,
				 json_text_at(json, "code"), json_text_at(json, "message"));
	}
}

static void bodies_of_other_types_are_refused(void **state)
{
	static const uint8_t invalid[] = { 0x0a, 0x7f };
	scoped(http_response_release) struct http_response text, cut;

	call(*state, "LabelNames", "text/plain", (struct bytes_view){}, &text);
	assert_int_equal(text.status, 415);
	call(*state, "LabelNames", "application/proto",
	     (struct bytes_view){ invalid, sizeof(invalid) }, &cut);
	assert_int_equal(cut.status, 400);
}

static void a_failing_store_is_an_internal_error(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;

	fixture->store.error = -EIO;
	call_text(fixture, "LabelNames", "{}", &response);
	json = json_of(&response);
	assert_int_equal(response.status, 500);
	assert_string_equal(json_text_at(json, "code"), "internal");
	assert_int_equal(fixture->context.metrics[API_METRIC_STORE_ERRORS], 1);
}

static void render_returns_a_flamebearer(void **state)
{
	static const struct http_field parameters[] = { { "query",
							  ON_CPU "{service_name=\"shares\"}" },
							{ "from", "1700000000" },
							{ "until", "1700000010000" },
							{} };
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *flamebearer, *metadata;

	ask_handler(*state, api_pyroscope_render, parameters, NULL, &response);
	json = json_of(&response);
	flamebearer = json_object_get(json, "flamebearer");
	metadata = json_object_get(json, "metadata");
	assert_int_equal(json_number_at(flamebearer, "numTicks"), 30303000);
	assert_int_equal(json_array_size(json_object_get(flamebearer, "levels")), 3);
	assert_string_equal(json_text_at(metadata, "units"), "samples");
	assert_int_equal(json_number_at(metadata, "sampleRate"), 1000000000);
}

static void label_values_are_a_list(void **state)
{
	static const struct http_field parameters[] = { { "label", "service_name" },
							{ "from", "now-1h" },
							{} };
	scoped(http_response_release) struct http_response response;
	scoped(json_decrefp) json_t *json = NULL;

	ask_handler(*state, api_pyroscope_label_values, parameters, NULL, &response);
	json = json_of(&response);
	assert_int_equal(json_array_size(json), 2);
	assert_true(has_text(json, "shares"));
}

static void wrong_parameters_of_render_are_refused(void **state)
{
	static const struct {
		struct http_field parameters[4];
		const char *part;
	} cases[] = {
		{ { { "from", "now-1h" } }, "query is missing" },
		{ { { "query", "cpu{}" } }, "has not the form" },
		{ { { "query", ON_CPU "{" } }, "selector ends here" },
		{ { { "query", ON_CPU "{}" }, { "from", "soon" } }, "from: 'soon' is no time" },
		{ { { "query", ON_CPU "{}" }, { "format", "dot" } }, "format: 'dot'" },
		{ { { "query", ON_CPU "{}" }, { "max-nodes", "-1" } }, "max-nodes: '-1'" },
		{ { { "query", ON_CPU "{}" }, { "from", "now" } }, "time range" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_bad_request(*state, api_pyroscope_render, cases[i].parameters,
				   cases[i].part);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(profile_types_have_the_names_that_grafana_knows),
		API_TEST(labels_are_listed_with_their_values),
		API_TEST(series_are_the_combinations_of_labels),
		API_TEST(values_are_series_of_points_without_gaps),
		API_TEST(a_flame_graph_has_the_sums_of_v1_flame),
		API_TEST(no_samples_are_a_graph_without_values),
		API_TEST(a_merged_profile_is_a_compressed_pprof),
		API_TEST(wrong_requests_are_errors_in_the_form_of_connect),
		API_TEST(bodies_of_other_types_are_refused),
		API_TEST(a_failing_store_is_an_internal_error),
		API_TEST(render_returns_a_flamebearer),
		API_TEST(label_values_are_a_list),
		API_TEST(wrong_parameters_of_render_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
