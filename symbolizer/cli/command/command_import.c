/* SPDX-License-Identifier: Apache-2.0 */

/* hearth import: sends a profile of another profiler to the server. */

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/log.h"
#include "common/shell_word.h"
#include "symbolizer/cli/client/client.h"
#include "symbolizer/cli/command/command.h"
#include "symbolizer/cli/print/scoped_json.h"

struct import_options {
	struct connection_options connection;
	const char *service, *file;
	bool is_otlp;
};

enum { KEY_SERVICE = 256, KEY_FORMAT };

/* Of a service in a printed command. */
#define MAX_NAME_BYTES 512

static const struct argp_option import_rows[] = {
	{ "service", KEY_SERVICE, "NAME", 0,
	  "The service of the samples; NAME{region=eu,hostname=web-1} adds labels", 0 },
	{ "format", KEY_FORMAT, "FORMAT", 0,
	  "pprof (default), or otlp: a request of OpenTelemetry's profiles in protobuf, which "
	  "names its services",
	  0 },
	{},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct import_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->connection;
		return 0;
	case KEY_SERVICE:
		options->service = text;
		return 0;
	case KEY_FORMAT:
		options->is_otlp = strcmp(text, "otlp") == 0;
		if (!options->is_otlp && strcmp(text, "pprof") != 0)
			argp_error(state, "--format is pprof or otlp");
		return 0;
	case ARGP_KEY_ARG:
		if (options->file)
			argp_error(state, "give one file");
		options->file = text;
		return 0;
	case ARGP_KEY_END:
		if (!options->file)
			argp_error(state, "give a file");
		if (options->is_otlp && options->service)
			argp_error(state, "a file of OTLP names its services: omit --service");
		if (!options->is_otlp && (!options->service || !*options->service))
			argp_error(state, "name the service with --service");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { &connection_argp, 0, NULL, 0 }, {} };

static const struct argp import_argp = {
	.options = import_rows,
	.parser = parse,
	.children = children,
	.args_doc = "FILE",
	.doc = "Sends a profile of pprof, such as those of Go's runtime/pprof, or a request of "
	       "OpenTelemetry's profiles to the server. Its samples have the time of the profile. "
	       "A file that was sent before is not counted twice. Needs a token with scope ingest.",
};

/* Warns of profiles of a file that the server has not stored. */
static void report_rejected(const struct import_options *options, const json_t *summary)
{
	const json_int_t count = json_integer_value(json_object_get(summary, "profiles_rejected"));
	const char *reason = json_string_value(json_object_get(summary, "reason"));

	if (count > 0)
		log_warn("%lld profiles of '%s' are wrong and were not stored, the first: %s",
			 (long long)count, options->file, reason ? reason : "");
}

/* Prints the service and a command that shows the samples, which may be older than the ranges that
 * commands show by default. An earlier server does not send the range. */
static void print_summary(const struct import_options *options, const json_t *summary)
{
	const json_int_t since = json_integer_value(json_object_get(summary, "since"));
	const json_int_t until = json_integer_value(json_object_get(summary, "until"));
	char name[MAX_NAME_BYTES], command[2 * MAX_NAME_BYTES] = "services";

	if (options->is_otlp) {
		(void)printf("imported '%s'\n", options->file);
	} else {
		(void)printf("imported '%s' as service '%s'\n", options->file, options->service);
		/* Labels follow the name in braces. */
		(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(options->service, "{"),
			       options->service);
		(void)snprintf(command, sizeof(command), "flame --service=");
		shell_word_append(name, command, sizeof(command));
	}
	if (until > 0)
		(void)printf("to see it: hearth %s --since %lld --until %lld\n", command,
			     (long long)since, (long long)until);
}

static enum exit_code report(const struct import_options *options,
			     const struct client_answer *answer)
{
	scoped(json_freep) json_t *summary = NULL;

	if (answer->status != 200) {
		log_error("cannot import '%s': %s", options->file, answer->message);
		return EXIT_ERROR;
	}
	summary = json_loadb((const char *)answer->body.data, answer->body.size, 0, NULL);
	report_rejected(options, summary);
	if (options->connection.json)
		(void)printf("%.*s\n", (int)answer->body.size, (const char *)answer->body.data);
	else
		print_summary(options, summary);
	return EXIT_OK;
}

static enum exit_code send_file(const struct import_options *options, struct client *client, int fd,
				uint64_t size)
{
	scoped_bytes struct bytes path = BYTES_INIT(64 * KIB);
	struct client_answer answer;
	enum exit_code status;
	int r = client_path(client, &path, "/v1/profile/pprof",
			    options->is_otlp ? "format" : "service",
			    options->is_otlp ? "otlp" : options->service, NULL);

	if (r < 0) {
		(void)log_error_errno(r, "cannot make the request: %m");
		return EXIT_ERROR;
	}
	(void)client_exchange(
		client,
		&(struct client_request){
			.method = "POST", .path = (const char *)path.data, .fd = fd, .size = size },
		&answer);
	status = report(options, &answer);
	bytes_release(&answer.body);
	return status;
}

enum exit_code command_import(int argc, char **argv)
{
	scoped(client_freep) struct client *client = NULL;
	struct import_options options = {};
	scoped_fd int fd = -1;
	struct stat status;

	if (argp_parse(&import_argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	fd = open(options.file, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0) {
		(void)log_error_errno(-errno, "cannot read '%s': %m", options.file);
		return EXIT_ERROR;
	}
	if (!S_ISREG(status.st_mode)) {
		log_error("'%s' is no regular file", options.file);
		return EXIT_ERROR;
	}
	if (client_new(&options.connection, &client) < 0)
		return EXIT_ERROR;
	return send_file(&options, client, fd, (uint64_t)status.st_size);
}
