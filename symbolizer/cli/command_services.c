/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hearth services: what `hearth flame --service` can be asked for.
 */

#include <inttypes.h>
#include <stdio.h>

#include "symbolizer/cli/human.h"
#include "symbolizer/cli/list_answer.h"

/* A unix time in decimal. */
#define SECONDS_SIZE 24

struct services_options {
	struct connection_options connection;
	struct range_options range;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct services_options *options = state->input;

	(void)text;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = &options->range;
	state->child_inputs[1] = &options->connection;
	return 0;
}

static const struct argp_child children[] = { { &range_argp, 0, NULL, 0 },
					      { &connection_argp, 0, NULL, 0 },
					      {} };

static const struct argp services_argp = {
	.parser = parse,
	.children = children,
	.doc = "Lists the services with samples in a time range, by name and event type.",
};

static void format_services(const json_t *rows, uint64_t now_s, struct bytes *out)
{
	(void)bytes_append_format(out, "%-32s  %-9s  %6s  %9s  %s\n", "service", "event", "hosts",
				  "processes", "last sample");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		uint64_t last_s = list_number(row, "last_time");
		char age[HUMAN_SIZE];
		int columns = human_append(out, list_text(row, "name"), -1);

		human_age(now_s > last_s ? now_s - last_s : 0, age);
		(void)bytes_append_format(out, "%*s  ", MAX(32 - columns, 0), "");
		columns = human_append(out, list_text(row, "event"), 9);
		(void)bytes_append_format(out, "%*s  %6" PRIu64 "  %9" PRIu64 "  %s\n", 9 - columns,
					  "", list_number(row, "hosts"),
					  list_number(row, "processes"), age);
	}
}

enum exit_code command_services(int argc, char **argv)
{
	scoped(client_freep) struct client *client = NULL;
	scoped_bytes struct bytes path = BYTES_INIT(4 * KIB);
	struct services_options options = {};
	char since[SECONDS_SIZE], until[SECONDS_SIZE];

	if (argp_parse(&services_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	if (client_new(&options.connection, &client) < 0)
		return EXIT_ERROR;
	(void)snprintf(since, sizeof(since), "%" PRIu64, options.range.range.since_s);
	/* This path's range is open at its end, ours includes its last second. */
	(void)snprintf(until, sizeof(until), "%" PRIu64, options.range.range.until_s + 1);
	if (client_path(client, &path, "/v1/services", "since", since, "until", until, NULL) < 0)
		return EXIT_ERROR;
	return list_print(
		&options.connection, client, (const char *)path.data, "services",
		"no service has samples in this time range; a longer one (--last 24h) may have, "
		"and 'hearth hosts' lists the hosts whose agents sent any",
		format_services);
}
