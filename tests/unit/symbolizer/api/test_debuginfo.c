/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Uploads this test program, which has a known build ID and symbols, to a store in a folder of the
 * test.
 */

#include "common/file.h"
#include "tests/unit/symbolizer/api/uploaded_program.h"

/* Calls a streaming route like the server, with pieces of @piece bytes. */
static void put(struct api_fixture *fixture, const char *id, const char *origin,
		struct bytes_view body, size_t piece, struct http_response *response)
{
	const struct http_field header = { "X-Hearth-Origin", origin };
	const struct http_request request = {
		.method = HTTP_PUT,
		.path = "/v1/debuginfo/id",
		.argument = id,
		.headers = &header,
		.n_headers = origin ? 1 : 0,
		.caller = &fixture->caller,
	};
	void *stream;
	bool goes_on = true;

	http_response_init(response);
	stream = api_debuginfo_put.begin(&fixture->context, &request, body.size, response);
	if (!stream)
		return;
	for (size_t done = 0; goes_on && done < body.size; done += piece)
		goes_on = api_debuginfo_put.append(
			stream,
			(struct bytes_view){ body.data + done, MIN(piece, body.size - done) },
			response);
	if (goes_on)
		api_debuginfo_put.finish(stream, &request, response);
	api_debuginfo_put.free(stream);
}

static void ask_about(struct api_fixture *fixture, api_handler handler, const char *id,
		      struct http_response *response)
{
	const struct http_request request = { .path = "/v1/debuginfo/id",
					      .argument = id,
					      .caller = &fixture->caller };

	http_response_init(response);
	handler(&fixture->context, &request, response);
}

static void an_upload_is_stored_listed_sent_back_and_removed(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(program_release) struct program program;
	scoped(http_response_release) struct http_response stored, list, one, file, removed, gone;
	scoped(json_decrefp) json_t *stored_json = NULL, *list_json = NULL, *one_json = NULL;
	const json_t *entry;
	uint8_t *sent;

	read_this_program(&program);
	put(fixture, program.id, NULL, bytes_view_of(&program.elf), 100000, &stored);
	stored_json = json_of(&stored);
	if (stored.status != 200)
		fail_msg("%s", json_text_at(stored_json, "error"));
	assert_true(json_is_true(json_object_get(stored_json, "stored")));
	assert_int_equal(fixture->context.metrics[API_METRIC_UPLOADS_STORED], 1);
	assert_int_equal(fixture->context.metrics[API_METRIC_UPLOAD_BYTES], program.elf.size);

	ask_about(fixture, api_debuginfo_list, "", &list);
	list_json = json_of(&list);
	entry = json_array_get(json_object_get(list_json, "debuginfo"), 0);
	assert_string_equal(json_text_at(entry, "file"), "shares");
	assert_string_equal(json_text_at(entry, "build_id"), program.id);
	assert_string_equal(json_text_at(entry, "origin"), "pipeline");
	assert_string_equal(json_text_at(entry, "has"), "dwarf");
	assert_int_equal(json_number_at(entry, "size_bytes"), program.elf.size);
	assert_int_equal(json_number_at(entry, "uploaded_time"), FIXTURE_NOW);

	ask_about(fixture, api_debuginfo_get, program.id, &one);
	one_json = json_of(&one);
	assert_string_equal(json_text_at(one_json, "build_id"), program.id);

	ask_about(fixture, api_debuginfod, program.id, &file);
	assert_int_equal(file.status, 200);
	assert_int_equal(file.file_bytes, program.elf.size);
	sent = malloc(program.elf.size);
	assert_non_null(sent);
	assert_ok(pread_all(file.file, sent, program.elf.size, 0));
	assert_memory_equal(sent, program.elf.data, program.elf.size);
	free(sent);

	ask_about(fixture, api_debuginfo_delete, program.id, &removed);
	assert_int_equal(removed.status, 200);
	ask_about(fixture, api_debuginfod, program.id, &gone);
	assert_error(&gone, 404, program.id);
}

