/* SPDX-License-Identifier: Apache-2.0 */

/* hearth services: lists the services by descending CPU time. */

#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/list/service_list.h"
#include "symbolizer/cli/print/terminal.h"

#define MAX_TEXT_BYTES (256 * MIB)

struct services_options {
	struct connection_options connection;
	struct range_options range;
	struct output_options output;
	bool all;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct services_options *options = state->input;

	(void)text;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->range;
		state->child_inputs[1] = &options->connection;
		state->child_inputs[2] = &options->output;
		return 0;
	case 'a':
		options->all = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option rows_of_services[] = {
	{ "all", 'a', NULL, 0, "list also those whose share rounds to 0.0 %", 6 }, {}
};

static const struct argp_child children[] = { { &range_argp, 0, NULL, 0 },
					      { &connection_argp, 0, NULL, 0 },
					      { &width_argp, 0, NULL, 0 },
					      {} };

static const struct argp services_argp = {
	.options = rows_of_services,
	.parser = parse,
	.children = children,
	.doc = "Lists the services with samples in a time range, by their share of the CPU time of "
	       "all processes.",
};

static enum exit_code print_list(const struct services_options *options,
				 const struct service_list *list)
{
	scoped_bytes struct bytes text = BYTES_INIT(MAX_TEXT_BYTES);
	struct service_text_options layout = {
		.width = options->output.width > 0 ? (int)options->output.width
						   : terminal_of_stdout().width,
		.all = options->all,
		.now_s = clock_wall_ns(&system_clock) / NSEC_PER_SEC,
	};
	int r = options->connection.json ? service_json_write(list, &text)
					 : service_text_write(list, &layout, &text);

	if (r < 0) {
		(void)log_error_errno(r, "cannot print the services: %m");
		return EXIT_ERROR;
	}
	return terminal_print(&text) < 0 ? EXIT_ERROR : EXIT_OK;
}

enum exit_code command_services(int argc, char **argv)
{
	scoped(client_freep) struct client *client = NULL;
	scoped_service_list struct service_list list = {};
	struct services_options options = {};
	int r;

	if (argp_parse(&services_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	if (client_new(&options.connection, &client) < 0)
		return EXIT_ERROR;
	r = service_list_fetch(client, &options.range.range, &list);
	if (r < 0)
		return exit_code_of_error(r);
	if (list.count == 0 && !options.connection.json) {
		(void)fprintf(stderr, "%s\n", SERVICE_LIST_EMPTY);
		return EXIT_NO_DATA;
	}
	return print_list(&options, &list);
}
