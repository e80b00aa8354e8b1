/* SPDX-License-Identifier: Apache-2.0 */

/* hearth symbolize: prints the functions that the server finds at addresses of one program. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/executable_id.h"
#include "common/json_writer.h"
#include "common/log.h"
#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/print/printable.h"
#include "symbolizer/cli/print/scoped_json.h"
#include "symbolizer/cli/print/terminal.h"

/* The server accepts no more addresses in one request. */
#define MAX_ADDRESSES 100000

#define MAX_LINE_BYTES 256

/*
 * Requests are repeated for half a minute; the server needs some seconds to make the largest
 * tables.
 */
#define MAX_REPEATS 60

enum option_key {
	KEY_KERNEL = 0x300,
};

struct symbolize_options {
	struct connection_options connection;
	const char *build_id;
	bool kernel;
	char **addresses; /* if there are none, read them from standard input */
	int n_addresses;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct symbolize_options *options = state->input;
	struct executable_id id;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->connection;
		return 0;
	case 'b':
		if (executable_id_parse(text, &id) < 0)
			argp_error(state, "--build-id '%.60s' is no build-ID", text);
		options->build_id = text;
		return 0;
	case KEY_KERNEL:
		options->kernel = true;
		return 0;
	case ARGP_KEY_ARG:
		/* Take all remaining arguments: argp has moved the options before them. */
		options->addresses = state->argv + state->next - 1;
		options->n_addresses = state->argc - state->next + 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		if (!options->build_id)
			argp_error(state, "--build-id says of which program; readelf -n prints it");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option rows[] = {
	{ "build-id", 'b', "BUILD-ID", 0, "of the program or library", 0 },
	{ "kernel", KEY_KERNEL, NULL, 0, "the addresses count from the kernel's _text", 0 },
	{}
};

static const struct argp_child children[] = { { &connection_argp, 0, NULL, 0 }, {} };

static const struct argp symbolize_argp = {
	.options = rows,
	.parser = parse,
	.args_doc = "[ADDRESS...]",
	.children = children,
	.doc = "Prints the functions at addresses (hexadecimal virtual addresses of the ELF file, "
	       "as nm prints them). Without arguments, addresses are read from standard input, "
	       "one per line.",
};

/* The server checks the text and reports what is wrong with it. */
static void add_address(struct json_writer *json, const char *text, size_t *count)
{
	json_text_sized(json, text, strcspn(text, "\r\n"));
	++*count;
}

static int add_addresses(const struct symbolize_options *options, struct json_writer *json)
{
	char line[MAX_LINE_BYTES];
	size_t count = 0;

	for (int i = 0; i < options->n_addresses; i++)
		add_address(json, options->addresses[i], &count);
	while (options->n_addresses == 0 && fgets(line, sizeof(line), stdin))
		if (line[strspn(line, " \t\r\n")])
			add_address(json, line + strspn(line, " \t"), &count);
	if (count > 0 && count <= MAX_ADDRESSES)
		return 0;
	log_error("%zu addresses: give 1 to %d at a time", count, MAX_ADDRESSES);
	return -EINVAL;
}

static int make_request(const struct symbolize_options *options, struct bytes *body)
{
	struct json_writer json;
	int r;

	json_writer_init(&json, body);
	json_object_begin(&json);
	json_key_text(&json, "build_id", options->build_id);
	json_key_bool(&json, "kernel", options->kernel);
	json_key(&json, "addresses");
	json_array_begin(&json);
	r = add_addresses(options, &json);
	json_array_end(&json);
	json_object_end(&json);
	return r < 0 ? r : bytes_error(body);
}

static void append_source_line(struct bytes *out, const json_t *frame)
{
	const char *file = list_text(frame, "file");

	if (!*file)
		return;
	(void)bytes_append_text(out, "  ");
	(void)printable_append(out, file, -1);
	if (list_number(frame, "line") > 0)
		(void)bytes_append_format(out, ":%" PRIu64, list_number(frame, "line"));
}

static void append_function(struct bytes *out, const json_t *frame)
{
	const char *function = list_text(frame, "function");

	if (*function)
		(void)printable_append(out, function, -1);
	else
		(void)bytes_append_format(out, "? (%s)", list_text(frame, "status"));
	append_source_line(out, frame);
	(void)bytes_append_byte(out, '\n');
}

/* Appends the functions that the function was inlined into, innermost first. */
static void append_callers(struct bytes *out, const json_t *frame)
{
	const json_t *callers = json_object_get(frame, "inlined_into");

	for (size_t i = 0; i < json_array_size(callers); i++) {
		(void)bytes_append_format(out, "%-18s    inlined into ", "");
		append_function(out, json_array_get(callers, i));
	}
}

/* Returns whether any frame has a name. */
static bool format_frames(const json_t *frames, struct bytes *out)
{
	bool named = false;

	for (size_t i = 0; i < json_array_size(frames); i++) {
		const json_t *frame = json_array_get(frames, i);

		(void)bytes_append_format(out, "%-18s  ", list_text(frame, "address"));
		append_function(out, frame);
		append_callers(out, frame);
		named = named || *list_text(frame, "function");
	}
	return named;
}

/* Repeats the request while the server is still making the symbol table of this program. */
static int symbolize(struct client *client, const struct bytes *request, struct bytes *answer,
		     json_t **ret_root)
{
	const struct timespec nap = { .tv_nsec = 500 * 1000 * 1000 };

	for (int i = 0;; i++) {
		scoped(json_freep) json_t *root = NULL;
		int r;

		bytes_clear(answer);
		r = client_post_json(client, "/v1/symbolize", bytes_view_of(request), answer);
		if (r < 0)
			return r;
		root = json_loadb((const char *)answer->data, answer->size, 0, NULL);
		if (i < MAX_REPEATS && json_is_true(json_object_get(root, "pending"))) {
			(void)nanosleep(&nap, NULL);
			continue;
		}
		*ret_root = take_ptr(root);
		return 0;
	}
}

static enum exit_code print_answer(const json_t *root)
{
	scoped_bytes struct bytes text = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES);
	bool named = format_frames(json_object_get(root, "frames"), &text);

	if (terminal_print(&text) < 0)
		return EXIT_ERROR;
	if (!named && *list_text(root, "why"))
		(void)fprintf(stderr, "no names: %s\n", list_text(root, "why"));
	return named ? EXIT_OK : EXIT_NO_DATA;
}

enum exit_code command_symbolize(int argc, char **argv)
{
	scoped_bytes struct bytes answer = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES);
	scoped_bytes struct bytes request = BYTES_INIT(64 * MIB);
	scoped(client_freep) struct client *client = NULL;
	scoped(json_freep) json_t *root = NULL;
	struct symbolize_options options = {};
	int r;

	if (argp_parse(&symbolize_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	r = make_request(&options, &request);
	if (r == 0)
		r = client_new(&options.connection, &client);
	if (r == 0)
		r = symbolize(client, &request, &answer, &root);
	if (r < 0)
		return exit_code_of_error(r);
	if (!options.connection.json)
		return print_answer(root);
	(void)bytes_append_byte(&answer, '\n');
	return terminal_print(&answer) < 0 ? EXIT_ERROR : EXIT_OK;
}
