/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/mcp/mcp_session.h"

#include <errno.h>
#include <string.h>

#include "symbolizer/cli/mcp/mcp_tools.h"
#include "symbolizer/cli/options/exit_code.h"
#include "symbolizer/cli/print/scoped_json.h"

/* Codes of JSON-RPC 2.0, section 5.1. */
enum rpc_error {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
};

/* The newest first. What we use of the protocol is the same in all of them. */
static const char *const versions[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" };

static const char instructions[] =
	"Hearth has profiles of the CPU time and the waits of all processes of a fleet of hosts, "
	"and what other profilers send to it. Begin with the tool services; then top or flame with "
	"a service show the functions in which it spends time, diff shows what changed, and "
	"why_unresolved says which code has no function names. Times are those of the last 15 "
	"minutes unless a call names a range.";

struct request {
	const struct mcp_session *session;
	const json_t *id; /* NULL: a notification, which gets no answer */
	const json_t *params;
	struct json_writer *json;
};

/* ---- answers -------------------------------------------------------------------------------- */

/* Begins an answer: the caller writes the value of "result" or "error". */
static int answer_begin(const struct request *request, const char *key)
{
	char *id = request->id ? json_dumps(request->id, JSON_ENCODE_ANY | JSON_COMPACT)
			       : strdup("null");

	if (!id)
		return -ENOMEM;
	json_object_begin(request->json);
	json_key_text(request->json, "jsonrpc", "2.0");
	json_key(request->json, "id");
	json_raw(request->json, (struct bytes_view){ (const uint8_t *)id, strlen(id) });
	json_key(request->json, key);
	free(id);
	return 0;
}

static int answer_error(const struct request *request, enum rpc_error code, const char *message)
{
	int r = answer_begin(request, "error");

	if (r < 0)
		return r;
	json_object_begin(request->json);
	json_key_int(request->json, "code", code);
	json_key_text(request->json, "message", message);
	json_object_end(request->json);
	json_object_end(request->json);
	return 0;
}

/* ---- methods -------------------------------------------------------------------------------- */

/* Answers with the version of the client if we know it, and with the newest otherwise. */
static int initialize(const struct request *request)
{
	const char *asked = json_string_value(json_object_get(request->params, "protocolVersion"));
	const char *version = versions[0];
	struct json_writer *json = request->json;
	int r = answer_begin(request, "result");

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(versions) && asked; i++)
		if (strcmp(versions[i], asked) == 0)
			version = versions[i];
	json_object_begin(json);
	json_key_text(json, "protocolVersion", version);
	json_key(json, "capabilities");
	json_object_begin(json);
	json_key(json, "tools");
	json_object_begin(json);
	json_object_end(json);
	json_object_end(json);
	json_key(json, "serverInfo");
	json_object_begin(json);
	json_key_text(json, "name", "hearth");
	json_key_text(json, "version", HEARTH_VERSION);
	json_object_end(json);
	json_key_text(json, "instructions", instructions);
	json_object_end(json);
	json_object_end(json);
	return 0;
}

static int ping(const struct request *request)
{
	int r = answer_begin(request, "result");

	if (r < 0)
		return r;
	json_object_begin(request->json);
	json_object_end(request->json);
	json_object_end(request->json);
	return 0;
}

static int list_tools(const struct request *request)
{
	int r = answer_begin(request, "result");

	if (r < 0)
		return r;
	json_object_begin(request->json);
	json_key(request->json, "tools");
	mcp_tools_write(request->json);
	json_object_end(request->json);
	json_object_end(request->json);
	return 0;
}

/* The result of a call is one text. With @is_error the assistant reads it as the reason. */
static int answer_call(const struct request *request, const struct bytes *text, bool is_error)
{
	struct json_writer *json = request->json;
	int r = bytes_error(text) < 0 ? bytes_error(text) : answer_begin(request, "result");

	if (r < 0)
		return r;
	json_object_begin(json);
	json_key(json, "content");
	json_array_begin(json);
	json_object_begin(json);
	json_key_text(json, "type", "text");
	json_key(json, "text");
	json_text_sized(json, (const char *)text->data, text->size);
	json_object_end(json);
	json_array_end(json);
	json_key_bool(json, "isError", is_error);
	json_object_end(json);
	json_object_end(json);
	return 0;
}

/* Appends the table of the command, and what it wrote to stderr: notes, or the reason of a failure.
 */
static void append_output(const struct command_output *output, struct bytes *text)
{
	(void)bytes_append(text, output->out.data, output->out.size);
	if (output->is_cut)
		(void)bytes_append_text(text,
					"\n[the rest was left out: ask for fewer rows, or for a "
					"narrower filter]\n");
	(void)bytes_append(text, output->messages.data, output->messages.size);
	if (output->exit_status < 0)
		(void)bytes_append_format(text,
					  "the command was ended, after at most %u s: ask for a "
					  "shorter time range\n",
					  COMMAND_OUTPUT_MAX_S);
}

