/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hearth ps: the processes of the fleet, of a host or of a service, the largest first.
 */

#include "symbolizer/cli/sum_list.h"
#include "symbolizer/cli/terminal.h"

enum ps_key {
	KEY_WIDTH = 0x200,
};

struct ps_options {
	struct connection_options connection;
	struct selection_options selection;
	uint32_t rows;
	bool has_rows;
	uint32_t width;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct ps_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->selection;
		state->child_inputs[1] = &options->connection;
		state->child_inputs[2] = &options->selection;
		return 0;
	case 'n':
		options->rows = options_number(state, "--rows", text, 1000000);
		options->has_rows = true;
		return 0;
	case KEY_WIDTH:
		options->width = options_number(state, "--width", text, 10000);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option rows_of_ps[] = {
	{ NULL, 0, NULL, 0, "Output:", 6 },
	{ "rows", 'n', "N", 0, "at most N processes (what fits the terminal; 0: all)", 0 },
	{ "width", KEY_WIDTH, "N", 0, "columns (of the terminal)", 0 },
	{}
};

static const struct argp_child children[] = { { &selection_argp, 0, NULL, 0 },
					      { &connection_argp, 0, NULL, 0 },
					      { &by_argp, 0, NULL, 0 },
					      {} };

static const struct argp ps_argp = {
	.options = rows_of_ps,
	.parser = parse,
	.args_doc = "[SERVICE]",
	.children = children,
	.doc = "Lists processes by their CPU time (or by another event type): those of all hosts, "
	       "of a service, or what --filter leaves, such as \"host = 'web-1'\".",
};

enum exit_code command_ps(int argc, char **argv)
{
	scoped(client_freep) struct client *client = NULL;
	struct terminal terminal = terminal_of_stdout();
	struct ps_options options = {};

	if (argp_parse(&ps_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	if (client_new(&options.connection, &client) < 0)
		return EXIT_ERROR;
	return sum_list_print(
		client,
		&(struct sum_options){
			.connection = &options.connection,
			.selection = &options.selection,
			.rows = options.has_rows ? options.rows : terminal_table_rows(&terminal),
			.width = options.width > 0 ? (int)options.width : terminal.width,
		});
}
