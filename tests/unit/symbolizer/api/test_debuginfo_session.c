/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Uploads this test program in pieces, uploads source files, and checks stored files.
 */

#include <inttypes.h>

#include "tests/unit/symbolizer/api/uploaded_program.h"

static void ask(struct api_fixture *fixture, api_handler handler, const char *id, const char *rest,
		const char *body, struct http_response *response)
{
	scoped_free char *path = NULL;
	struct http_request request = { .argument = id, .caller = &fixture->caller };

	assert_true(asprintf(&path, "/v1/debuginfo/%s%s", id, rest) > 0);
	request.path = path;
	if (body)
		request.body =
			(struct bytes_view){ .data = (const uint8_t *)body, .size = strlen(body) };
	http_response_init(response);
	handler(&fixture->context, &request, response);
}

static void begin_upload(struct api_fixture *fixture, const struct program *program,
			 struct http_response *response)
{
	char body[256];

	(void)snprintf(body, sizeof(body), "{\"size_bytes\": %zu, \"sha256\": \"%s\"}",
		       program->elf.size, program->sha256);
	ask(fixture, api_debuginfo_uploads_post, program->id, "/uploads", body, response);
}

/* Returns the path, below the build ID, of the upload that @response began. */
static char *rest_of(const struct http_response *response)
{
	scoped(json_decrefp) json_t *json = json_of(response);
	char *rest = NULL;

	assert_int_equal(response->status, 200);
	assert_true(asprintf(&rest, "/uploads/%s", json_text_at(json, "upload")) > 0);
	return rest;
}

/* Sends bytes [first, last] with a matching Content-Range, or with @range. */
static void put_piece(struct api_fixture *fixture, const struct program *program, const char *rest,
		      size_t first, size_t last, const char *range, struct http_response *response)
{
	scoped_free char *path = NULL;
	char text[96];
	const struct http_field header = { "Content-Range", range ? range : text };
	struct http_request request = { .method = HTTP_PUT,
					.argument = program->id,
					.headers = &header,
					.n_headers = 1,
					.caller = &fixture->caller };
	void *stream;

	(void)snprintf(text, sizeof(text), "bytes %zu-%zu/%zu", first, last, program->elf.size);
	assert_true(asprintf(&path, "/v1/debuginfo/%s%s", program->id, rest) > 0);
	request.path = path;
	http_response_init(response);
	stream = api_debuginfo_uploads_put.begin(&fixture->context, &request, last - first + 1,
						 response);
	if (!stream)
		return;
	if (last < first ||
	    api_debuginfo_uploads_put.append(
		    stream, (struct bytes_view){ program->elf.data + first, last - first + 1 },
		    response))
		api_debuginfo_uploads_put.finish(stream, &request, response);
	api_debuginfo_uploads_put.free(stream);
}

static void pieces_become_a_file(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response begun, first, where, last, gone, again;
	scoped(program_release) struct program program;
	scoped(json_decrefp) json_t *done = NULL;
	scoped_free char *rest = NULL;
	char offset[32];
	size_t half;

	read_this_program(&program);
	half = program.elf.size / 2;
	(void)snprintf(offset, sizeof(offset), "%zu", half);
	begin_upload(fixture, &program, &begun);
	rest = rest_of(&begun);
	put_piece(fixture, &program, rest, 0, half - 1, NULL, &first);
	assert_int_equal(first.status, 200);
	assert_string_equal(http_response_find_header(&first, "Upload-Offset"), offset);
	ask(fixture, api_debuginfo_uploads_get, program.id, rest, NULL, &where);
	assert_string_equal(http_response_find_header(&where, "Upload-Offset"), offset);
	put_piece(fixture, &program, rest, half, program.elf.size - 1, NULL, &last);
	done = json_of(&last);
	assert_true(json_is_true(json_object_get(done, "stored")));
	assert_string_equal(json_text_at(json_object_get(done, "debuginfo"), "sha256"),
			    program.sha256);
	assert_int_equal(fixture->context.metrics[API_METRIC_UPLOADS_STORED], 1);
	ask(fixture, api_debuginfo_uploads_get, program.id, rest, NULL, &gone);
	assert_error(&gone, 404, "no such upload");
	begin_upload(fixture, &program, &again);
	assert_int_equal(again.status, 200);
	assert_null(http_response_find_header(&again, "Upload-Offset"));
}

