/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to clients of OTLP. The fake store returns a fixed outcome. */
#include "common/file.h"
#include "proto/otlp.pb-c.h"
#include "symbolizer/api/otlp_error.h"
#include "tests/unit/symbolizer/api/api_fixture.h"

/* The build defines it for the test. */
#ifndef CORPUS
#define CORPUS "tests/fuzz/corpus/"
#endif

struct writing_store {
	struct store store;
	int outcome; /* returned by every write */
	uint32_t n_rows;
};

static int write_batch(struct store *store, const char *tenant, const struct batch *batch,
		       struct arena *arena, struct store_missing *ret_missing)
{
	struct writing_store *writing = container_of(store, struct writing_store, store);

	(void)tenant;
	(void)arena;
	(void)ret_missing;
	writing->n_rows += batch->n_rows;
	return writing->outcome;
}

static const struct store_operations writing_operations = { .write = write_batch };

/* The profiles of the files end at 2026-11-27 11:59:58 UTC. */
static uint64_t corpus_wall_ns(const struct clock *clock)
{
	(void)clock;
	return UINT64_C(1795780800) * NSEC_PER_SEC;
}

static const struct clock corpus_clock = { fixture_monotonic_ns, corpus_wall_ns };

static void send_request(struct api_fixture *fixture, struct writing_store *store, const char *type,
			 const char *encoding, struct bytes_view body,
			 struct http_response *response)
{
	scoped(ingest_freep) struct ingest *ingest = NULL;
	const struct http_field headers[] = { { "Content-Type", type },
					      { "Content-Encoding", encoding } };
	const struct http_request request = {
		.path = "/v1development/profiles",
		.argument = "",
		.headers = headers,
		.n_headers = encoding ? 2 : 1,
		.body = body,
		.caller = &fixture->caller,
	};

	store->store.operations = &writing_operations;
	assert_ok(ingest_new(&store->store, fixture->context.debuginfo, &corpus_clock, &ingest));
	fixture->context.clock = &corpus_clock;
	fixture->context.ingest = ingest;
	http_response_init(response);
	response->error_style = otlp_error;
	api_import_otlp(&fixture->context, &request, response);
	fixture->context.ingest = NULL;
}

/* Asserts that the body is a google.rpc.Status. */
static void assert_status(const struct http_response *response, unsigned int status, int code,
			  const char *part)
{
	Otlp__Status *body = otlp__status__unpack(NULL, response->body.size, response->body.data);

	assert_non_null(body);
	assert_string_equal(response->content_type, "application/x-protobuf");
	if (response->status != status || body->code != code || !strstr(body->message, part))
		fail_msg("%u, code %d: %s", response->status, body->code, body->message);
	otlp__status__free_unpacked(body, NULL);
}

static void a_request_is_stored_in_either_encoding(void **state)
{
	static const struct {
		const char *file, *type, *answer;
	} cases[] = {
		{ CORPUS "import_otlp/v1.11.pb", "application/x-protobuf", "" },
		{ CORPUS "import_otlp/v1.5.pb", "application/x-protobuf; charset=x", "" },
		{ CORPUS "proto_json/otlp-v1.11.json", "application/json", "{}" },
	};
	struct api_fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(http_response_release) struct http_response response;
		scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
		struct writing_store store = { .outcome = STORE_STORED };

		assert_ok(file_read(cases[i].file, &body));
		send_request(fixture, &store, cases[i].type, NULL, bytes_view_of(&body), &response);
		assert_int_equal(response.status, 200);
		assert_bytes_equal_text(&response.body, cases[i].answer);
		assert_true(strncmp(cases[i].type, response.content_type,
				    strlen(response.content_type)) == 0);
		assert_true(store.n_rows > 0);
	}
	assert_int_equal(fixture->context.metrics[API_METRIC_INGEST_STORED], 3);
}

static void errors_are_a_status_in_the_encoding_of_the_request(void **state)
{
	static const uint8_t wrong[] = { 0x0a, 0x05, 0x01 };
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response binary, json, other, encoded;
	struct writing_store store = { .outcome = STORE_STORED };
	const struct bytes_view body = { wrong, sizeof(wrong) };
	json_t *status;

	send_request(fixture, &store, "application/x-protobuf", NULL, body, &binary);
	assert_status(&binary, 400, 3, "request: no valid protobuf message");
	send_request(fixture, &store, "application/json", NULL, body, &json);
	assert_int_equal(json.status, 400);
	status = json_of(&json);
	assert_int_equal(json_number_at(status, "code"), 3);
	assert_non_null(strstr(json_text_at(status, "message"), "JSON"));
	json_decref(status);
	send_request(fixture, &store, "text/plain", NULL, body, &other);
	assert_status(&other, 415, 3, "application/x-protobuf");
	send_request(fixture, &store, "application/x-protobuf", "zstd", body, &encoded);
	assert_status(&encoded, 415, 3, "gzip");
	assert_int_equal(store.n_rows, 0);
}

/* The stack of the first sample is in no table. */
static void a_rejected_profile_is_counted_and_reported(void **state)
{
	static const char json[] =
		"{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":["
		"{\"sampleType\":{\"typeStrindex\":1,\"unitStrindex\":2},"
		"\"samples\":[{\"stackIndex\":9,\"values\":[1]}]},"
		"{\"sampleType\":{\"typeStrindex\":1,\"unitStrindex\":2},"
		"\"samples\":[{\"values\":[5]}]}]}]}],"
		"\"dictionary\":{\"stringTable\":[\"\",\"cpu\",\"nanoseconds\"]}}";
	struct api_fixture *fixture = *state;
	scoped(http_response_release) struct http_response response;
	struct writing_store store = { .outcome = STORE_STORED };
	json_t *answer, *partial;

	send_request(fixture, &store, "application/json", NULL,
		     (struct bytes_view){ (const uint8_t *)json, strlen(json) }, &response);
	assert_int_equal(response.status, 200);
	answer = json_of(&response);
	partial = json_object_get(answer, "partialSuccess");
	assert_string_equal(json_text_at(partial, "rejectedProfiles"), "1");
	assert_non_null(strstr(json_text_at(partial, "errorMessage"), "stack 9 of 0"));
	json_decref(answer);
	assert_int_equal(store.n_rows, 1);
	assert_int_equal(fixture->context.metrics[API_METRIC_INGEST_BAD], 1);
}

/* Clients of OTLP drop a request after 507. */
static void after_a_failure_of_the_store_the_client_may_send_again(void **state)
{
	static const struct {
		int error;
		unsigned int status;
		int code;
	} cases[] = { { -ENOSPC, 503, 14 }, { -EIO, 503, 14 }, { -EDQUOT, 429, 8 } };
	struct api_fixture *fixture = *state;
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);

	assert_ok(file_read(CORPUS "import_otlp/v1.11.pb", &body));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(http_response_release) struct http_response response;
		struct writing_store store = { .outcome = cases[i].error };

		send_request(fixture, &store, "application/x-protobuf", NULL, bytes_view_of(&body),
			     &response);
		assert_status(&response, cases[i].status, cases[i].code, "");
		assert_non_null(http_response_find_header(&response, "Retry-After"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(a_request_is_stored_in_either_encoding),
		API_TEST(errors_are_a_status_in_the_encoding_of_the_request),
		API_TEST(a_rejected_profile_is_counted_and_reported),
		API_TEST(after_a_failure_of_the_store_the_client_may_send_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
