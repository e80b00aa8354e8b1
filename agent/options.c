/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/options.h"

#include <argp.h>
#include <string.h>

#include "common/bytes.h"
#include "common/config_flags.h"
#include "common/scoped.h"
#include "common/vec.h"

/*
 * argp's table of options is made from the table of keys. Flags are collected first and applied
 * last, because one of them names the file that comes before. argp reorders argv, so that it gets a
 * copy.
 */

/* Options without a short form have keys beyond the characters; those of configuration keys follow.
 */
enum option_key {
	OPTION_HELP = '?',
	OPTION_VERSION = 'V',
	OPTION_CONFIG = 0x100,
	OPTION_USAGE,
	OPTION_CHECK,
	OPTION_PRINT,
	OPTION_PRINT_DEFAULT,
	OPTION_PRINT_MARKDOWN,
	OPTION_FIRST_KEY,
};

#define MAX_PRINTED_BYTES (1 * MIB)

static const struct argp_option fixed_options[] = {
	{ "config", OPTION_CONFIG, "FILE", 0,
	  "Configuration file (default " AGENT_CONFIG_FILE ", if it is there)", 1 },
	{ "check-config", OPTION_CHECK, NULL, 0, "Check the configuration and exit", 1 },
	{ "print-config", OPTION_PRINT, NULL, 0, "Print the effective configuration and exit", 1 },
	{ "print-default-config", OPTION_PRINT_DEFAULT, NULL, 0,
	  "Print a commented configuration file and exit", 1 },
	{ "print-config-markdown", OPTION_PRINT_MARKDOWN, NULL, 0,
	  "Print the table of keys in Markdown and exit", 1 },
	{ "help", OPTION_HELP, NULL, 0, "Print this help and exit", 3 },
	{ "usage", OPTION_USAGE, NULL, 0, "Print a short help and exit", 3 },
	{ "version", OPTION_VERSION, NULL, 0, "Print the version and exit", 3 },
};

static const struct config_flag_alias aliases[] = {
	{ "spool", "spool.folder" },
};

struct flag {
	const struct config_key *key;
	const char *value; /* NULL for a flag alone */
};

VEC_DEFINE(flag_vec, struct flag);

struct options {
	const char *config_path; /* NULL the default */
	int answer;              /* an OPTION_..., 0 to run */
	struct flag_vec flags;
};

static error_t take_option(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	size_t index;

	if (key == ARGP_KEY_ARG) {
		argp_error(state, "'%s' is no flag", argument);
		return EINVAL;
	}
	if (key == OPTION_CONFIG) {
		options->config_path = argument;
		return 0;
	}
	if (key == OPTION_HELP || key == OPTION_VERSION ||
	    (key > OPTION_CONFIG && key < OPTION_FIRST_KEY)) {
		if (!options->answer)
			options->answer = key;
		return 0;
	}
	if (key < OPTION_FIRST_KEY || key >= ARGP_KEY_END)
		return ARGP_ERR_UNKNOWN;
	index = (size_t)(key - OPTION_FIRST_KEY);
	if (index >= agent_config_table.n_keys)
		return ARGP_ERR_UNKNOWN;
	return vec_push(&options->flags, (struct flag){ .key = &agent_config_table.keys[index],
							.value = argument }) < 0
		       ? ENOMEM
		       : 0;
}

static const struct config_flag_source flag_source = {
	.fixed = fixed_options,
	.n_fixed = ARRAY_SIZE(fixed_options),
	.table = &agent_config_table,
	.first_key = OPTION_FIRST_KEY,
	.group = 2,
	.aliases = aliases,
	.n_aliases = ARRAY_SIZE(aliases),
};

static int load(const struct options *options, char *const *environment,
		struct agent_config *config, char *message)
{
	const char *path = options->config_path ? options->config_path : AGENT_CONFIG_FILE;
	int r;

