/* SPDX-License-Identifier: Apache-2.0 */

/* hearth debuginfo ls|rm|check: lists, removes or checks the debuginfo that the server stores. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/clock.h"
#include "common/executable_id.h"
#include "common/log.h"
#include "symbolizer/cli/client/list_answer.h"
#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/list/debuginfo_list.h"
#include "symbolizer/cli/print/number_format.h"
#include "symbolizer/cli/print/scoped_json.h"
#include "symbolizer/cli/print/terminal.h"

struct debuginfo_options {
	struct connection_options connection;
	const char *verb;
	char **ids; /* prefixes of build-IDs; whole ones after complete_ids() */
	int n_ids;
};

/* A text of this length is a whole build-ID, not a prefix. */
#define WHOLE_ID_CHARACTERS 40

static bool may_begin_id(const char *text)
{
	return strlen(text) >= DEBUGINFO_MIN_ID_CHARACTERS &&
	       strspn(text, "0123456789abcdefABCDEF") == strlen(text);
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct debuginfo_options *options = state->input;
	struct executable_id id;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->connection;
		return 0;
	case ARGP_KEY_ARG:
		if (!options->verb) {
			options->verb = text;
			return 0;
		}
		if (executable_id_parse(text, &id) < 0 && !may_begin_id(text))
			argp_error(state, "'%.60s' is no build-ID", text);
		if (!options->ids)
			options->ids = state->argv + state->next - 1;
		options->n_ids++;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "say what to do: ls, rm or check");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { &connection_argp, 0, NULL, 0 }, {} };

static const struct argp debuginfo_argp = {
	.parser = parse,
	.args_doc = "ls [BUILD-ID...]\nrm BUILD-ID...\ncheck [BUILD-ID...]",
	.children = children,
	.doc = "Lists the debuginfo that the server keeps (ls), removes it (rm), or has the server "
	       "compare it with its hashes and remove what is damaged (check; all of it when no "
	       "build-ID is given).",
};

static void make_path(const char *id, const char *rest, struct bytes *path)
{
	(void)bytes_append_format(path, "/v1/debuginfo/%s%s", id, rest);
	(void)bytes_append_byte(path, '\0');
}

/*
 * Sends one request about one build-ID. Returns 1 if done. Otherwise prints the reason, and returns
 * 0 (not stored) or -EIO.
 */
static int request(struct client *client, const char *method, const char *id, const char *rest,
		   struct client_answer *answer)
{
	scoped_bytes struct bytes path = BYTES_INIT(KIB);

	make_path(id, rest, &path);
	(void)client_exchange(client,
			      &(struct client_request){
				      .method = method, .path = (const char *)path.data, .fd = -1 },
			      answer);
	if (answer->status == 200)
		return 1;
	if (answer->status == 404) {
		(void)fprintf(stderr, "there is no debuginfo of build-ID %s\n", id);
		return 0;
	}
	log_error("%s: %s", id, answer->message);
	return -EIO;
}

/* ---- ls ------------------------------------------------------------------------------------- */

static void format_rows(const json_t *rows, uint64_t now_s, struct bytes *out)
{
	debuginfo_list_write(rows, terminal_of_stdout().width, now_s, out);
}

/* Lists the files of one build-ID. */
static enum exit_code list_one(const struct debuginfo_options *options, struct client *client,
			       const char *id)
{
	scoped_bytes struct bytes text = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES);
	scoped(json_freep) json_t *root = NULL;
	struct client_answer answer;
	int r = request(client, "GET", id, "", &answer);

	if (r > 0 && options->connection.json) {
		(void)bytes_append(&text, answer.body.data, answer.body.size);
		(void)bytes_append_byte(&text, '\n');
	} else if (r > 0) {
		root = json_loadb((const char *)answer.body.data, answer.body.size, 0, NULL);
		format_rows(json_object_get(root, "all"),
			    clock_wall_ns(&system_clock) / NSEC_PER_SEC, &text);
	}
	bytes_release(&answer.body);
	if (r < 0 || (r > 0 && terminal_print(&text) < 0))
		return EXIT_ERROR;
	return r > 0 ? EXIT_OK : EXIT_NO_DATA;
}

static enum exit_code list(const struct debuginfo_options *options, struct client *client)
{
	enum exit_code status = EXIT_OK;

	if (options->n_ids == 0)
		return list_print(&options->connection, client, "/v1/debuginfo", "debuginfo",
				  "there is no debuginfo on this server; upload some with hearth "
				  "upload FILE...",
				  format_rows);
	for (int i = 0; i < options->n_ids && status != EXIT_ERROR; i++) {
		enum exit_code one = list_one(options, client, options->ids[i]);

		status = one == EXIT_OK ? status : one;
	}
	return status;
}

/* ---- rm and check --------------------------------------------------------------------------- */

static enum exit_code remove_all(const struct debuginfo_options *options, struct client *client)
{
	int n_removed = 0;

	for (int i = 0; i < options->n_ids; i++) {
		struct client_answer answer;
		int r = request(client, "DELETE", options->ids[i], "", &answer);

		if (r > 0 && options->connection.json)
			(void)printf("%.*s\n", (int)answer.body.size,
				     (const char *)answer.body.data);
		else if (r > 0)
			(void)printf("removed the debuginfo of %s\n", options->ids[i]);
		bytes_release(&answer.body);
		if (r < 0)
			return EXIT_ERROR;
		n_removed += r;
	}
	return n_removed > 0 ? EXIT_OK : EXIT_NO_DATA;
}

