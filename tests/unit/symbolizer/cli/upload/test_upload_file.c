/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/upload/upload_file.h"

#include <curl/curl.h>

#include "common/file.h"
#include "tests/support/http_peer.h"
#include "tests/support/unit.h"

/*
 * The tests upload their own program to a server that the test imitates, and check requests and
 * results.
 */

#define STORED "{\"stored\": true, \"message\": \"\"}"

struct test_server {
	struct http_peer *peer;
	const char *look;        /* the answer to GET; NULL: 404 */
	unsigned int n_failures; /* PUT and POST requests that fail before one succeeds */
	unsigned int failure;    /* status of the failures; 0: close the connection */
	bool cuts_pieces;        /* receives only half of the first piece */
	struct bytes received;
	uint64_t size;
	unsigned int n_looks, n_puts, n_posts;
};

static void set_answer(struct http_peer_answer *reply, unsigned int status, const char *text)
{
	reply->status = status;
	reply->body = BYTES_INIT(MIB);
	assert_ok(bytes_append_text(&reply->body, text));
}

static void answer_offset(struct test_server *server, struct http_peer_answer *reply)
{
	char text[128];

	(void)snprintf(text, sizeof(text),
		       "{\"upload\": \"00112233445566778899aabbccddeeff\", \"offset\": %zu}",
		       server->received.size);
	set_answer(reply, 200, text);
}

static void receive_piece(struct test_server *server, const struct http_peer_request *request,
			  struct http_peer_answer *reply)
{
	size_t size = request->body.size;

	if (server->cuts_pieces) {
		server->cuts_pieces = false;
		assert_ok(bytes_append(&server->received, request->body.data, size / 2));
		reply->status = 0;
		return;
	}
	assert_ok(bytes_append(&server->received, request->body.data, size));
	if (server->received.size == server->size)
		set_answer(reply, 200, STORED);
	else
		answer_offset(server, reply);
}

static void answer(void *argument, const struct http_peer_request *request,
		   struct http_peer_answer *reply)
{
	struct test_server *server = argument;

	if (strcmp(request->method, "GET") == 0) {
		server->n_looks++;
		set_answer(reply, server->look ? 200 : 404, server->look ? server->look : "{}");
		return;
	}
	server->n_puts += strcmp(request->method, "PUT") == 0;
	server->n_posts += strcmp(request->method, "POST") == 0;
	if (server->n_failures > 0) {
		server->n_failures--;
		set_answer(reply, server->failure, "{\"error\": \"come again\"}");
	} else if (strcmp(request->method, "POST") == 0) {
		answer_offset(server, reply);
	} else if (strstr(request->path, "/uploads/")) {
		receive_piece(server, request, reply);
	} else {
		assert_ok(bytes_append(&server->received, request->body.data, request->body.size));
		set_answer(reply, 200, STORED);
	}
}

/* Uploads this program and returns the result. */
static struct upload_result upload_to(struct test_server *server,
				      const struct upload_settings *settings)
{
	scoped(client_freep) struct client *client = NULL;
	struct upload_result result;
	char url[64];
	struct connection_options options = { .server = url };

	server->received = BYTES_INIT(256 * MIB);
	assert_ok(http_peer_start(0, answer, server, &server->peer));
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", http_peer_port(server->peer));
	assert_ok(client_new(&options, &client));
	upload_file(client, settings, "/proc/self/exe", &result);
	server->peer = http_peer_stop(server->peer);
	return result;
}

static const struct upload_settings at_once = {
	.at_once_bytes = 256 * MIB,
	.piece_bytes = 256 * MIB,
	.first_wait_ns = NSEC_PER_MSEC,
};

static void assert_all_arrived(const struct test_server *server)
{
	scoped(bytes_release) struct bytes program = BYTES_INIT(256 * MIB);

	assert_ok(file_read("/proc/self/exe", &program));
	assert_int_equal(server->received.size, program.size);
	assert_memory_equal(server->received.data, program.data, program.size);
}

static uint64_t program_size(void)
{
	scoped(bytes_release) struct bytes program = BYTES_INIT(256 * MIB);

	assert_ok(file_read("/proc/self/exe", &program));
	return program.size;
}