	r = config_set_defaults(&agent_config_table, config);
	if (r < 0)
		return r;
	r = config_load_file(&agent_config_table, path, config, message);
	if (r == -ENOENT && options->config_path)
		(void)snprintf(message, CONFIG_MESSAGE_SIZE, "'%.200s' does not exist", path);
	if (r < 0 && (r != -ENOENT || options->config_path))
		return r;
	r = config_load_environment(&agent_config_table, environment, config, message);
	for (size_t i = 0; r == 0 && i < options->flags.count; i++) {
		const struct flag *flag = &options->flags.items[i];
		char source[CONFIG_FLAG_NAME_SIZE + 2] = "--";

		config_flag_name(flag->key->name, source + 2);
		r = config_set(&agent_config_table, flag->key->name, flag->value, source, config,
			       message);
	}
	return r < 0 ? r : agent_config_finish(config, message);
}

static int write_out(const struct bytes *text, FILE *out)
{
	if (bytes_error(text))
		return bytes_error(text);
	if (fwrite(text->data, 1, text->size, out) != text->size || fflush(out) != 0)
		return -EIO;
	return 0;
}

/* The token stays out of what people paste into tickets. One that was read from a file is read
 * there again. */
static int print_effective(struct agent_config *config, struct bytes *text)
{
	char hidden[] = "(set)", in_file[] = "";
	char *token = config->token;
	int r;

	if (*config->token_file)
		config->token = in_file;
	else if (*token)
		config->token = hidden;
	r = config_print(&agent_config_table, config, text);
	config->token = token;
	return r;
}

/* Those that need no configuration. 1 when @answer is one of them. */
static int answer_from_table(int answer, const struct argp *argp, FILE *out)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MAX_PRINTED_BYTES);
	char name[] = "hearth-agent";
	int r;

	switch (answer) {
	case OPTION_HELP:
		argp_help(argp, out, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
		return 1;
	case OPTION_USAGE:
		argp_help(argp, out, ARGP_HELP_USAGE, name);
		return 1;
	case OPTION_VERSION:
		(void)bytes_append_format(&text, "hearth-agent %s\n", HEARTH_VERSION);
		break;
	case OPTION_PRINT_DEFAULT:
		(void)config_print_default_file(&agent_config_table, AGENT_CONFIG_TITLE, &text);
		break;
	case OPTION_PRINT_MARKDOWN:
		(void)config_print_markdown(&agent_config_table, AGENT_CONFIG_TITLE, &text);
		break;
	default:
		return 0;
	}
	r = write_out(&text, out);
	return r < 0 ? r : 1;
}

static int answer_from_config(int answer, struct agent_config *config, FILE *out)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MAX_PRINTED_BYTES);

	if (answer == OPTION_CHECK)
		(void)bytes_append_text(&text, "the configuration is valid\n");
	else
		(void)print_effective(config, &text);
	return write_out(&text, out);
}

static int run(const struct options *options, const struct argp *argp, char *const *environment,
	       FILE *out, struct agent_config *ret_config, char *message)
{
	scoped(agent_config_release) struct agent_config config = {};
	int r;

	r = answer_from_table(options->answer, argp, out);
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
	config = (struct agent_config){};
	return OPTIONS_RUN;
}

int options_parse(int argc, char **argv, char *const *environment, FILE *out,
		  struct agent_config *ret_config, char ret_message[CONFIG_MESSAGE_SIZE])
{
	scoped(config_flags_release) struct config_flags flags = {};
	scoped_free char **arguments = calloc((size_t)argc + 1, sizeof(*arguments));
	struct options options = {};
	struct argp argp = {
		.parser = take_option,
		.doc = "Profiles every process of this host and sends the samples to a Hearth "
		       "server.\v"
		       "Flags win over HEARTH_AGENT_* variables, and these over the file.",
	};
	int r = config_flags_init(&flags, &flag_source);

	if (!arguments)
		r = -ENOMEM;
	if (r == 0) {
		argp.options = flags.options;
		memcpy(arguments, argv, (size_t)argc * sizeof(*arguments));
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE, "see --help for the flags");
		r = -argp_parse(&argp, argc, arguments, ARGP_NO_EXIT | ARGP_NO_HELP, NULL,
				&options);
	}
	if (r == 0)
		r = run(&options, &argp, environment, out, ret_config, ret_message);
	if (r == -ENOMEM)
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE, "out of memory");
	else if (r == -EIO)
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE, "cannot write the answer");
	vec_release(&options.flags);
	return r;
}
