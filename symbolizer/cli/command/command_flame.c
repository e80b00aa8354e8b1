/* SPDX-License-Identifier: Apache-2.0 */

/* hearth flame: prints a profile as a tree, as folded stacks, or as the server's JSON. */

#include <stdio.h>

#include "common/log.h"
#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/list/service_choice.h"
#include "symbolizer/cli/list/unresolved_hint.h"
#include "symbolizer/cli/print/scoped_json.h"
#include "symbolizer/cli/print/terminal.h"
#include "symbolizer/cli/profile/flame_text.h"
#include "symbolizer/cli/profile/profile_request.h"

/* The server sends the largest nodes only; a terminal shows fewer. */
#define TERMINAL_MAX_NODES 20000

/* Lines that should stay visible together with the tree: heading, remark and prompt. */
#define LINES_AROUND 4

#define MAX_TEXT_BYTES GIB

enum flame_key {
	KEY_FOLDED = 0x200,
};

struct flame_options {
	struct connection_options connection;
	struct selection_options selection;
	bool folded;
	struct output_options output;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct flame_options *options = state->input;

	(void)text;
	switch (key) {
	case ARGP_KEY_INIT:
		pass_printed_profile(state, &options->selection, &options->connection,
				     &options->output);
		return 0;
	case KEY_FOLDED:
		options->folded = true;
		return 0;
	case ARGP_KEY_END:
		if (options->folded && options->connection.json)
			argp_error(state, "give --folded or --json, not both");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option rows_of_flame[] = {
	{ "folded", KEY_FOLDED, NULL, 0, "one line per stack, \"root;caller;callee value\"", 6 }, {}
};

static const struct argp flame_argp = {
	.options = rows_of_flame,
	.parser = parse,
	.args_doc = "[SERVICE]",
	.children = printed_profile_children,
	.doc = "Shows where a service spends its time (or memory): each line is a frame with its "
	       "share, below its caller.",
};

/* An answer without samples is shorter; a longer one is not parsed to find out. */
#define MAX_EMPTY_ANSWER_BYTES (64 * KIB)

static bool is_empty(const struct bytes *answer)
{
	scoped(json_freep) json_t *root = NULL;

	if (answer->size > MAX_EMPTY_ANSWER_BYTES)
		return false;
	root = json_loadb((const char *)answer->data, answer->size, 0, NULL);
	return json_array_size(json_object_get(root, "result")) == 0;
}

static enum exit_code print_json(struct client *client, const struct flame_options *options)
{
	scoped_bytes struct bytes answer = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES);
	bool empty;
	int r;

	r = profile_fetch(client, &options->selection, PROFILE_NODES, options->output.rows,
			  &answer);
	if (r < 0)
		return exit_code_of_error(r);
	empty = is_empty(&answer);
	(void)bytes_append_byte(&answer, '\n');
	if (terminal_print(&answer) < 0)
		return EXIT_ERROR;
	return empty ? EXIT_NO_DATA : EXIT_OK;
}

static void append_heading(struct bytes *out, const struct flame_options *options, int width,
			   const struct call_tree *tree)
{
	const struct time_range *range = &options->selection.range.range;
	struct flame_heading heading = {
		.type = options->selection.event,
		.seconds = range->until_s - range->since_s + 1,
		.width = width,
	};

	flame_heading_write(tree, &heading, out);
}

/* Returns how many lines of the tree fit the terminal with the lines around it. */
static uint32_t rows_that_fit(const struct terminal *terminal, const struct bytes *hint)
{
	int rows = terminal->height - LINES_AROUND - (int)terminal_lines_of(hint);

	return (uint32_t)MAX(rows, LINES_AROUND);
}

static int write_tree(struct client *client, const struct flame_options *options,
		      const struct call_tree *tree, struct bytes *out)
{
	scoped_bytes struct bytes hint = BYTES_INIT(MIB);
	struct terminal terminal = terminal_of_stdout();
	struct flame_text_options text = {
		.type = options->selection.event,
		.width = options->output.width > 0 ? (int)options->output.width : terminal.width,
		.colours = terminal.colours,
		.ascii = terminal.ascii,
	};
	const struct unresolved_hint about = {
		.selection = &options->selection,
		.connection = &options->connection,
		.width = text.width,
	};
	uint32_t n_hidden;
	int r;

	unresolved_hint_append(client, &about, tree, &hint);
	text.max_rows =
		options->output.has_rows ? options->output.rows : rows_that_fit(&terminal, &hint);
	append_heading(out, options, text.width, tree);
	r = flame_text_write(tree, &text, out, &n_hidden);
	if (r == 0 && n_hidden > 0)
		(void)bytes_append_format(
			out, "%u smaller frames are not shown (--rows 0 shows all)\n", n_hidden);
	(void)bytes_append(out, hint.data, hint.size);
	return r;
}

static enum exit_code print_tree(struct client *client, const struct flame_options *options)
{
	scoped(call_tree_freep) struct call_tree *tree = NULL;
	scoped_bytes struct bytes text = BYTES_INIT(MAX_TEXT_BYTES);
	bool all = options->folded || (options->output.has_rows && options->output.rows == 0);
	int r = profile_fetch_tree(client, &options->selection, all ? 0 : TERMINAL_MAX_NODES,
				   &tree);

	if (r <= 0)
		return r < 0 ? exit_code_of_error(r) : EXIT_NO_DATA;
	r = options->folded ? folded_write(tree, &text) : write_tree(client, options, tree, &text);
	if (r < 0) {
		(void)log_error_errno(r, "cannot print the profile: %m");
		return EXIT_ERROR;
	}
	return terminal_print(&text) < 0 ? EXIT_ERROR : EXIT_OK;
}

enum exit_code command_flame(int argc, char **argv)
{
	scoped(client_freep) struct client *client = NULL;
	struct flame_options options = {};

	if (argp_parse(&flame_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	if (client_new(&options.connection, &client) < 0)
		return EXIT_ERROR;
	if (!selection_is_given(&options.selection))
		return service_choice_print(client, &options.selection.range.range, argv[0]);
	return options.connection.json ? print_json(client, &options)
				       : print_tree(client, &options);
}
