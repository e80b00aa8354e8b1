/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hearth top: the functions of a profile, largest first.
 */

#include <stdio.h>

#include "common/log.h"
#include "symbolizer/cli/command.h"
#include "symbolizer/cli/flame_text.h"
#include "symbolizer/cli/profile_question.h"
#include "symbolizer/cli/service_choice.h"
#include "symbolizer/cli/terminal.h"
#include "symbolizer/cli/unresolved_hint.h"

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
	{ "total", 't', NULL, 0, "sort by total instead of self; Total always is", 0 },
	{ "rows", 'n', "N", 0, "at most N functions (30; 0: all), also with --json", 0 },
	{ "width", KEY_WIDTH, "N", 0, "columns (of the terminal)", 0 },
	{}
};

static const struct argp_child children[] = { { &selection_argp, 0, NULL, 0 },
					      { &connection_argp, 0, NULL, 0 },
					      {} };

static const struct argp top_argp = {
	.options = rows_of_top,
	.parser = parse,
	.args_doc = "[SERVICE]",
	.children = children,
	.doc = "Lists the functions of a service: self is what was spent in the function, total "
	       "adds all it called.",
};

static int write_functions(struct client *client, const struct top_options *options,
			   const struct call_tree *tree, struct bytes *out)
{
	struct terminal terminal = terminal_of_stdout();
	struct function_text_options text = {
		.type = options->selection.event,
		.width = options->width > 0 ? (int)options->width : terminal.width,
		.max_rows = options->rows,
		.by_total = options->by_total,
		.colours = terminal.colours,
	};

	const struct unresolved_hint hint = {
		.selection = &options->selection,
		.connection = &options->connection,
		.width = text.width,
	};
	int r;

	if (options->connection.json)
		return function_json_write(tree, &text, out);
	r = function_text_write(tree, &text, out);
	if (r == 0)
		unresolved_hint_append(client, &hint, tree, out);
	return r;
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
	if (!selection_is_given(&options.selection))
		return service_choice_say(client, &options.selection.range.range, argv[0]);
	r = profile_ask_tree(client, &options.selection, 0, &tree);
	if (r <= 0)
		return r < 0 ? EXIT_ERROR : EXIT_NO_DATA;

	r = write_functions(client, &options, tree, &text);
	if (r < 0) {
		(void)log_error_errno(r, "cannot print the functions: %m");
		return EXIT_ERROR;
	}
	return terminal_print(&text) < 0 ? EXIT_ERROR : EXIT_OK;
}
