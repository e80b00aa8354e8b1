/* SPDX-License-Identifier: Apache-2.0 */

/* hearth mcp: answers questions of an assistant about profiles, over stdin and stdout. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "common/log.h"
#include "symbolizer/cli/client/client.h"
#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/mcp/mcp_session.h"

/* A list of tools and the longest answer of a call, with escaped characters. */
#define MAX_ANSWER_BYTES (16 * MIB)

static error_t parse(int key, char *text, struct argp_state *state)
{
	(void)text;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->input;
	return 0;
}

static const struct argp_child children[] = { { &connection_argp, 0, NULL, 0 }, {} };

static const struct argp mcp_argp = {
	.parser = parse,
	.children = children,
	.doc = "Serves the Model Context Protocol on stdin and stdout, so that an assistant can "
	       "list services, read profiles, compare them, and find code without names. Ends at "
	       "the end of stdin.",
};

static int set_variable(const char *name, const char *value)
{
	if (!value)
		return unsetenv(name) < 0 ? -errno : 0;
	return setenv(name, value, 1) < 0 ? -errno : 0;
}

/* The commands of the tools read the connection from the environment. A token on a command line
 * would be visible to other users of the host. */
static int pass_connection(const struct connection_options *options)
{
	int r = set_variable("HEARTH_SERVER", options->server);

	if (r == 0)
		r = set_variable("HEARTH_TOKEN", options->token);
	return r < 0 ? r : set_variable("HEARTH_TOKEN_FILE", options->token_file);
}

static int answer_line(const struct mcp_session *session, const char *line, size_t length)
{
	scoped_bytes struct bytes answer = BYTES_INIT(MAX_ANSWER_BYTES);
	int r;

	if (strspn(line, " \t\r\n") == length)
		return 0;
	r = mcp_session_answer(session, (struct bytes_view){ (const uint8_t *)line, length },
			       &answer);
	return r < 0 ? r : write_all(STDOUT_FILENO, answer.data, answer.size);
}

/* Answers until the end of stdin. */
static int serve(const struct mcp_session *session)
{
	scoped_free char *line = malloc(MCP_MAX_MESSAGE_BYTES);
	int r = line ? 0 : -ENOMEM;

	while (r == 0 && fgets(line, MCP_MAX_MESSAGE_BYTES, stdin)) {
		const size_t length = strlen(line);

		r = length + 1 == MCP_MAX_MESSAGE_BYTES && line[length - 1] != '\n'
			    ? -EMSGSIZE
			    : answer_line(session, line, length);
	}
	return r;
}

enum exit_code command_mcp(int argc, char **argv)
{
	const struct mcp_session session = { .run = command_output_run };
	struct connection_options options = {};
	char message[CLIENT_MESSAGE_SIZE];
	int r;

	if (argp_parse(&mcp_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	if (client_check_token(&options, message) < 0) {
		log_error("%s", message);
		return EXIT_ERROR;
	}
	r = pass_connection(&options);
	if (r == 0)
		r = serve(&session);
	if (r == -EPIPE)
		return EXIT_OK;
	if (r < 0)
		(void)log_error_errno(r, "cannot answer on stdin and stdout: %m");
	return r < 0 ? EXIT_ERROR : EXIT_OK;
}