struct check_totals {
	uint64_t n_files;
	uint64_t n_damaged;
	uint64_t bytes;
};

static int check_one(const struct debuginfo_options *options, struct client *client, const char *id,
		     struct check_totals *totals)
{
	scoped(json_freep) json_t *root = NULL;
	struct client_answer answer;
	int r = request(client, "POST", id, "/check", &answer);

	if (r > 0) {
		root = json_loadb((const char *)answer.body.data, answer.body.size, 0, NULL);
		totals->n_files += list_number(root, "files");
		totals->n_damaged += list_number(root, "damaged");
		totals->bytes += list_number(root, "size_bytes");
		if (options->connection.json)
			(void)printf("%.*s\n", (int)answer.body.size,
				     (const char *)answer.body.data);
		else if (list_number(root, "damaged") > 0)
			(void)printf("%s: %" PRIu64 " of %" PRIu64 " files were damaged and are "
				     "removed; upload them again\n",
				     id, list_number(root, "damaged"), list_number(root, "files"));
	}
	bytes_release(&answer.body);
	return r;
}

static int check_listed(const struct debuginfo_options *options, struct client *client,
			struct check_totals *totals)
{
	scoped_bytes struct bytes answer = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES);
	scoped(json_freep) json_t *root = NULL;
	const char *before = "";
	const json_t *rows;
	int r;

	r = client_get(client, "/v1/debuginfo", &answer);
	if (r < 0)
		return r;
	root = json_loadb((const char *)answer.data, answer.size, 0, NULL);
	rows = json_object_get(root, "debuginfo");
	for (size_t i = 0; i < json_array_size(rows) && r >= 0; i++) {
		const char *id = list_text(json_array_get(rows, i), "build_id");

		/* One request checks all files of a build-ID; their rows are adjacent. */
		if (strcmp(id, before) != 0)
			r = check_one(options, client, id, totals);
		before = id;
	}
	return MIN(r, 0);
}

static enum exit_code check(const struct debuginfo_options *options, struct client *client)
{
	struct check_totals totals = {};
	char bytes[NUMBER_TEXT_SIZE];
	int r = 0;

	if (options->n_ids == 0)
		r = check_listed(options, client, &totals);
	for (int i = 0; i < options->n_ids && r >= 0; i++)
		r = check_one(options, client, options->ids[i], &totals);
	if (r < 0)
		return EXIT_ERROR;
	format_bytes(totals.bytes, bytes);
	if (!options->connection.json)
		(void)printf("%" PRIu64 " files, %s: %" PRIu64 " damaged\n", totals.n_files, bytes,
			     totals.n_damaged);
	if (totals.n_damaged > 0)
		return EXIT_ERROR;
	return totals.n_files > 0 ? EXIT_OK : EXIT_NO_DATA;
}

/* ---- prefixes of build-IDs ------------------------------------------------------------------ */

/*
 * Replaces a prefix by the whole build-ID, if one begins with it. Logs an error and returns
 * -EINVAL.
 */
static int complete_id(const json_t *rows, char **id)
{
	const char *whole;
	int r = debuginfo_list_find(rows, *id, &whole);

	if (r < 0) {
		log_error("several build-IDs begin with %s: give more of its digits", *id);
		return -EINVAL;
	}
	if (r == 0)
		return 0;
	*id = strdup(whole);
	return *id ? 0 : -ENOMEM;
}

static int complete_ids(struct client *client, struct debuginfo_options *options)
{
	scoped_bytes struct bytes answer = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES);
	scoped(json_freep) json_t *root = NULL;
	bool all_whole = true;
	int r;

	for (int i = 0; i < options->n_ids; i++)
		all_whole = all_whole && strlen(options->ids[i]) >= WHOLE_ID_CHARACTERS;
	if (all_whole)
		return 0;
	r = client_get(client, "/v1/debuginfo", &answer);
	if (r < 0)
		return r;
	root = json_loadb((const char *)answer.data, answer.size, 0, NULL);
	for (int i = 0; i < options->n_ids && r == 0; i++)
		r = complete_id(json_object_get(root, "debuginfo"), &options->ids[i]);
	return r;
}

enum exit_code command_debuginfo(int argc, char **argv)
{
	static const struct {
		const char *name;
		enum exit_code (*run)(const struct debuginfo_options *options,
				      struct client *client);
		bool needs_ids;
	} verbs[] = {
		{ "ls", list, false },
		{ "rm", remove_all, true },
		{ "check", check, false },
	};
	scoped(client_freep) struct client *client = NULL;
	struct debuginfo_options options = {};
	int r;

	if (argp_parse(&debuginfo_argp, argc, argv, ARGP_IN_ORDER, NULL, &options) != 0)
		return EXIT_USAGE;
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].name, options.verb) != 0)
			continue;
		if (verbs[i].needs_ids && options.n_ids == 0) {
			(void)fprintf(stderr, "hearth debuginfo %s: name the build-IDs\n",
				      options.verb);
			return EXIT_USAGE;
		}
		if (client_new(&options.connection, &client) < 0)
			return EXIT_ERROR;
		r = complete_ids(client, &options);
		if (r < 0)
			return exit_code_of_error(r);
		return verbs[i].run(&options, client);
	}
	(void)fprintf(stderr, "hearth debuginfo: '%s' is none of ls, rm and check\n", options.verb);
	return EXIT_USAGE;
}
