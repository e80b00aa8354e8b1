/* SPDX-License-Identifier: Apache-2.0 */

/* hearth hosts: lists the hosts, the time of their last batch, and what they lost lately. */

#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/list/host_text.h"
#include "symbolizer/cli/print/terminal.h"

/* The child gets the input of the parser, because the parser has no function. */
static const struct argp_child children[] = { { &connection_argp, 0, NULL, 0 }, {} };

static const struct argp hosts_argp = {
	.children = children,
	.doc = "Lists the hosts that sent samples, and what their agents lost in the last 15 "
	       "minutes.",
};

static void format_hosts(const json_t *rows, uint64_t now_s, struct bytes *out)
{
	struct terminal terminal = terminal_of_stdout();

	/* In a file or pipe, names are not shortened and labels not wrapped. */
	host_text_write(rows, now_s, terminal.is_terminal ? terminal.width : INT16_MAX, out);
}

enum exit_code command_hosts(int argc, char **argv)
{
	scoped(client_freep) struct client *client = NULL;
	struct connection_options options = {};

	if (argp_parse(&hosts_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	if (client_new(&options, &client) < 0)
		return EXIT_ERROR;
	return list_print(&options, client, "/v1/hosts?last=15m", "hosts",
			  "no host has sent samples to this server yet; run hearth-agent on one",
			  format_hosts);
}