static void a_file_is_not_sent_if_a_pipeline_uploaded_an_equally_good_one(void **state)
{
#define FILE_ROW(kind, origin, has, code)                                                          \
	"{\"kind\": \"" kind "\", \"origin\": \"" origin "\", \"has\": \"" has                     \
	"\", \"executable\": " code "}"
	static const struct {
		const char *look;
		enum upload_outcome outcome;
	} cases[] = {
		{ NULL, UPLOAD_DONE },
		{ "no JSON", UPLOAD_DONE },
		{ "{\"all\": []}", UPLOAD_DONE },
		{ "{\"all\": [" FILE_ROW("elf", "pipeline", "dwarf", "true") "]}",
		  UPLOAD_NOT_NEEDED },
		{ "{\"all\": [" FILE_ROW("elf", "agent", "dwarf", "true") "]}", UPLOAD_DONE },
		{ "{\"all\": [" FILE_ROW("elf", "upstream", "dwarf", "true") "]}", UPLOAD_DONE },
		{ "{\"all\": [" FILE_ROW("elf", "pipeline", "symbols", "true") "]}", UPLOAD_DONE },
		{ "{\"all\": [" FILE_ROW("elf", "pipeline", "dwarf", "false") "]}", UPLOAD_DONE },
		{ "{\"all\": [" FILE_ROW("source", "pipeline", "dwarf", "true") "]}", UPLOAD_DONE },
		{ "{\"all\": [" FILE_ROW("elf", "pipeline", "dwarf", "false") ", " FILE_ROW(
			  "elf", "pipeline", "symbols", "true") "]}",
		  UPLOAD_NOT_NEEDED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct test_server server = { .look = cases[i].look };
		struct upload_result result = upload_to(&server, &at_once);

		assert_int_equal(result.outcome, cases[i].outcome);
		assert_int_equal(server.n_puts, cases[i].outcome == UPLOAD_DONE);
		bytes_release(&server.received);
	}
	{
		struct upload_settings forced = at_once;
		struct test_server server = { .look = cases[3].look };

		forced.force = true;
		assert_int_equal(upload_to(&server, &forced).outcome, UPLOAD_DONE);
		assert_int_equal(server.n_looks, 0);
		bytes_release(&server.received);
	}
}

static void a_request_to_a_busy_server_is_repeated(void **state)
{
	static const unsigned int statuses[] = { 503, 502, 429 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct test_server server = { .n_failures = 2, .failure = statuses[i] };

		assert_int_equal(upload_to(&server, &at_once).outcome, UPLOAD_DONE);
		assert_int_equal(server.n_puts, 3);
		assert_all_arrived(&server);
		bytes_release(&server.received);
	}
}

static void a_refused_request_is_not_repeated_and_its_message_is_returned(void **state)
{
	static const unsigned int statuses[] = { 400, 401, 403, 413, 500, 507 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct test_server server = { .n_failures = 9, .failure = statuses[i] };
		struct upload_result result = upload_to(&server, &at_once);

		assert_int_equal(result.outcome, UPLOAD_FAILED);
		assert_non_null(strstr(result.message, "come again"));
		assert_int_equal(server.n_puts, 1);
		bytes_release(&server.received);
	}
}

static void an_upload_in_pieces_continues_where_the_connection_broke(void **state)
{
	struct upload_settings settings = at_once;
	struct test_server server = { .cuts_pieces = true, .size = program_size() };
	struct upload_result result;

	(void)state;
	settings.at_once_bytes = 0;
	settings.piece_bytes = server.size / 3;
	result = upload_to(&server, &settings);
	assert_int_equal(result.outcome, UPLOAD_DONE);
	assert_all_arrived(&server);
	/* The client requests the offset once more, and sends the lost half again. */
	assert_int_equal(server.n_posts, 2);
	assert_true(server.n_puts >= 4);
	bytes_release(&server.received);
}

static void files_that_are_no_program_are_skipped_without_a_request(void **state)
{
	static const char *const paths[] = { "/etc/passwd", "/", "/dev/null" };
	scoped(client_freep) struct client *client = NULL;
	const struct connection_options options = { .server = "http://127.0.0.1:1" };
	struct upload_result result;

	(void)state;
	assert_ok(client_new(&options, &client));
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		upload_file(client, &at_once, paths[i], &result);
		assert_int_equal(result.outcome, UPLOAD_SKIPPED);
		assert_string_not_equal(result.message, "");
	}
	upload_file(client, &at_once, "/nowhere", &result);
	assert_int_equal(result.outcome, UPLOAD_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_not_sent_if_a_pipeline_uploaded_an_equally_good_one),
		cmocka_unit_test(a_request_to_a_busy_server_is_repeated),
		cmocka_unit_test(a_refused_request_is_not_repeated_and_its_message_is_returned),
		cmocka_unit_test(an_upload_in_pieces_continues_where_the_connection_broke),
		cmocka_unit_test(files_that_are_no_program_are_skipped_without_a_request),
	};

	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
