/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/cli/command/function_command.h"

#include <stdio.h>

#include "common/log.h"
#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/client/server_message.h"
#include "symbolizer/cli/print/scoped_json.h"
#include "symbolizer/cli/print/terminal.h"

#define MAX_TEXT_BYTES (256 * MIB)
#define MAX_PATH_BYTES MIB

error_t function_parse(int key, char *text, struct argp_state *state)
{
	struct function_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->selection;
		state->child_inputs[1] = &options->connection;
		state->child_inputs[2] = &options->output;
		return 0;
	case 'd':
		options->folder = text;
		return 0;
	case ARGP_KEY_ARG:
		/* The first one is that of selection_argp, unless the service is an option. */
		if (state->arg_num == 0 && !options->selection.service && state->next < state->argc)
			return ARGP_ERR_UNKNOWN;
		if (options->function)
			argp_error(state, "give one function; quote a name with blanks");
		options->function = text;
		return 0;
	case ARGP_KEY_END:
		if (!options->function || !selection_is_given(&options->selection))
			argp_error(state, "give a service and a function; 'hearth top SERVICE' "
					  "lists the functions");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int function_width(const struct function_options *options)
{
	return options->output.width > 0 ? (int)options->output.width : terminal_of_stdout().width;
}

static int make_path(struct client *client, const struct function_command *command,
		     const struct function_options *options, struct bytes *path)
{
	const struct selection_options *selection = &options->selection;
	struct time_range_parameters range = time_range_parameters(&selection->range.range);

	return client_path(client, path, command->path, "service",
			   selection->service ? selection->service : "", "function",
			   options->function, "event", event_type_name(selection->event), "filter",
			   selection->filter ? selection->filter : "", "inlines",
			   selection->no_inlines ? "false" : "true", "since", range.since, "until",
			   range.until, command->syntax ? "syntax" : NULL, command->syntax, NULL);
}

static enum exit_code print_answer(struct client *client, const struct function_command *command,
				   const struct function_options *options, const struct bytes *body)
{
	scoped(source_finder_release) struct source_finder finder = { .client = client,
								      .folder = options->folder };
	scoped(json_freep) json_t *answer =
		json_loadb((const char *)body->data, body->size, 0, NULL);
	scoped_bytes struct bytes text = BYTES_INIT(MAX_TEXT_BYTES);
	int r = command->write(answer, options, command->arg, &finder, &text);

	if (r < 0) {
		(void)log_error_errno(r, "cannot print the server's answer: %m");
		return EXIT_ERROR;
	}
	server_message_print_note(list_text(answer, "message"));
	return terminal_print(&text) < 0 ? EXIT_ERROR : EXIT_OK;
}

/* 404: no samples, or none with the function. */
static enum exit_code fetch_and_print(struct client *client, const struct function_command *command,
				      const struct function_options *options, const char *path)
{
	const struct client_request request = { .method = "GET", .path = path };
	struct client_answer answer = { .body = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES) };
	enum exit_code code = EXIT_ERROR;

	if (client_exchange(client, &request, &answer) == 0 && answer.status == 404) {
		(void)fprintf(stderr, "%s\n", answer.message);
		code = EXIT_NO_DATA;
	} else if (answer.status != 200) {
		log_error("%s", answer.message);
	} else if (options->connection.json) {
		(void)bytes_append_byte(&answer.body, '\n');
		code = terminal_print(&answer.body) < 0 ? EXIT_ERROR : EXIT_OK;
	} else {
		code = print_answer(client, command, options, &answer.body);
	}
	bytes_release(&answer.body);
	return code;
}

enum exit_code function_command_run(const struct function_command *command,
				    const struct function_options *options)
{
	scoped(client_freep) struct client *client = NULL;
	scoped_bytes struct bytes path = BYTES_INIT(MAX_PATH_BYTES);
	int r;

	if (client_new(&options->connection, &client) < 0)
		return EXIT_ERROR;
	r = make_path(client, command, options, &path);
	if (r < 0) {
		(void)log_error_errno(r, "cannot write the request: %m");
		return EXIT_ERROR;
	}
	return fetch_and_print(client, command, options, (const char *)path.data);
}