static void a_head_has_the_length_without_opening_the_file(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(program_release) struct program program;
	scoped(http_response_release) struct http_response stored, head, gone;
	struct http_request request = { .method = HTTP_HEAD,
					.path = "/buildid/id/debuginfo",
					.caller = &fixture->caller };

	read_this_program(&program);
	put(fixture, program.id, NULL, bytes_view_of(&program.elf), MIB, &stored);
	request.argument = program.id;
	http_response_init(&head);
	api_debuginfod(&fixture->context, &request, &head);
	assert_int_equal(head.status, 200);
	assert_int_equal(head.file, -1);
	assert_int_equal(head.head_bytes, program.elf.size);
	assert_non_null(http_response_find_header(&head, "X-DEBUGINFOD-SIZE"));

	request.argument = "0011223344556677";
	http_response_init(&gone);
	api_debuginfod(&fixture->context, &request, &gone);
	assert_error(&gone, 404, "0011223344556677");
}

static void downloads_beyond_the_limit_get_503(void **state)
{
	enum { MAX_DOWNLOADS = 32, MAX_EXPANSIONS = 4 };
	struct api_fixture *fixture = *state;
	scoped(program_release) struct program program;
	scoped(http_response_release) struct http_response stored;
	struct http_response sent[MAX_DOWNLOADS + 1];

	read_this_program(&program);
	put(fixture, program.id, NULL, bytes_view_of(&program.elf), MIB, &stored);
	/* An answer counts until it is released, which happens when it has been sent. */
	for (size_t i = 0; i < ARRAY_SIZE(sent); i++)
		ask_about(fixture, api_debuginfod, program.id, &sent[i]);
	for (size_t i = 0; i < MAX_DOWNLOADS; i++)
		assert_int_equal(sent[i].status, 200);
	assert_error(&sent[MAX_DOWNLOADS], 503, "try again");
	assert_string_equal(http_response_find_header(&sent[MAX_DOWNLOADS], "Retry-After"), "5");
	for (size_t i = 0; i < ARRAY_SIZE(sent); i++)
		http_response_release(&sent[i]);
	assert_int_equal(fixture->context.n_downloads, 0);

	fixture->context.n_expansions = MAX_EXPANSIONS;
	ask_about(fixture, api_debuginfod, program.id, &sent[0]);
	assert_error(&sent[0], 503, "try again");
	http_response_release(&sent[0]);
	fixture->context.n_expansions--;
	ask_about(fixture, api_debuginfod, program.id, &sent[0]);
	assert_int_equal(sent[0].status, 200);
	http_response_release(&sent[0]);
	assert_int_equal(fixture->context.n_expansions, MAX_EXPANSIONS - 1);
	assert_int_equal(fixture->context.n_downloads, 0);
}

static void the_token_decides_the_origin_of_an_upload(void **state)
{
	static const struct {
		unsigned int scopes;
		const char *header;
		const char *origin;
	} cases[] = {
		{ HTTP_SCOPE_ALL, NULL, "pipeline" },
		{ HTTP_SCOPE_ALL, "agent", "agent" },
		{ HTTP_SCOPE_UPLOAD, NULL, "pipeline" },
		{ HTTP_SCOPE_UPLOAD | HTTP_SCOPE_INGEST, "agent", "agent" },
		{ HTTP_SCOPE_INGEST, NULL, "agent" },
		{ HTTP_SCOPE_INGEST, "pipeline", "agent" },
	};
	struct api_fixture *fixture = *state;
	scoped(program_release) struct program program;

	read_this_program(&program);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(http_response_release) struct http_response response, removed;
		scoped(json_decrefp) json_t *json = NULL;

		fixture->caller.scopes = cases[i].scopes;
		put(fixture, program.id, cases[i].header, bytes_view_of(&program.elf), MIB,
		    &response);
		json = json_of(&response);
		assert_string_equal(json_text_at(json_object_get(json, "debuginfo"), "origin"),
				    cases[i].origin);
		ask_about(fixture, api_debuginfo_delete, program.id, &removed);
		assert_int_equal(removed.status, 200);
	}
}

static void a_second_upload_that_is_not_better_is_not_stored(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(program_release) struct program program;
	scoped(http_response_release) struct http_response first, second;
	scoped(json_decrefp) json_t *json = NULL;

	read_this_program(&program);
	put(fixture, program.id, NULL, bytes_view_of(&program.elf), MIB, &first);
	put(fixture, program.id, "agent", bytes_view_of(&program.elf), MIB, &second);
	json = json_of(&second);
	assert_int_equal(second.status, 200);
	assert_true(json_is_false(json_object_get(json, "stored")));
	assert_string_not_equal(json_text_at(json, "message"), "");
	assert_int_equal(fixture->context.metrics[API_METRIC_UPLOADS_NOT_BETTER], 1);
}

