/* SPDX-License-Identifier: Apache-2.0 */

/* Values are passed as "--option=value", so that a value that begins with a hyphen is no option. */

#include "symbolizer/cli/mcp/mcp_tools.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum parameter_type {
	TEXT,
	INTEGER,
	BOOLEAN,
};

enum parameter_id {
#define PARAMETER(id, name, type, option, description) PARAMETER_##id,
#include "symbolizer/cli/mcp/mcp_parameters.def"
#undef PARAMETER
	PARAMETER_COUNT,
};

static const struct parameter {
	const char *name;
	enum parameter_type type;
	const char *option;
	const char *description;
} parameters[] = {
#define PARAMETER(id_, name_, type_, option_, description_)                                        \
	[PARAMETER_##id_] = {                                                                      \
		.name = name_, .type = type_, .option = option_, .description = description_       \
	},
#include "symbolizer/cli/mcp/mcp_parameters.def"
#undef PARAMETER
};

/* For mcp_tools.def. */
#define BIT(id) (UINT32_C(1) << PARAMETER_##id)
#define RANGE   (BIT(LAST) | BIT(SINCE) | BIT(UNTIL))

static_assert(PARAMETER_COUNT <= 32, "a set of parameters has 32 bits");

struct mcp_tool {
	const char *name;
	const char *command;
	uint32_t default_rows; /* 0: no option for rows */
	uint32_t required;     /* set of enum parameter_id */
	uint32_t parameters;   /* likewise */
	const char *description;
};

static const struct mcp_tool tools[] = {
#define TOOL(name_, command_, default_rows_, required_, parameters_, description_)                 \
	{ .name = name_,                                                                           \
	  .command = command_,                                                                     \
	  .default_rows = default_rows_,                                                           \
	  .required = required_,                                                                   \
	  .parameters = parameters_,                                                               \
	  .description = description_ },
#include "symbolizer/cli/mcp/mcp_tools.def"
#undef TOOL
};

const struct mcp_tool *mcp_tool_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}

/* ---- the list ------------------------------------------------------------------------------- */

static void write_parameter(struct json_writer *json, const struct parameter *parameter)
{
	static const char *const types[] = {
		[TEXT] = "string",
		[INTEGER] = "integer",
		[BOOLEAN] = "boolean",
	};

	json_key(json, parameter->name);
	json_object_begin(json);
	json_key_text(json, "type", types[parameter->type]);
	json_key_text(json, "description", parameter->description);
	if (parameter->type == INTEGER) {
		json_key_uint(json, "minimum", 1);
		json_key_uint(json, "maximum", MCP_MAX_ROWS);
	}
	json_object_end(json);
}

/* A JSON schema (draft 2020-12) of an object with the tool's parameters. */
static void write_schema(struct json_writer *json, const struct mcp_tool *tool)
{
	json_object_begin(json);
	json_key_text(json, "type", "object");
	json_key(json, "properties");
	json_object_begin(json);
	for (size_t i = 0; i < PARAMETER_COUNT; i++)
		if (tool->parameters >> i & 1)
			write_parameter(json, &parameters[i]);
	json_object_end(json);
	json_key(json, "required");
	json_array_begin(json);
	for (size_t i = 0; i < PARAMETER_COUNT; i++)
		if (tool->required >> i & 1)
			json_text(json, parameters[i].name);
	json_array_end(json);
	json_key_bool(json, "additionalProperties", false);
	json_object_end(json);
}

void mcp_tools_write(struct json_writer *json)
{
	json_array_begin(json);
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		json_object_begin(json);
		json_key_text(json, "name", tools[i].name);
		json_key_text(json, "description", tools[i].description);
		json_key(json, "inputSchema");
		write_schema(json, &tools[i]);
		json_key(json, "annotations");
		json_object_begin(json);
		json_key_bool(json, "readOnlyHint", true);
		json_object_end(json);
		json_object_end(json);
	}
	json_array_end(json);
}

/* ---- a call --------------------------------------------------------------------------------- */

void mcp_arguments_release(struct mcp_arguments *arguments)
{
	for (size_t i = 0; i < arguments->count; i++)
		free(arguments->items[i]);
	vec_release(arguments);
}

/* Appends @text, and takes it. NULL: allocating it failed. */
static int push_take(struct mcp_arguments *arguments, char *text)
{
	if (!text)
		return -ENOMEM;
	if (vec_push(arguments, text) < 0) {
		free(text);
		return -ENOMEM;
	}
	return 0;
}

static int push(struct mcp_arguments *arguments, const char *text)
{
	return push_take(arguments, strdup(text));
}

static int push_option(struct mcp_arguments *arguments, const char *option, const char *value)
{
	char *text = NULL;

	if (asprintf(&text, "--%s=%s", option, value) < 0)
		return -ENOMEM;
	return push_take(arguments, text);
}

struct call {
	const struct mcp_tool *tool;
	struct mcp_arguments *arguments;
	char *message; /* [MCP_MESSAGE_SIZE] */
};

