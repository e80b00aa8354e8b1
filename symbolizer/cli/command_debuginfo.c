/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hearth debuginfo ls|rm|check: what the server keeps.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/clock.h"
#include "common/executable_id.h"
#include "common/log.h"
#include "symbolizer/cli/human.h"
#include "symbolizer/cli/json_text.h"
#include "symbolizer/cli/list_answer.h"
#include "symbolizer/cli/terminal.h"

struct debuginfo_options {
	struct connection_options connection;
	const char *verb;
	char **ids;
	int n_ids;
};

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
		if (executable_id_parse(text, &id) < 0)
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

/* One request about one build-ID. 1 done, 0 not there (said), -EIO (said). */
static int ask_about(struct client *client, const char *method, const char *id, const char *rest,
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
	log_error("%s: %s", id, answer->words);
	return -EIO;
}

/* ---- ls ------------------------------------------------------------------------------------- */

static const char *words_for(const json_t *row)
{
	bool executable = json_is_true(json_object_get(row, "executable"));
	const char *has = list_text(row, "has");

	if (strcmp(list_text(row, "kind"), "source") == 0)
		return "sources";
	if (strcmp(list_text(row, "kind"), "split") == 0)
		return "split DWARF";
	if (strcmp(has, "nothing") == 0 || strcmp(has, "embedded") == 0)
		return "code";
	if (strcmp(has, "dwarf") == 0)
		return executable ? "code, DWARF" : "DWARF";
	if (strcmp(has, "lines") == 0)
		return executable ? "code, lines" : "lines";
	return executable ? "code, symbols" : "symbols";
}

static void format_age(uint64_t time_s, uint64_t now_s, char ret_text[HUMAN_SIZE])
{
	if (time_s == 0)
		(void)snprintf(ret_text, HUMAN_SIZE, "never");
	else
		human_age(now_s > time_s ? now_s - time_s : 0, ret_text);
}

static void format_row(const json_t *row, uint64_t now_s, struct bytes *out)
{
	char size[HUMAN_SIZE], stored[HUMAN_SIZE], uploaded[HUMAN_SIZE], used[HUMAN_SIZE];

	human_bytes(list_number(row, "size_bytes"), size);
	human_bytes(list_number(row, "stored_bytes"), stored);
	format_age(list_number(row, "uploaded_time"), now_s, uploaded);
	format_age(list_number(row, "last_used_time"), now_s, used);
	(void)human_append(out, list_text(row, "build_id"), -1);
	(void)bytes_append_format(out, "  %-8s  %-13s  %5" PRIu64 "  %9s  %9s  %-10s  %s\n",
				  list_text(row, "origin"), words_for(row),
				  list_number(row, "files"), size, stored, uploaded, used);
}

static void format_rows(const json_t *rows, uint64_t now_s, struct bytes *out)
{
	(void)bytes_append_format(out, "%-40s  %-8s  %-13s  %5s  %9s  %9s  %-10s  %s\n", "build-ID",
				  "from", "has", "files", "size", "stored", "uploaded",
				  "last used");
	for (size_t i = 0; i < json_array_size(rows); i++)
		format_row(json_array_get(rows, i), now_s, out);
}

/* Of one build-ID. */
static enum exit_code list_one(const struct debuginfo_options *options, struct client *client,
			       const char *id)
{
	scoped_bytes struct bytes text = BYTES_INIT(CLIENT_MAX_ANSWER_BYTES);
	scoped(json_freep) json_t *root = NULL;
	struct client_answer answer;
	int r = ask_about(client, "GET", id, "", &answer);

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

/* ---- rm and check -----------------------------------------------------------------------------
 */

static enum exit_code remove_all(const struct debuginfo_options *options, struct client *client)
{
	int n_removed = 0;

	for (int i = 0; i < options->n_ids; i++) {
		struct client_answer answer;
		int r = ask_about(client, "DELETE", options->ids[i], "", &answer);

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
	int r = ask_about(client, "POST", id, "/check", &answer);

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

		/* Files of one stand together; all of them are checked at once. */
		if (strcmp(id, before) != 0)
			r = check_one(options, client, id, totals);
		before = id;
	}
	return MIN(r, 0);
}

static enum exit_code check(const struct debuginfo_options *options, struct client *client)
{
	struct check_totals totals = {};
	char bytes[HUMAN_SIZE];
	int r = 0;

	if (options->n_ids == 0)
		r = check_listed(options, client, &totals);
	for (int i = 0; i < options->n_ids && r >= 0; i++)
		r = check_one(options, client, options->ids[i], &totals);
	if (r < 0)
		return EXIT_ERROR;
	human_bytes(totals.bytes, bytes);
	if (!options->connection.json)
		(void)printf("%" PRIu64 " files, %s: %" PRIu64 " damaged\n", totals.n_files, bytes,
			     totals.n_damaged);
	if (totals.n_damaged > 0)
		return EXIT_ERROR;
	return totals.n_files > 0 ? EXIT_OK : EXIT_NO_DATA;
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
		return client_new(&options.connection, &client) < 0
			       ? EXIT_ERROR
			       : verbs[i].run(&options, client);
	}
	(void)fprintf(stderr, "hearth debuginfo: '%s' is none of ls, rm and check\n", options.verb);
	return EXIT_USAGE;
}
