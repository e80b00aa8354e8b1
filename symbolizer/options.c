/* SPDX-License-Identifier: Apache-2.0 */

/*
 * argp's table of options is made from the table of keys. Flags are collected first and applied
 * last, because one of them names the file that comes before. argp reorders the arguments, so that
 * it gets a copy.
 */

#include "symbolizer/options.h"

#include <argp.h>
#include <string.h>

#include "common/bytes.h"
#include "common/config_flags.h"
#include "common/scoped.h"
#include "common/vec.h"
#include "symbolizer/http/auth.h"
#include "symbolizer/token_command.h"

/* Beyond the characters, which would be short forms; those of configuration keys follow. */
enum option_key {
	OPTION_HELP = '?',
	OPTION_VERSION = 'V',
	OPTION_CONFIG = 0x100,
	OPTION_PORT,
	OPTION_SCOPES,
	OPTION_TENANT,
	OPTION_FIRST_ANSWER, /* from here on: something else than a run is wanted */
	OPTION_USAGE = OPTION_FIRST_ANSWER,
	OPTION_CHECK,
	OPTION_PRINT,
	OPTION_PRINT_DEFAULT,
	OPTION_PRINT_MARKDOWN,
	OPTION_MAKE_TOKEN,
	OPTION_FIRST_KEY,
};

#define MAX_PRINTED_BYTES (1 * MIB)

static const struct argp_option fixed_options[] = {
	{ "config", OPTION_CONFIG, "FILE", 0,
	  "Configuration file (default " SYMBOLIZER_CONFIG_FILE ", if it is there)", 1 },
	{ "port", OPTION_PORT, "PORT", 0, "The same as --listen=127.0.0.1:PORT", 1 },
	{ "check-config", OPTION_CHECK, NULL, 0, "Check the configuration and exit", 1 },
	{ "print-config", OPTION_PRINT, NULL, 0, "Print the effective configuration and exit", 1 },
	{ "print-default-config", OPTION_PRINT_DEFAULT, NULL, OPTION_HIDDEN,
	  "Print a commented configuration file and exit", 1 },
	{ "print-config-markdown", OPTION_PRINT_MARKDOWN, NULL, OPTION_HIDDEN,
	  "Print the table of keys in Markdown and exit", 1 },
	{ "make-token", OPTION_MAKE_TOKEN, "NAME", 0,
	  "Print a new token, append its entry to the file of --tokens (without: print it too), "
	  "and "
	  "exit",
	  3 },
	{ "scopes", OPTION_SCOPES, "LIST", 0,
	  "With --make-token: any of ingest, upload, read, admin", 3 },
	{ "tenant", OPTION_TENANT, "TENANT", 0,
	  "With --make-token: whose data it is for (default 'default')", 3 },
	{ "help", OPTION_HELP, NULL, 0, "Print this help and exit", 4 },
	{ "usage", OPTION_USAGE, NULL, 0, "Print a short help and exit", 4 },
	{ "version", OPTION_VERSION, NULL, 0, "Print the version and exit", 4 },
};

struct flag {
	const char *name;  /* as given, for messages */
	const char *key;   /* of the configuration */
	const char *value; /* NULL for a flag alone */
};

VEC_DEFINE(flag_vec, struct flag);

struct options {
	const char *config_path; /* NULL the default */
	const char *token_name, *token_scopes, *token_tenant;
	int answer; /* an OPTION_..., 0 to run */
	struct flag_vec flags;
};

static error_t take_fixed(struct options *options, int key, char *argument)
{
	switch (key) {
	case OPTION_CONFIG:
		options->config_path = argument;
		return 0;
	case OPTION_SCOPES:
		options->token_scopes = argument;
		return 0;
	case OPTION_TENANT:
		options->token_tenant = argument;
		return 0;
	case OPTION_PORT:
		return vec_push(&options->flags, (struct flag){ .name = "port",
								.key = "listen",
								.value = argument }) < 0
			       ? ENOMEM
			       : 0;
	case OPTION_MAKE_TOKEN:
		options->token_name = argument;
		break;
	default:
		break;
	}
	if (!options->answer)
		options->answer = key;
	return 0;
}

static error_t take_option(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const char *name;
	size_t index;

	if (key == ARGP_KEY_ARG) {
		argp_error(state, "'%s' is no flag", argument);
		return EINVAL;
	}
	if (key == OPTION_HELP || key == OPTION_VERSION ||
	    (key >= OPTION_CONFIG && key < OPTION_FIRST_KEY))
		return take_fixed(options, key, argument);
	if (key < OPTION_FIRST_KEY || key >= ARGP_KEY_END)
		return ARGP_ERR_UNKNOWN;

	index = (size_t)(key - OPTION_FIRST_KEY);
	if (index >= symbolizer_config_table.n_keys)
		return ARGP_ERR_UNKNOWN;
	name = symbolizer_config_table.keys[index].name;
	return vec_push(&options->flags,
			(struct flag){ .name = name, .key = name, .value = argument }) < 0
		       ? ENOMEM
		       : 0;
}

static const struct config_flag_source flag_source = {
	.fixed = fixed_options,
	.n_fixed = ARRAY_SIZE(fixed_options),
	.table = &symbolizer_config_table,
	.first_key = OPTION_FIRST_KEY,
	.group = 2,
};

static int apply_flag(const struct flag *flag, struct symbolizer_config *config, char *message)
{
	char source[CONFIG_FLAG_NAME_SIZE + 2] = "--", address[64];
	const char *value = flag->value;

	config_flag_name(flag->name, source + 2);
	if (strcmp(flag->name, "port") == 0) {
		(void)snprintf(address, sizeof(address), "127.0.0.1:%.32s", flag->value);
		value = address;
	}
	return config_set(&symbolizer_config_table, flag->key, value, source, config, message);
}

