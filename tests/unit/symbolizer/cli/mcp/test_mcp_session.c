/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/mcp/mcp_session.h"

#include <jansson.h>

#include "tests/support/unit.h"

/* A command that prints its name and, unless it is "services", fails. */
static int run_services_only(char *const *arguments, struct command_output *ret_output)
{
	const bool succeeds = strcmp(arguments[1], "services") == 0;

	if (strcmp(arguments[1], "hosts") == 0)
		return -EAGAIN;
	ret_output->out = BYTES_INIT(KIB);
	ret_output->messages = BYTES_INIT(KIB);
	(void)bytes_append_text(&ret_output->out, arguments[1]);
	(void)bytes_append_text(&ret_output->messages, succeeds ? "\x1b" : "; no server");
	ret_output->exit_status = succeeds ? 0 : 1;
	return 0;
}

static void answer(const char *message, struct bytes *out)
{
	const struct mcp_session session = { .run = run_services_only };

	out->size = 0;
	assert_ok(mcp_session_answer(
		&session, (struct bytes_view){ (const uint8_t *)message, strlen(message) }, out));
}

static void messages_get_the_answers_of_the_protocol(void **state)
{
#define RPC  "{\"jsonrpc\":\"2.0\","
#define CALL RPC "\"id\":1,\"method\":\"tools/call\",\"params\":"
#define TEXT(text, is_error)                                                                       \
	RPC "\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text                \
	    "\"}],\"isError\":" is_error "}}\n"
#define ERROR(id, code, message)                                                                   \
	RPC "\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" message "\"}}\n"
#define NO_REQUEST                                                                                 \
	ERROR("null", "-32600",                                                                    \
	      "not a request of JSON-RPC 2.0: it has no method, or its id is neither a "           \
	      "string nor a number")
	static const struct {
		const char *message;
		const char *expected;
	} cases[] = {
		{ RPC "\"id\":\"x\",\"method\":\"ping\"}", RPC "\"id\":\"x\",\"result\":{}}\n" },
		{ RPC "\"method\":\"notifications/initialized\"}", "" },
		{ RPC "\"id\":7,\"result\":{}}", "" },
		{ RPC "\"id\":7,\"method\":\"resources/list\"}",
		  ERROR("7", "-32601", "this server has no such method") },
		{ "{", ERROR("null", "-32700", "the message is no JSON") },
		{ "7", NO_REQUEST },
		{ "[]", NO_REQUEST },
		{ RPC "\"id\":null,\"method\":\"ping\"}", NO_REQUEST },
		{ RPC "\"id\":{},\"method\":\"ping\"}", NO_REQUEST },
		{ "[" RPC "\"id\":1,\"method\":\"ping\"}," RPC "\"method\":\"x\"}]",
		  "[" RPC "\"id\":1,\"result\":{}}]\n" },
		{ "[" RPC "\"method\":\"x\"}]", "" },
		{ CALL "{\"name\":\"services\"}}", TEXT("services\\u001b", "false") },
		{ CALL "{\"name\":\"processes\",\"arguments\":{}}}",
		  TEXT("ps; no server", "true") },
		{ CALL "{\"name\":\"hosts\"}}",
		  TEXT("cannot run the command 'hosts': Resource temporarily unavailable",
		       "true") },
		{ CALL "{\"name\":\"top\"}}", TEXT("the argument 'service' is missing", "true") },
		{ CALL "{\"name\":\"rm\"}}",
		  ERROR("1", "-32602", "no tool has this name: see tools/list") },
		{ CALL "{}}", ERROR("1", "-32602", "no tool has this name: see tools/list") },
	};
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		answer(cases[i].message, &out);
		assert_bytes_equal_text(&out, cases[i].expected);
	}
}

/* The version of the server's answer to a client that asks for @asked. */
static void assert_version(const char *asked, const char *expected)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);
	char message[256];
	json_t *root, *result;

	(void)snprintf(message, sizeof(message),
		       RPC "\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
			   "\"%s\"}}",
		       asked);
	answer(message, &out);
	root = json_loadb((const char *)out.data, out.size, 0, NULL);
	result = json_object_get(root, "result");
	assert_string_equal(json_string_value(json_object_get(result, "protocolVersion")),
			    expected);
	assert_true(
		json_is_object(json_object_get(json_object_get(result, "capabilities"), "tools")));
	json_decref(root);
}

static void the_version_is_the_clients_or_the_newest(void **state)
{
	(void)state;
	assert_version("2024-11-05", "2024-11-05");
	assert_version("2025-06-18", "2025-06-18");
	assert_version("2031-01-01", "2025-11-25");
}

static int run_too_long(char *const *arguments, struct command_output *ret_output)
{
	(void)arguments;
	*ret_output = (struct command_output){ .out = BYTES_INIT(KIB),
					       .messages = BYTES_INIT(KIB),
					       .exit_status = -1,
					       .is_cut = true };
	return bytes_append_text(&ret_output->out, "a row");
}

static void an_answer_says_that_it_is_cut_and_that_the_command_was_ended(void **state)
{
	static const char message[] = CALL "{\"name\":\"services\"}}";
	const struct mcp_session session = { .run = run_too_long };
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);

	(void)state;
	assert_ok(mcp_session_answer(
		&session, (struct bytes_view){ (const uint8_t *)message, strlen(message) }, &out));
	assert_bytes_equal_text(
		&out,
		TEXT("a row\\n[the rest was left out: ask for fewer rows, or for a narrower "
		     "filter]\\nthe command was ended, after at most 120 s: ask for a shorter "
		     "time range\\n",
		     "true"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_get_the_answers_of_the_protocol),
		cmocka_unit_test(the_version_is_the_clients_or_the_newest),
		cmocka_unit_test(an_answer_says_that_it_is_cut_and_that_the_command_was_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
