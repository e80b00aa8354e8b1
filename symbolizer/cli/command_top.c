/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hearth top: the functions of a profile, largest first.
 */

#include <stdio.h>

#include "common/json_writer.h"
#include "common/log.h"
#include "symbolizer/cli/command.h"
#include "symbolizer/cli/flame_text.h"
#include "symbolizer/cli/profile_question.h"
#include "symbolizer/cli/terminal.h"

#define DEFAULT_ROWS 30

#define MAX_TEXT_BYTES (256 * MIB)

enum top_key {
	KEY_TOTAL = 0x200,
	KEY_WIDTH,
};

struct top_options {
	struct connection_options connection;
	struct selection_options selection;
	bool by_total;
	uint32_t rows;
	uint32_t width;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct top_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		options->rows = DEFAULT_ROWS;
		state->child_inputs[0] = &options->selection;
		state->child_inputs[1] = &options->connection;
		return 0;
	case 't':
		options->by_total = true;
		return 0;
	case 'n':
		options->rows = options_number(state, "--rows", text, 1000000);
		return 0;
	case KEY_WIDTH:
		options->width = options_number(state, "--width", text, 10000);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option rows_of_top[] = {
	{ NULL, 0, NULL, 0, "Output:", 6 },
	{ "total", 't', NULL, 0, "sort by total instead of self", 0 },
	{ "rows", 'n', "N", 0, "at most N functions (30; 0: all)", 0 },
	{ "width", KEY_WIDTH, "N", 0, "columns (of the terminal)", 0 },
	{}
};

static const struct argp_child children[] = { { &selection_argp, 0, NULL, 0 },
					      { &connection_argp, 0, NULL, 0 },
					      {} };

static const struct argp top_argp = {
	.options = rows_of_top,
	.parser = parse,
	.children = children,
	.doc = "Lists the functions of a service: self is what was spent in the function, total "
	       "adds all it called.",
};

/* All functions in the order of the answer; values are in the unit of the event type. */
static int write_json(const struct top_options *options, const struct call_tree *tree,
		      struct bytes *out)
{
	const char *unit = event_type_unit(options->selection.event);
	struct json_writer json;

	json_writer_init(&json, out);
	json_object_begin(&json);
	json_key_text(&json, "event", event_type_name(options->selection.event));
	json_key_text(&json, "unit", strcmp(unit, "ns") == 0 ? "microseconds" : unit);
	json_key_uint(&json, "total", tree->nodes[0].total);
	json_key(&json, "functions");
	json_array_begin(&json);
	for (uint32_t i = 0; i < tree->n_functions; i++) {
		const struct call_function *function = &tree->functions[i];
		const char type[] = { function->type, '\0' };

		json_object_begin(&json);
		json_key_text(&json, "function", function->name);
		json_key_text(&json, "type", type);
		json_key_uint(&json, "self_value", function->self);
		json_key_uint(&json, "total_value", function->total);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
	return bytes_append_byte(out, '\n');
}

static int write_text(const struct top_options *options, const struct call_tree *tree,
		      struct bytes *out)
{
	struct terminal terminal = terminal_of_stdout();
	struct function_text_options text = {
		.type = options->selection.event,
		.width = options->width > 0 ? (int)options->width : terminal.width,
		.max_rows = options->rows,
		.by_total = options->by_total,
		.colours = terminal.colours,
	};

	return function_text_write(tree, &text, out);
}

enum exit_code command_top(int argc, char **argv)
{
	scoped(call_tree_freep) struct call_tree *tree = NULL;
	scoped(client_freep) struct client *client = NULL;
	scoped_bytes struct bytes text = BYTES_INIT(MAX_TEXT_BYTES);
	struct top_options options = {};
	int r;

	if (argp_parse(&top_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	if (client_new(&options.connection, &client) < 0)
		return EXIT_ERROR;
	r = profile_ask_tree(client, &options.selection, 0, &tree);
	if (r <= 0)
		return r < 0 ? EXIT_ERROR : EXIT_NO_DATA;

	r = options.connection.json ? write_json(&options, tree, &text)
				    : write_text(&options, tree, &text);
	if (r < 0) {
		(void)log_error_errno(r, "cannot print the functions: %m");
		return EXIT_ERROR;
	}
	return terminal_print(&text) < 0 ? EXIT_ERROR : EXIT_OK;
}
