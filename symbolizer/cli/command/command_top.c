/* SPDX-License-Identifier: Apache-2.0 */

/* hearth top: lists the functions of a profile, largest first. */

#include <stdio.h>

#include "common/log.h"
#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/list/service_choice.h"
#include "symbolizer/cli/list/sum_list.h"
#include "symbolizer/cli/list/unresolved_hint.h"
#include "symbolizer/cli/print/terminal.h"
#include "symbolizer/cli/profile/flame_text.h"
#include "symbolizer/cli/profile/profile_request.h"
#include "symbolizer/cli/profile/scheduler_frames.h"

#define MAX_TEXT_BYTES (256 * MIB)

/* Minimum number of rows, also on a terminal that has no room for the hint below them. */
#define MIN_ROWS 5

enum top_key {
	KEY_TOTAL = 0x200,
};

struct top_options {
	struct connection_options connection;
	struct selection_options selection;
	bool by_total;
	struct output_options output;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct top_options *options = state->input;

	(void)text;
	switch (key) {
	case ARGP_KEY_INIT:
		pass_printed_profile(state, &options->selection, &options->connection,
				     &options->output);
		return 0;
	case 't':
		options->by_total = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option rows_of_top[] = {
	{ "total", 't', NULL, 0, "sort by total instead of self; Total always is", 6 }, {}
};

static const struct argp top_argp = {
	.options = rows_of_top,
	.parser = parse,
	.args_doc = "[SERVICE]",
	.children = printed_profile_children,
	.doc = "Lists the functions of a service: self is what was spent in the function, total "
	       "adds all it called; of a wait, self is in the function that called the "
	       "scheduler. With --by, one row for each value of a tag.",
};

static int write_functions(struct client *client, const struct top_options *options,
			   const struct call_tree *tree, struct bytes *out)
{
	scoped_bytes struct bytes hint = BYTES_INIT(MIB);
	struct function_text_options text = {
		.type = options->selection.event,
		.width = (int)options->output.width,
		.max_rows = options->output.rows,
		.by_total = options->by_total,
		.colours = terminal_of_stdout().colours,
	};
	const struct unresolved_hint about = {
		.selection = &options->selection,
		.connection = &options->connection,
		.width = text.width,
	};
	int r;

	if (options->connection.json)
		return function_json_write(tree, &text, out);
	unresolved_hint_append(client, &about, tree, &hint);
	if (!options->output.has_rows && terminal_of_stdout().is_terminal)
		text.max_rows -= MIN(terminal_lines_of(&hint), text.max_rows - MIN_ROWS);
	r = function_text_write(tree, &text, out);
	(void)bytes_append(out, hint.data, hint.size);
	return r;
}

static bool is_wait(enum event_type type)
{
	return type == EVENT_OFF_CPU || type == EVENT_RUN_QUEUE;
}

enum exit_code command_top(int argc, char **argv)
{
	scoped(call_tree_freep) struct call_tree *tree = NULL;
	scoped(client_freep) struct client *client = NULL;
	scoped_bytes struct bytes text = BYTES_INIT(MAX_TEXT_BYTES);
	struct terminal terminal = terminal_of_stdout();
	struct top_options options = {};
	int r;

	if (argp_parse(&top_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	if (client_new(&options.connection, &client) < 0)
		return EXIT_ERROR;
	if (!options.output.has_rows)
		options.output.rows = terminal_table_rows(&terminal);
	if (options.output.width == 0)
		options.output.width = (uint32_t)terminal.width;
	if (options.selection.by)
		return sum_list_print(client, &(struct sum_options){
						      .connection = &options.connection,
						      .selection = &options.selection,
						      .rows = options.output.rows,
						      .width = (int)options.output.width,
					      });
	if (!selection_is_given(&options.selection))
		return service_choice_print(client, &options.selection.range.range, argv[0]);
	r = profile_fetch_tree(client, &options.selection, 0, &tree);
	if (r <= 0)
		return r < 0 ? exit_code_of_error(r) : EXIT_NO_DATA;

	if (is_wait(options.selection.event))
		scheduler_frames_charge_callers(tree);
	r = write_functions(client, &options, tree, &text);
	if (r < 0) {
		(void)log_error_errno(r, "cannot print the functions: %m");
		return EXIT_ERROR;
	}
	return terminal_print(&text) < 0 ? EXIT_ERROR : EXIT_OK;
}