static void invalid_uploads_are_refused(void **state)
{
	static const char id[] = "0123456789abcdef0123456789abcdef01234567";
	struct api_fixture *fixture = *state;
	scoped(program_release) struct program program;

	read_this_program(&program);
	{
		const struct {
			const char *id;
			struct bytes_view body;
			unsigned int status;
			const char *reason;
		} cases[] = {
			{ "nothex", { (const uint8_t *)"x", 1 }, 400, "'nothex' is no build ID" },
			{ "abc", { (const uint8_t *)"x", 1 }, 400, "'abc' is no build ID" },
			{ id, { (const uint8_t *)"int main;", 9 }, 400, "" },
			{ id, { (const uint8_t *)"", 0 }, 400, "" },
			{ program.id, { program.elf.data, program.elf.size / 2 }, 400, "" },
			{ id, bytes_view_of(&program.elf), 400, "" },
		};

		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			scoped(http_response_release) struct http_response response;

			put(fixture, cases[i].id, NULL, cases[i].body, MIB, &response);
			assert_error(&response, cases[i].status, cases[i].reason);
		}
		assert_int_equal(fixture->context.metrics[API_METRIC_UPLOADS_REFUSED],
				 ARRAY_SIZE(cases));
	}
}

static void the_policy_of_the_server_is_enforced(void **state)
{
	static const char id[] = "0123456789abcdef";
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response from_agent, declared, longer;
	const struct http_request request = { .argument = id, .caller = &fixture->caller };
	const uint8_t data[300] = {};
	void *stream;

	fixture->context.agents_may_upload = false;
	put(fixture, id, "agent", (struct bytes_view){ data, sizeof(data) }, MIB, &from_agent);
	assert_error(&from_agent, 403, "debuginfo.from_agents");

	fixture->context.max_upload_bytes = 200;
	put(fixture, id, NULL, (struct bytes_view){ data, sizeof(data) }, MIB, &declared);
	assert_error(&declared, 413, "debuginfo.max_upload_size");

	/* Without a declared length, the limit is detected while the body arrives. */
	http_response_init(&longer);
	stream = api_debuginfo_put.begin(&fixture->context, &request, UINT64_MAX, &longer);
	assert_non_null(stream);
	assert_false(api_debuginfo_put.append(stream, (struct bytes_view){ data, sizeof(data) },
					      &longer));
	api_debuginfo_put.free(stream);
	assert_error(&longer, 413, "debuginfo.max_upload_size");
}

static void an_interrupted_upload_leaves_no_file(void **state)
{
	struct api_fixture *fixture = *state;
	const struct http_request request = { .argument = "0123456789abcdef",
					      .caller = &fixture->caller };
	scoped(http_response_release) struct http_response response, list;
	void *stream;

	http_response_init(&response);
	stream = api_debuginfo_put.begin(&fixture->context, &request, UINT64_MAX, &response);
	assert_non_null(stream);
	assert_true(api_debuginfo_put.append(stream,
					     (struct bytes_view){ (const uint8_t *)"\x7f"
										   "ELF",
								  4 },
					     &response));
	api_debuginfo_put.free(stream);

	ask_about(fixture, api_debuginfo_list, "", &list);
	assert_bytes_equal_text(&list.body, "{\"debuginfo\":[]}");
	assert_int_equal(fixture->context.metrics[API_METRIC_UPLOADS_REFUSED], 1);
}

static void missing_debuginfo_is_404(void **state)
{
	static const api_handler handlers[] = { api_debuginfo_get, api_debuginfo_delete,
						api_debuginfod };

	for (size_t i = 0; i < ARRAY_SIZE(handlers); i++) {
		scoped(http_response_release) struct http_response missing, no_id;

		ask_about(*state, handlers[i], "0123456789abcdef", &missing);
		assert_error(&missing, 404, "PUT /v1/debuginfo/BUILDID");
		ask_about(*state, handlers[i], "../etc/passwd", &no_id);
		assert_error(&no_id, 400, "is no build ID");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(an_upload_is_stored_listed_sent_back_and_removed),
		API_TEST(a_head_has_the_length_without_opening_the_file),
		API_TEST(downloads_beyond_the_limit_get_503),
		API_TEST(the_token_decides_the_origin_of_an_upload),
		API_TEST(a_second_upload_that_is_not_better_is_not_stored),
		API_TEST(invalid_uploads_are_refused),
		API_TEST(the_policy_of_the_server_is_enforced),
		API_TEST(an_interrupted_upload_leaves_no_file),
		API_TEST(missing_debuginfo_is_404),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
