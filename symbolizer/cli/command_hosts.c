/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hearth hosts: which agents report, and since when one does not.
 */

#include <inttypes.h>

#include "symbolizer/cli/human.h"
#include "symbolizer/cli/list_answer.h"

static error_t parse(int key, char *text, struct argp_state *state)
{
	(void)text;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->input;
	return 0;
}

static const struct argp_child children[] = { { &connection_argp, 0, NULL, 0 }, {} };

static const struct argp hosts_argp = {
	.parser = parse,
	.children = children,
	.doc = "Lists the hosts that sent samples.",
};

static void append_cell(struct bytes *out, const char *text, int width)
{
	int columns = human_append(out, text, -1);

	(void)bytes_append_format(out, "%*s  ", MAX(width - columns, 0), "");
}

/* Below the host's line: the value of label @name, if the host has it, after @words. */
static void append_label(struct bytes *out, const json_t *row, const char *name, const char *words)
{
	const char *value = list_text(json_object_get(row, "labels"), name);

	if (!value[0])
		return;
	(void)bytes_append_format(out, "  %s: ", words);
	(void)human_append(out, value, -1);
	(void)bytes_append_byte(out, '\n');
}

static void format_hosts(const json_t *rows, uint64_t now_s, struct bytes *out)
{
	(void)bytes_append_format(out, "%-32s  %4s  %-24s  %-8s  %-8s  %s\n", "host", "CPUs",
				  "kernel", "arch", "agent", "last batch");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		uint64_t last_s = list_number(row, "last_time");
		char age[HUMAN_SIZE];

		human_age(now_s > last_s ? now_s - last_s : 0, age);
		append_cell(out, list_text(row, "name"), 32);
		(void)bytes_append_format(out, "%4" PRIu64 "  ", list_number(row, "cpus"));
		append_cell(out, list_text(row, "kernel_release"), 24);
		append_cell(out, list_text(row, "architecture"), 8);
		append_cell(out, list_text(row, "agent_version"), 8);
		(void)bytes_append_format(out, "%s\n", age);
		append_label(out, row, "agent.reduced", "reduced to keep its budget");
		append_label(out, row, "kernel.lacks", "its kernel lacks");
	}
}

enum exit_code command_hosts(int argc, char **argv)
{
	scoped(client_freep) struct client *client = NULL;
	struct connection_options options = {};

	if (argp_parse(&hosts_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	if (client_new(&options, &client) < 0)
		return EXIT_ERROR;
	return list_print(&options, client, "/v1/hosts", "hosts",
			  "no host has sent samples to this server yet; run hearth-agent on one",
			  format_hosts);
}