static void a_piece_with_a_wrong_offset_gets_the_expected_one(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(program_release) struct program program;
	scoped(http_response_release) struct http_response begun, early, late;
	scoped_free char *rest = NULL;
	static const char *const ranges[] = { "",
					      "bytes",
					      "bytes 0-9",
					      "bytes 9-0/10",
					      "bytes 0-9/1",
					      "bytes 0-9/999999999999",
					      "bytes */1",
					      "octets 0-1/2" };

	read_this_program(&program);
	begin_upload(fixture, &program, &begun);
	rest = rest_of(&begun);
	put_piece(fixture, &program, rest, 0, 99, NULL, &early);
	assert_int_equal(early.status, 200);
	put_piece(fixture, &program, rest, 50, 149, NULL, &late);
	assert_error(&late, 409, "begins at 100");
	assert_string_equal(http_response_find_header(&late, "Upload-Offset"), "100");
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		scoped(http_response_release) struct http_response response;

		put_piece(fixture, &program, rest, 100, 199, ranges[i], &response);
		assert_error(&response, 400, "Content-Range");
	}
}

static void invalid_sessions_are_refused(void **state)
{
	static const struct {
		const char *body;
		unsigned int status;
		const char *says;
	} cases[] = {
		{ "", 400, "size_bytes" },
		{ "[]", 400, "size_bytes" },
		{ "{\"size_bytes\": -1}", 400, "size_bytes" },
		{ "{\"size_bytes\": 10}", 400, "sha256" },
		{ "{\"size_bytes\": 10, \"sha256\": \"00\"}", 400, "sha256" },
		{ "{\"size_bytes\": 10, \"sha256\": "
		  "\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\","
		  " \"source_path\": \"/..\"}",
		  400, "source_path" },
		{ "{\"size_bytes\": 1000000000, \"sha256\": "
		  "\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"}",
		  413, "max_upload_size" },
	};
	struct api_fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(http_response_release) struct http_response response;

		ask(fixture, api_debuginfo_uploads_post, "0123456789abcdef", "/uploads",
		    cases[i].body, &response);
		assert_error(&response, cases[i].status, cases[i].says);
	}
}

static void an_agent_cannot_continue_an_upload_of_a_pipeline(void **state)
{
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response begun, piece, look, removed;
	scoped(program_release) struct program program;
	scoped_free char *rest = NULL;

	read_this_program(&program);
	begin_upload(fixture, &program, &begun);
	rest = rest_of(&begun);
	fixture->caller.scopes = HTTP_SCOPE_INGEST;
	put_piece(fixture, &program, rest, 0, 9, NULL, &piece);
	assert_error(&piece, 404, "no such upload");
	ask(fixture, api_debuginfo_uploads_get, program.id, rest, NULL, &look);
	assert_error(&look, 404, "no such upload");
	fixture->caller.scopes = HTTP_SCOPE_UPLOAD;
	ask(fixture, api_debuginfo_uploads_delete, program.id, rest, NULL, &removed);
	assert_int_equal(removed.status, 200);
}

static void a_source_file_is_uploaded_and_checked_too(void **state)
{
	static const char id[] = "0123456789abcdef";
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response put, list, check, missing;
	scoped(json_decrefp) json_t *listed = NULL, *checked = NULL;
	const struct http_request request = {
		.method = HTTP_PUT,
		.path = "/v1/debuginfo/0123456789abcdef/source/src/../src/a.c",
		.argument = id,
		.caller = &fixture->caller,
	};
	const json_t *entry;
	void *stream;

	ask(fixture, api_debuginfo_check, id, "/check", NULL, &missing);
	assert_error(&missing, 404, id);
	http_response_init(&put);
	stream = api_debuginfo_put_source.begin(&fixture->context, &request, 6, &put);
	assert_non_null(stream);
	assert_true(api_debuginfo_put_source.append(
		stream, (struct bytes_view){ (const uint8_t *)"int a;", 6 }, &put));
	api_debuginfo_put_source.finish(stream, &request, &put);
	api_debuginfo_put_source.free(stream);
	assert_int_equal(put.status, 200);

	ask(fixture, api_debuginfo_get, id, "", NULL, &list);
	listed = json_of(&list);
	entry = json_array_get(json_object_get(listed, "all"), 0);
	assert_string_equal(json_text_at(entry, "kind"), "source");
	assert_int_equal(json_number_at(entry, "files"), 1);
	ask(fixture, api_debuginfo_check, id, "/check", NULL, &check);
	checked = json_of(&check);
	assert_int_equal(json_number_at(checked, "files"), 1);
	assert_int_equal(json_number_at(checked, "damaged"), 0);
	assert_int_equal(json_number_at(checked, "size_bytes"), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(pieces_become_a_file),
		API_TEST(a_piece_with_a_wrong_offset_gets_the_expected_one),
		API_TEST(invalid_sessions_are_refused),
		API_TEST(an_agent_cannot_continue_an_upload_of_a_pipeline),
		API_TEST(a_source_file_is_uploaded_and_checked_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
