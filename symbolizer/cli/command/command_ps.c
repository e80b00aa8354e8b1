/* SPDX-License-Identifier: Apache-2.0 */

/* hearth ps: lists the processes of the fleet, of a host or of a service, largest first. */

#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/list/sum_list.h"
#include "symbolizer/cli/print/terminal.h"

struct ps_options {
	struct connection_options connection;
	struct selection_options selection;
	struct output_options output;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct ps_options *options = state->input;

	(void)text;
	switch (key) {
	case ARGP_KEY_INIT:
		pass_printed_selection(state, &options->selection, &options->connection,
				       &options->output);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp ps_argp = {
	.parser = parse,
	.args_doc = "[SERVICE]",
	.children = printed_selection_children,
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
		client, &(struct sum_options){
				.connection = &options.connection,
				.selection = &options.selection,
				.rows = options.output.has_rows ? options.output.rows
								: terminal_table_rows(&terminal),
				.width = options.output.width > 0 ? (int)options.output.width
								  : terminal.width,
			});
}
