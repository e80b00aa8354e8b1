/* SPDX-License-Identifier: Apache-2.0 */

/* hearth delete: has the server delete all samples of a service. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "symbolizer/cli/client/client.h"
#include "symbolizer/cli/command/command.h"

struct delete_options {
	struct connection_options connection;
	const char *service;
	bool yes;
};

enum { KEY_SERVICE = 256, KEY_YES };

static const struct argp_option delete_rows[] = {
	{ "service", KEY_SERVICE, "NAME", 0, "The service, by its whole name", 0 },
	{ "yes", KEY_YES, NULL, 0, "Do not ask", 0 },
	{},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct delete_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->connection;
		return 0;
	case KEY_SERVICE:
		options->service = text;
		return 0;
	case KEY_YES:
		options->yes = true;
		return 0;
	case ARGP_KEY_END:
		if (!options->service || !*options->service)
			argp_error(state, "name the service with --service");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { &connection_argp, 0, NULL, 0 }, {} };

static const struct argp delete_argp = {
	.options = delete_rows,
	.parser = parse,
	.children = children,
	.doc = "Has the server delete all samples of a service, of all hosts and times. Asks "
	       "before, unless --yes. Needs a token with scope admin. Samples that agents send "
	       "later are stored again.",
};

/* 1: yes, 0: no; negative: nobody can answer. */
static int ask(const struct delete_options *options)
{
	char answer[16];

	if (options->yes)
		return 1;
	if (!isatty(STDIN_FILENO)) {
		(void)fprintf(stderr, "hearth delete: give --yes, because stdin is no terminal to "
				      "ask on\n");
		return -EINVAL;
	}
	(void)printf("Delete all samples of service '%s', of all hosts and times? [y/N] ",
		     options->service);
	(void)fflush(stdout);
	return fgets(answer, sizeof(answer), stdin) &&
	       (strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0);
}

static enum exit_code report(const struct delete_options *options,
			     const struct client_answer *answer)
{
	if (answer->status == 404) {
		(void)fprintf(stderr, "there are no samples of service '%s'\n", options->service);
		return EXIT_NO_DATA;
	}
	if (answer->status != 200) {
		log_error("%s", answer->message);
		return EXIT_ERROR;
	}
	if (options->connection.json)
		(void)printf("%.*s\n", (int)answer->body.size, (const char *)answer->body.data);
	else
		(void)printf("deleted all samples of service '%s'\n", options->service);
	return EXIT_OK;
}

enum exit_code command_delete(int argc, char **argv)
{
	scoped_bytes struct bytes path = BYTES_INIT(64 * KIB);
	scoped(client_freep) struct client *client = NULL;
	struct delete_options options = {};
	struct client_answer answer;
	enum exit_code status;
	int r;

	if (argp_parse(&delete_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	r = ask(&options);
	if (r <= 0)
		return r < 0 ? EXIT_USAGE : EXIT_OK;
	if (client_new(&options.connection, &client) < 0)
		return EXIT_ERROR;
	r = client_path(client, &path, "/v1/services", "service", options.service, NULL);
	if (r < 0) {
		(void)log_error_errno(r, "cannot make the request: %m");
		return EXIT_ERROR;
	}
	(void)client_exchange(client,
			      &(struct client_request){ .method = "DELETE",
							.path = (const char *)path.data,
							.fd = -1 },
			      &answer);
	status = report(&options, &answer);
	bytes_release(&answer.body);
	return status;
}