static int run_tool(const struct request *request, char *const *arguments)
{
	scoped_command_output struct command_output output = { .out = BYTES_INIT(0),
							       .messages = BYTES_INIT(0) };
	scoped(bytes_release) struct bytes text = BYTES_INIT(4 * COMMAND_OUTPUT_MAX_BYTES);
	int r = request->session->run(arguments, &output);

	if (r < 0)
		(void)bytes_append_format(&text, "cannot run the command '%s': %s", arguments[1],
					  strerror(-r));
	else
		append_output(&output, &text);
	return answer_call(
		request, &text,
		r < 0 || (output.exit_status != EXIT_OK && output.exit_status != EXIT_NO_DATA));
}

/* Wrong arguments are a failed call instead of an error, so that the assistant can correct them. */
static int call_tool(const struct request *request)
{
	const char *name = json_string_value(json_object_get(request->params, "name"));
	const struct mcp_tool *tool = name ? mcp_tool_find(name) : NULL;
	scoped(mcp_arguments_release) struct mcp_arguments arguments = {};
	scoped(bytes_release) struct bytes text = BYTES_INIT(MCP_MESSAGE_SIZE);
	char message[MCP_MESSAGE_SIZE];
	int r;

	if (!tool)
		return answer_error(request, RPC_INVALID_PARAMS,
				    "no tool has this name: see tools/list");
	r = mcp_tool_arguments(tool, json_object_get(request->params, "arguments"), &arguments,
			       message);
	if (r == 0)
		return run_tool(request, arguments.items);
	if (r != -EINVAL)
		return r;
	(void)bytes_append_text(&text, message);
	return answer_call(request, &text, true);
}

static const struct method {
	const char *name;
	int (*answer)(const struct request *request);
} methods[] = {
	{ "initialize", initialize },
	{ "ping", ping },
	{ "tools/list", list_tools },
	{ "tools/call", call_tool },
};

/* ---- messages ------------------------------------------------------------------------------- */

static int answer_method(const struct request *request, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (strcmp(methods[i].name, name) == 0)
			return methods[i].answer(request);
	return answer_error(request, RPC_METHOD_NOT_FOUND, "this server has no such method");
}

/* Whether @message is an answer to a request. We send none. */
static bool is_answer(const json_t *message)
{
	return json_object_get(message, "result") || json_object_get(message, "error");
}

static int answer_message(const struct mcp_session *session, const json_t *message,
			  struct json_writer *json)
{
	const char *method = json_string_value(json_object_get(message, "method"));
	struct request request = { .session = session,
				   .id = json_object_get(message, "id"),
				   .params = json_object_get(message, "params"),
				   .json = json };

	if (!method && is_answer(message))
		return 0;
	if (!method || (request.id && !json_is_string(request.id) && !json_is_number(request.id))) {
		request.id = NULL;
		return answer_error(&request, RPC_INVALID_REQUEST,
				    "not a request of JSON-RPC 2.0: it has no method, or its id is "
				    "neither a string nor a number");
	}
	return request.id ? answer_method(&request, method) : 0;
}

/* Answers an array of messages, which the version 2025-03-26 has. */
static int answer_batch(const struct mcp_session *session, const json_t *messages,
			struct bytes *out)
{
	const size_t before = out->size;
	struct json_writer json;
	size_t i;
	const json_t *message;
	size_t empty_size;
	int r = 0;

	json_writer_init(&json, out);
	json_array_begin(&json);
	empty_size = out->size;
	json_array_foreach((json_t *)messages, i, message) if (r == 0) r =
		answer_message(session, message, &json);
	json_array_end(&json);
	/* An array of notifications only gets no answer. */
	if (out->size == empty_size + 1)
		out->size = before;
	return r;
}

int mcp_session_answer(const struct mcp_session *session, struct bytes_view message,
		       struct bytes *out)
{
	scoped(json_freep) json_t *root =
		json_loadb((const char *)message.data, message.size,
			   JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
	const size_t before = out->size;
	struct json_writer json;
	int r;

	json_writer_init(&json, out);
	if (!root)
		r = answer_error(&(struct request){ .json = &json }, RPC_PARSE_ERROR,
				 "the message is no JSON");
	else if (json_is_array(root) && json_array_size(root) > 0)
		r = answer_batch(session, root, out);
	else
		r = answer_message(session, root, &json);
	if (r == 0 && out->size > before)
		(void)bytes_append_byte(out, '\n');
	return r < 0 ? r : bytes_error(out);
}
