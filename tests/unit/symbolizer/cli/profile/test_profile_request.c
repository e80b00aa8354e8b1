/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/profile/profile_request.h"

#include "tests/support/http_peer.h"
#include "tests/support/unit.h"

#define METHOD_SIZE 16

static void a_request_lacks_keys_that_were_not_given(void **state)
{
	static const struct selection_options selection = {
		.event = EVENT_OFF_CPU,
		.range = { .range = { .since_s = 100, .until_s = 200 } },
	};
	struct bytes out = BYTES_INIT(KIB);

	(void)state;
	assert_ok(profile_request_write(&selection, PROFILE_NODES, 0, &out));
	assert_bytes_equal_text(&out, "{\"profile_event_type\":\"off-cpu\","
				      "\"profile_language_type\":\"eBPF\",\"function_starts\":true,"
				      "\"time_start\":100,"
				      "\"time_end\":200,\"format\":\"nodes\"}");
	bytes_release(&out);
}

static void a_request_holds_all_options_that_were_given(void **state)
{
	static const struct selection_options selection = {
		.service = "a\"b",
		.event = EVENT_ON_CPU,
		.filter = "host = 'x'",
		.by = "pod",
		.callees_of = "f",
		.fold_threads = true,
		.no_inlines = true,
		.range = { .range = { .since_s = 100, .until_s = 200 } },
	};
	struct bytes out = BYTES_INIT(KIB);

	(void)state;
	assert_ok(profile_request_write(&selection, PROFILE_COLUMNS, 500, &out));
	assert_bytes_equal_text(
		&out,
		"{\"app_service\":\"a\\\"b\",\"profile_event_type\":\"on-cpu\","
		"\"profile_language_type\":\"eBPF\",\"function_starts\":true,"
		"\"time_start\":100,\"time_end\":200,\"tag_filter\":\"host = 'x'\","
		"\"group_by\":\"pod\",\"callees_of\":\"f\",\"fold_threads\":true,\"inlines\":false,"
		"\"max_nodes\":500,\"debug\":true,"
		"\"format\":\"columns\"}");
	bytes_release(&out);
}

static void a_path_excludes_its_end_and_lacks_options_that_were_not_given(void **state)
{
	static const struct connection_options connection = { .server = "http://127.0.0.1:1" };
	static const struct selection_options selection = {
		.service = "a&b",
		.event = EVENT_ON_CPU,
		.by = "host",
		.callers_of = "f g",
		.range = { .range = { .since_s = 100, .until_s = 200 } },
	};
	scoped(client_freep) struct client *client = NULL;
	struct bytes out = BYTES_INIT(KIB);

	(void)state;
	assert_ok(client_new(&connection, &client));
	assert_ok(profile_path_write(client, &selection, 500, &out));
	assert_string_equal(
		(const char *)out.data,
		"/v1/flame?service=a%26b&event=on-cpu&filter=&group_by=host&"
		"callers_of=f%20g&callees_of=&fold_threads=&inlines=&since=100&until=201&"
		"max_nodes=500&format=columns");
	bytes_release(&out);
}

/* Answers without data, and stores the method of the request. */
static void keep_method(void *argument, const struct http_peer_request *request,
			struct http_peer_answer *answer)
{
	(void)snprintf(argument, METHOD_SIZE, "%s", request->method);
	answer->status = 200;
	answer->body = BYTES_INIT(KIB);
	assert_ok(bytes_append_text(&answer->body, "{\"DESCRIPTION\":\"none\",\"result\":{}}"));
}

static void a_filter_too_long_for_a_url_is_posted(void **state)
{
	static const struct {
		size_t filter_size;
		const char *method;
	} cases[] = { { 1000, "GET" }, { 60000, "POST" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped_free char *filter = calloc(1, cases[i].filter_size + 1);
		struct selection_options selection = { .service = "a",
						       .event = EVENT_ON_CPU,
						       .filter = filter };
		scoped(client_freep) struct client *client = NULL;
		char method[METHOD_SIZE] = "", server[64];
		struct call_tree *tree = NULL;
		struct http_peer *peer;

		assert_non_null(filter);
		memset(filter, 'x', cases[i].filter_size);
		assert_ok(http_peer_start(0, keep_method, method, &peer));
		(void)snprintf(server, sizeof(server), "http://127.0.0.1:%u", http_peer_port(peer));
		assert_ok(client_new(&(struct connection_options){ .server = server }, &client));
		assert_int_equal(profile_fetch_tree(client, &selection, 0, &tree), 0);
		http_peer_stop(peer);
		assert_string_equal(method, cases[i].method);
	}
}

static void words_of_by_are_converted_to_tags(void **state)
{
	(void)state;
	assert_string_equal(tag_of_word("process"), SELECTION_BY_PROCESS);
	assert_string_equal(tag_of_word("pid"), SELECTION_BY_PROCESS);
	assert_string_equal(tag_of_word("container"), "container_id");
	assert_string_equal(tag_of_word("host"), "host");
	assert_string_equal(tag_of_word("rack"), "rack");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_lacks_keys_that_were_not_given),
		cmocka_unit_test(a_request_holds_all_options_that_were_given),
		cmocka_unit_test(a_path_excludes_its_end_and_lacks_options_that_were_not_given),
		cmocka_unit_test(a_filter_too_long_for_a_url_is_posted),
		cmocka_unit_test(words_of_by_are_converted_to_tags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
