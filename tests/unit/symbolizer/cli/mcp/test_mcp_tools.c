/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/mcp/mcp_tools.h"

#include "tests/support/unit.h"

/* Makes the options of a call, joined by blanks; or the message of the refusal. */
static void make(const char *tool_name, const char *values_text, char text[1024])
{
	const struct mcp_tool *tool = mcp_tool_find(tool_name);
	json_t *values = values_text ? json_loads(values_text, 0, NULL) : NULL;
	struct mcp_arguments arguments = {};
	size_t used = 0;
	int r;

	assert_non_null(tool);
	r = mcp_tool_arguments(tool, values, &arguments, text);
	assert_true(r == 0 || r == -EINVAL);
	if (r == 0) {
		assert_true(arguments.count > 0);
		assert_null(arguments.items[arguments.count - 1]);
		for (size_t i = 0; arguments.items[i]; i++)
			used += (size_t)snprintf(text + used, 1024 - used, "%s%s", i > 0 ? " " : "",
						 arguments.items[i]);
	}
	mcp_arguments_release(&arguments);
	json_decref(values);
}

static void arguments_become_options_of_the_command(void **state)
{
	static const struct {
		const char *tool;
		const char *values;
		const char *expected;
	} cases[] = {
		{ "services", NULL, "hearth services" },
		{ "services", "{\"last\": \"2h\"}", "hearth services --last=2h" },
		{ "hosts", "{}", "hearth hosts" },
		{ "top", "{\"service\": \"--server=x\", \"total\": true, \"by\": null}",
		  "hearth top --service=--server=x --total --rows=30" },
		{ "top", "{\"service\": \"a b\", \"total\": false, \"rows\": 500}",
		  "hearth top --service=a b --rows=500" },
		{ "diff", "{\"service\": \"a\", \"base_since\": \"1h ago\", \"rows\": 1}",
		  "hearth diff --service=a --base-since=1h ago --rows=1" },
		{ "why_unresolved", "{\"file\": \"-x\", \"event\": \"off-cpu\"}",
		  "hearth why --event=off-cpu --rows=20 -- -x" },
		{ "processes", "{}", "hearth ps --rows=30" },
		{ "source", "{\"function\": \"-f\", \"service\": \"a\"}",
		  "hearth source --service=a -- -f" },
		{ "disassembly", "{\"service\": \"a\", \"function\": \"f(int)\"}",
		  "hearth disassembly --service=a --rows=40 -- f(int)" },
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make(cases[i].tool, cases[i].values, text);
		assert_string_equal(text, cases[i].expected);
	}
}

static void wrong_arguments_are_refused_by_name(void **state)
{
	static const struct {
		const char *values;
		const char *expected;
	} cases[] = {
		{ NULL, "the argument 'service' is missing" },
		{ "[]", "the argument 'arguments' is no object" },
		{ "{\"service\": null}", "the argument 'service' is missing" },
		{ "{\"service\": 1}", "the argument 'service' is no string" },
		{ "{\"service\": \"\"}",
		  "the argument 'service' is empty, longer than 4096 bytes, or has NULs" },
		{ "{\"service\": \"a\", \"rows\": 0}",
		  "the argument 'rows' is no integer from 1 to 500" },
		{ "{\"service\": \"a\", \"rows\": 501}",
		  "the argument 'rows' is no integer from 1 to 500" },
		{ "{\"service\": \"a\", \"rows\": 1.5}",
		  "the argument 'rows' is no integer from 1 to 500" },
		{ "{\"service\": \"a\", \"total\": \"yes\"}",
		  "the argument 'total' is neither true nor false" },
		{ "{\"service\": \"a\", \"file\": \"x\"}",
		  "the argument 'file' is unknown: see the schema of the tool" },
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make("top", cases[i].values, text);
		assert_string_equal(text, cases[i].expected);
	}
}

static void a_text_with_a_NUL_or_of_5000_bytes_is_refused(void **state)
{
	const struct mcp_tool *tool = mcp_tool_find("top");
	struct mcp_arguments arguments = {};
	char message[MCP_MESSAGE_SIZE], text[5000];
	const size_t lengths[] = { 3, sizeof(text) };

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		json_t *values = json_object();

		text[1] = i == 0 ? '\0' : 'a';
		(void)json_object_set_new(values, "service", json_stringn(text, lengths[i]));
		assert_errno(mcp_tool_arguments(tool, values, &arguments, message), -EINVAL);
		assert_int_equal(arguments.count, 0);
		json_decref(values);
	}
}

static void every_tool_has_a_schema_with_its_required_arguments(void **state)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);
	struct json_writer json;
	const json_t *tool, *name;
	json_t *tools;
	size_t i, k;

	(void)state;
	json_writer_init(&json, &out);
	mcp_tools_write(&json);
	tools = json_loadb((const char *)out.data, out.size, 0, NULL);
	assert_int_equal(json_array_size(tools), 9);
	json_array_foreach(tools, i, tool)
	{
		const json_t *schema = json_object_get(tool, "inputSchema");
		const json_t *properties = json_object_get(schema, "properties");

		assert_non_null(mcp_tool_find(json_string_value(json_object_get(tool, "name"))));
		assert_string_equal(json_string_value(json_object_get(schema, "type")), "object");
		assert_true(json_is_object(properties));
		json_array_foreach(json_object_get(schema, "required"), k, name)
			assert_non_null(json_object_get(properties, json_string_value(name)));
	}
	assert_null(mcp_tool_find("delete"));
	json_decref(tools);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_become_options_of_the_command),
		cmocka_unit_test(wrong_arguments_are_refused_by_name),
		cmocka_unit_test(a_text_with_a_NUL_or_of_5000_bytes_is_refused),
		cmocka_unit_test(every_tool_has_a_schema_with_its_required_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