static int load(const struct options *options, char *const *environment,
		struct symbolizer_config *config, char *message)
{
	const char *path = options->config_path ? options->config_path : SYMBOLIZER_CONFIG_FILE;
	int r;

	r = config_set_defaults(&symbolizer_config_table, config);
	if (r < 0)
		return r;
	r = config_load_file(&symbolizer_config_table, path, config, message);
	if (r == -ENOENT && options->config_path)
		(void)snprintf(message, OPTIONS_MESSAGE_SIZE, "'%.200s' does not exist", path);
	if (r < 0 && (r != -ENOENT || options->config_path))
		return r;
	r = config_load_environment(&symbolizer_config_table, environment, config, message);
	for (size_t i = 0; r == 0 && i < options->flags.count; i++)
		r = apply_flag(&options->flags.items[i], config, message);
	return r < 0 ? r : symbolizer_config_check(config, message);
}

static int write_out(const struct bytes *text, FILE *out)
{
	if (bytes_error(text))
		return bytes_error(text);
	return fwrite(text->data, 1, text->size, out) == text->size && fflush(out) == 0 ? 0 : -EIO;
}

/* Only a file that the command line names is changed, none of the configuration. */
static int make_token(const struct options *options, FILE *out, char *message)
{
	struct token_request request = {
		.name = options->token_name,
		.scopes = options->token_scopes ? options->token_scopes : "",
		.tenant = options->token_tenant ? options->token_tenant : AUTH_DEFAULT_TENANT,
		.path = "",
		.out = out,
		.hints = stderr,
	};

	for (size_t i = 0; i < options->flags.count; i++) {
		const struct flag *flag = &options->flags.items[i];

		if (strcmp(flag->key, "tokens") == 0)
			request.path = flag->value;
	}
	return token_command(&request, message);
}

/* The answers that need no configuration. 1: that was one. */
static int answer_from_table(const struct options *options, const struct argp *argp, FILE *out,
			     char *message)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MAX_PRINTED_BYTES);
	char name[] = "hearth-symbolizer";
	int r;

	switch (options->answer) {
	case OPTION_HELP:
		argp_help(argp, out, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
		return 1;
	case OPTION_USAGE:
		argp_help(argp, out, ARGP_HELP_USAGE, name);
		return 1;
	case OPTION_MAKE_TOKEN:
		r = make_token(options, out, message);
		return r < 0 ? r : 1;
	case OPTION_VERSION:
		(void)bytes_append_format(&text, "hearth-symbolizer %s\n", HEARTH_VERSION);
		break;
	case OPTION_PRINT_DEFAULT:
		(void)config_print_default_file(&symbolizer_config_table, SYMBOLIZER_CONFIG_TITLE,
						&text);
		break;
	case OPTION_PRINT_MARKDOWN:
		(void)config_print_markdown(&symbolizer_config_table, SYMBOLIZER_CONFIG_TITLE,
					    &text);
		break;
	default:
		return 0;
	}
	r = write_out(&text, out);
	return r < 0 ? r : 1;
}

static int answer_from_config(int answer, const struct symbolizer_config *config, FILE *out)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MAX_PRINTED_BYTES);

	if (answer == OPTION_CHECK)
		(void)bytes_append_text(&text, "the configuration is valid\n");
	else
		(void)config_print(&symbolizer_config_table, config, &text);
	return write_out(&text, out);
}

static int run(const struct options *options, const struct argp *argp, char *const *environment,
	       FILE *out, struct symbolizer_config *ret_config, char *message)
{
	scoped(symbolizer_config_release) struct symbolizer_config config = {};
	int r;

	r = answer_from_table(options, argp, out, message);
	if (r != 0)
		return r < 0 ? r : OPTIONS_ANSWERED;
	r = load(options, environment, &config, message);
	if (r < 0)
		return r;
	if (options->answer) {
		r = answer_from_config(options->answer, &config, out);
		return r < 0 ? r : OPTIONS_ANSWERED;
	}
	*ret_config = config;
	config = (struct symbolizer_config){};
	return OPTIONS_RUN;
}

int options_parse(int argc, char **argv, char *const *environment, FILE *out,
		  struct symbolizer_config *ret_config, char ret_message[OPTIONS_MESSAGE_SIZE])
{
	scoped(config_flags_release) struct config_flags flags = {};
	scoped_free char **arguments = calloc((size_t)argc + 1, sizeof(*arguments));
	struct options options = {};
	struct argp argp = {
		.parser = take_option,
		.doc = "Stores the samples of a fleet, gives names to their addresses and serves "
		       "profiles over HTTP."
		       "\vFlags win over HEARTH_SYMBOLIZER_* variables, and these over the file.",
	};
	int r = config_flags_init(&flags, &flag_source);

	if (!arguments)
		r = -ENOMEM;
	if (r == 0) {
		argp.options = flags.options;
		memcpy(arguments, argv, (size_t)argc * sizeof(*arguments));
		(void)snprintf(ret_message, OPTIONS_MESSAGE_SIZE, "see --help for the flags");
		r = -argp_parse(&argp, argc, arguments, ARGP_NO_EXIT | ARGP_NO_HELP, NULL,
				&options);
	}
	if (r == 0)
		r = run(&options, &argp, environment, out, ret_config, ret_message);
	if (r == -ENOMEM)
		(void)snprintf(ret_message, OPTIONS_MESSAGE_SIZE, "out of memory");
	vec_release(&options.flags);
	return r;
}
