/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/command.h"
#include "tests/unit/symbolizer/api/uploaded_program.h"

static json_t *ask_status(struct api_fixture *fixture, const char *id)
{
	const struct http_request request = { .path = "/v1/debuginfo/id/status",
					      .argument = id,
					      .caller = &fixture->caller };
	scoped(http_response_release) struct http_response response;

	http_response_init(&response);
	api_debuginfo_status(&fixture->context, &request, &response);
	assert_int_equal(response.status, 200);
	return json_of(&response);
}

/* Returns the answer when the symbol table is finished. */
static json_t *ask_until_made(struct api_fixture *fixture, const char *id)
{
	json_t *json = ask_status(fixture, id);

	while (strcmp(json_text_at(json_object_get(json, "table"), "status"), "table pending") ==
	       0) {
		json_decref(json);
		(void)usleep(1000);
		json = ask_status(fixture, id);
	}
	return json;
}

static bool has_text(const json_t *list, const char *text)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (strcmp(json_string_value(json_array_get(list, i)), text) == 0)
			return true;
	}
	return false;
}

static void the_status_describes_the_table_of_a_file(void **state)
{
	char id[EXECUTABLE_ID_TEXT_SIZE];
	scoped(json_decrefp) json_t *json = NULL;
	const json_t *table;

	upload_program(*state, "/proc/self/exe", id);
	json = ask_until_made(*state, id);
	assert_string_equal(json_text_at(json, "build_id"), id);
	assert_int_equal(json_array_size(json_object_get(json, "files")), 1);
	table = json_object_get(json, "table");
	assert_string_equal(json_text_at(table, "status"), "ready");
	assert_true(has_text(json_object_get(table, "sources"), "dwarf"));
	assert_true(has_text(json_object_get(table, "sources"), "symtab"));
	assert_false(has_text(json_object_get(table, "sources"), "go"));
	assert_true(json_number_at(table, "functions") > 100);
	assert_string_equal(json_text_at(table, "why"), "");
	assert_string_equal(json_text_at(json, "command"), "");
	assert_true(json_number_at(table, "places") > json_number_at(table, "functions"));
	assert_true(json_number_at(table, "stored_bytes") > 1000);
	assert_int_equal(json_number_at(table, "made_time"), FIXTURE_NOW);
	assert_int_equal(json_number_at(json_object_get(json, "looked_for"), "here_time"),
			 FIXTURE_NOW);
}

static void the_status_of_a_stripped_file_has_the_reason_and_the_remedy(void **state)
{
	struct api_fixture *fixture = *state;
	scoped_free char *path = path_in(fixture->folder, "stripped");
	struct bytes output = BYTES_INIT(COMMAND_OUTPUT_BYTES);
	scoped(json_decrefp) json_t *json = NULL;
	char command[1024], id[EXECUTABLE_ID_TEXT_SIZE];
	const json_t *table;

	(void)snprintf(command, sizeof(command), "strip --strip-all -o %s /proc/%d/exe 2>&1", path,
		       (int)getpid());
	assert_int_equal(command_output(command, &output), 0);
	bytes_release(&output);
	upload_program(fixture, path, id);
	json = ask_until_made(fixture, id);
	table = json_object_get(json, "table");
	assert_string_equal(json_text_at(table, "status"), "ready");
	assert_non_null(strstr(json_text_at(table, "why"), "stripped file"));
	assert_string_equal(json_text_at(json, "file"), "shares");
	assert_string_equal(json_text_at(json, "command"),
			    "hearth upload /path/to/unstripped/shares");
	assert_string_not_equal(json_text_at(json, "remedy"), "");
}

static void the_remedy_for_a_file_of_the_distribution_is_its_debuginfod(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(json_decrefp) json_t *json = NULL;

	fixture->store.path = "/usr/bin/shares";
	json = ask_status(fixture, "0123456789abcdef");
	assert_non_null(strstr(json_text_at(json, "command"),
			       "debuginfod-find debuginfo 0123456789abcdef"));
}

static void the_status_of_an_unknown_file_lists_the_searches(void **state)
{
	static const uint8_t agent[16];
	struct api_fixture *fixture = *state;
	scoped(json_decrefp) json_t *before = NULL, *after = NULL;
	const json_t *search;
	struct executable_id id;

	before = ask_status(fixture, "0123456789abcdef");
	assert_string_equal(json_text_at(json_object_get(before, "table"), "status"),
			    "no debuginfo");
	assert_int_equal(json_array_size(json_object_get(before, "files")), 0);
	search = json_object_get(before, "looked_for");
	assert_int_equal(json_number_at(search, "agents_again_time"), 0);
	assert_true(json_is_false(json_object_get(search, "upstream")));

	assert_ok(executable_id_parse("0123456789abcdef", &id));
	assert_int_equal(debuginfo_want(fixture->context.debuginfo, &id, agent), 1);
	after = ask_status(fixture, "0123456789abcdef");
	search = json_object_get(after, "looked_for");
	assert_true(json_number_at(search, "agents_again_time") > (json_int_t)FIXTURE_NOW);
}

static void an_invalid_build_id_is_refused(void **state)
{
	struct api_fixture *fixture = *state;
	const struct http_request request = { .path = "/v1/debuginfo/id/status",
					      .argument = "../etc",
					      .caller = &fixture->caller };
	scoped(http_response_release) struct http_response response;

	http_response_init(&response);
	api_debuginfo_status(&fixture->context, &request, &response);
	assert_error(&response, 400, "is no build ID");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(the_status_describes_the_table_of_a_file),
		API_TEST(the_status_of_a_stripped_file_has_the_reason_and_the_remedy),
		API_TEST(the_remedy_for_a_file_of_the_distribution_is_its_debuginfod),
		API_TEST(the_status_of_an_unknown_file_lists_the_searches),
		API_TEST(an_invalid_build_id_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