printf_like(3, 4) static int refuse(const struct call *call, const char *name, const char *format,
				    ...)
{
	char reason[MCP_MESSAGE_SIZE / 2];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	(void)snprintf(call->message, MCP_MESSAGE_SIZE, "the argument '%.64s' %s", name, reason);
	return -EINVAL;
}

static int add_text(const struct call *call, const struct parameter *parameter, const json_t *value)
{
	const char *text = json_string_value(value);

	if (!text)
		return refuse(call, parameter->name, "is no string");
	if (json_string_length(value) > MCP_MAX_TEXT_BYTES || strlen(text) == 0 ||
	    strlen(text) != json_string_length(value))
		return refuse(call, parameter->name, "is empty, longer than %u bytes, or has NULs",
			      MCP_MAX_TEXT_BYTES);
	if (parameter->option[0])
		return push_option(call->arguments, parameter->option, text);
	return 0;
}

static int add_integer(const struct call *call, const struct parameter *parameter,
		       const json_t *value)
{
	char text[32];

	if (!json_is_integer(value) || json_integer_value(value) < 1 ||
	    json_integer_value(value) > MCP_MAX_ROWS)
		return refuse(call, parameter->name, "is no integer from 1 to %u", MCP_MAX_ROWS);
	(void)snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(value));
	return push_option(call->arguments, parameter->option, text);
}

static int add_boolean(const struct call *call, const struct parameter *parameter,
		       const json_t *value)
{
	char text[64];

	if (!json_is_boolean(value))
		return refuse(call, parameter->name, "is neither true nor false");
	(void)snprintf(text, sizeof(text), "--%s", parameter->option);
	return json_is_true(value) ? push(call->arguments, text) : 0;
}

static int add_value(const struct call *call, const struct parameter *parameter,
		     const json_t *value)
{
	switch (parameter->type) {
	case INTEGER:
		return add_integer(call, parameter, value);
	case BOOLEAN:
		return add_boolean(call, parameter, value);
	case TEXT:
		break;
	}
	return add_text(call, parameter, value);
}

static const struct parameter *find_parameter(const struct mcp_tool *tool, const char *name)
{
	for (size_t i = 0; i < PARAMETER_COUNT; i++)
		if ((tool->parameters >> i & 1) && strcmp(parameters[i].name, name) == 0)
			return &parameters[i];
	return NULL;
}

/* Adds an option for each value. A value that is null counts as not given. */
static int add_values(const struct call *call, const json_t *values)
{
	const char *name;
	const json_t *value;

	/* jansson's macros want an object that is not const, but do not change it. */
	json_object_foreach((json_t *)values, name, value)
	{
		const struct parameter *parameter = find_parameter(call->tool, name);
		int r;

		if (!parameter)
			return refuse(call, name, "is unknown: see the schema of the tool");
		if (json_is_null(value))
			continue;
		r = add_value(call, parameter, value);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_required(const struct call *call, const json_t *values)
{
	for (size_t i = 0; i < PARAMETER_COUNT; i++) {
		const json_t *value = json_object_get(values, parameters[i].name);

		if ((call->tool->required >> i & 1) && (!value || json_is_null(value)))
			return refuse(call, parameters[i].name, "is missing");
	}
	return 0;
}

/* Returns the value of the argument that has no option, or NULL. */
static const char *bare_value(const struct call *call, const json_t *values)
{
	const char *value = NULL;

	for (size_t i = 0; i < PARAMETER_COUNT && !value; i++)
		if ((call->tool->parameters >> i & 1) && !parameters[i].option[0])
			value = json_string_value(json_object_get(values, parameters[i].name));
	return value;
}

/* Adds the default number of rows, and after all options the argument without one. */
static int add_rest(const struct call *call, const json_t *values)
{
	const char *bare = bare_value(call, values);
	char rows[16];
	int r = 0;

	if (call->tool->default_rows > 0 && !json_is_integer(json_object_get(values, "rows"))) {
		(void)snprintf(rows, sizeof(rows), "%u", call->tool->default_rows);
		r = push_option(call->arguments, "rows", rows);
	}
	if (r == 0 && bare)
		r = push(call->arguments, "--");
	if (r == 0 && bare)
		r = push(call->arguments, bare);
	return r < 0 ? r : vec_push(call->arguments, NULL);
}

int mcp_tool_arguments(const struct mcp_tool *tool, const json_t *values,
		       struct mcp_arguments *ret_arguments, char ret_message[MCP_MESSAGE_SIZE])
{
	struct mcp_arguments arguments = {};
	const struct call call = { .tool = tool, .arguments = &arguments, .message = ret_message };
	int r;

	ret_message[0] = '\0';
	if (values && !json_is_object(values))
		return refuse(&call, "arguments", "is no object");
	r = check_required(&call, values);
	if (r == 0)
		r = push(&arguments, "hearth");
	if (r == 0)
		r = push(&arguments, tool->command);
	if (r == 0)
		r = add_values(&call, values);
	if (r == 0)
		r = add_rest(&call, values);
	if (r < 0) {
		mcp_arguments_release(&arguments);
		return r;
	}
	*ret_arguments = arguments;
	return 0;
}
