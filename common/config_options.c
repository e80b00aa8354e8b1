/* SPDX-License-Identifier: Apache-2.0 */
#include "common/config_options.h"

#include <string.h>

#include "common/bytes.h"
#include "common/scoped.h"
#include "common/vec.h"

#define MAX_PRINTED_BYTES (1 * MIB)

struct flag {
	const char *name;  /* as given, for messages */
	const char *key;   /* of the configuration */
	const char *value; /* NULL for a flag without a value */
};

VEC_DEFINE(flag_vec, struct flag);

struct config_options {
	const struct config_program *program;
	void *own;        /* for program->take_own() and program->answer_own() */
	const char *path; /* value of --config, or NULL */
	int answer;       /* key of the first option that requests an answer; 0: none, so run */
	struct flag_vec flags;
};

int config_options_add(struct config_options *options, const char *name, const char *key,
		       const char *value)
{
	return vec_push(&options->flags, (struct flag){ .name = name, .key = key, .value = value });
}

const char *config_options_value(const struct config_options *options, const char *key)
{
	const char *value = NULL;

	for (size_t i = 0; i < options->flags.count; i++) {
		if (strcmp(options->flags.items[i].key, key) == 0)
			value = options->flags.items[i].value;
	}
	return value;
}

static bool requests_answer(int key)
{
	return key == CONFIG_OPTION_HELP || key == CONFIG_OPTION_VERSION ||
	       (key > CONFIG_OPTION_FILE && key <= CONFIG_OPTION_PRINT_MARKDOWN);
}

/*
 * Handles an option that is not a configuration key. Returns 1 if it requests an answer, else 0 or
 * a negative errno.
 */
static int take_other(struct config_options *options, int key, const char *argument)
{
	if (key == CONFIG_OPTION_FILE)
		options->path = argument;
	else if (requests_answer(key))
		return 1;
	else
		return options->program->take_own(options, options->own, key, argument);
	return 0;
}

static error_t take_option(int key, char *argument, struct argp_state *state)
{
	struct config_options *options = state->input;
	const struct config_table *table = options->program->flags->table;
	const char *name;
	int r;

	if (key == ARGP_KEY_ARG) {
		argp_error(state, "'%s' is no flag", argument);
		return EINVAL;
	}
	if (key >= CONFIG_OPTION_FIRST_KEY && key < CONFIG_OPTION_FIRST_KEY + (int)table->n_keys) {
		name = table->keys[key - CONFIG_OPTION_FIRST_KEY].name;
		return -config_options_add(options, name, name, argument);
	}
	if (!requests_answer(key) && (key < CONFIG_OPTION_FILE || key >= CONFIG_OPTION_FIRST_KEY))
		return ARGP_ERR_UNKNOWN;
	r = take_other(options, key, argument);
	if (r < 0)
		return -r;
	if (r > 0 && !options->answer)
		options->answer = key;
	return 0;
}

static int load_file(const struct config_options *options, void *config, char *message)
{
	const char *path = options->path ? options->path : options->program->path;
	int r = config_load_file(options->program->flags->table, path, config, message);

	if (r == -ENOENT && !options->path)
		return 0;
	if (r == -ENOENT)
		(void)snprintf(message, CONFIG_MESSAGE_SIZE, "'%.200s' does not exist", path);
	return r;
}

static int apply_flags(const struct config_options *options, void *config, char *message)
{
	for (size_t i = 0; i < options->flags.count; i++) {
		const struct flag *flag = &options->flags.items[i];
		char source[CONFIG_FLAG_NAME_SIZE + 2] = "--";
		int r;

		config_flag_name(flag->name, source + 2);
		r = config_set(options->program->flags->table, flag->key, flag->value, source,
			       config, message);
		if (r < 0)
			return r;
	}
	return 0;
}

static int load(const struct config_options *options, char *const *environment, void *config,
		char *message)
{
	const struct config_table *table = options->program->flags->table;
	int r;

	r = config_set_defaults(table, config);
	if (r < 0)
		return r;
	r = load_file(options, config, message);
	if (r < 0)
		return r;
	r = config_load_environment(table, environment, config, message);
	if (r < 0)
		return r;
	r = apply_flags(options, config, message);
	return r < 0 ? r : options->program->finish(config, message);
}

static int write_out(const struct bytes *text, FILE *out, char *message)
{
	if (bytes_error(text))
		return bytes_error(text);
	if (fwrite(text->data, 1, text->size, out) == text->size && fflush(out) == 0)
		return 0;
	(void)snprintf(message, CONFIG_MESSAGE_SIZE, "cannot write the answer");
	return -EIO;
}

/*
 * Writes the requested answer if it needs no configuration. Returns 1 if it was written; 0 if the
 * answer needs the configuration, or if none was requested; or a negative errno.
 */
static int answer_from_table(const struct config_options *options, const struct argp *argp,
			     FILE *out, char *message)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MAX_PRINTED_BYTES);
	const struct config_program *program = options->program;
	const struct config_table *table = program->flags->table;
	char *name = (char *)program->name; /* argp does not write to it */
	int r;

	switch (options->answer) {
	case CONFIG_OPTION_HELP:
		argp_help(argp, out, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
		return 1;
	case CONFIG_OPTION_USAGE:
		argp_help(argp, out, ARGP_HELP_USAGE, name);
		return 1;
	case CONFIG_OPTION_VERSION:
		(void)bytes_append_format(&text, "%s %s\n", program->name, HEARTH_VERSION);
		break;
	case CONFIG_OPTION_PRINT_DEFAULT:
		(void)config_print_default_file(table, program->title, &text);
		break;
	case CONFIG_OPTION_PRINT_MARKDOWN:
		(void)config_print_markdown(table, program->title, &text);
		break;
	case 0:
	case CONFIG_OPTION_CHECK:
	case CONFIG_OPTION_PRINT:
		return 0;
	default:
		r = program->answer_own(options, options->own, out, message);
		return r < 0 ? r : 1;
	}
	r = write_out(&text, out, message);
	return r < 0 ? r : 1;
}

static int answer_from_config(const struct config_options *options, void *config, FILE *out,
			      char *message)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MAX_PRINTED_BYTES);

	if (options->answer == CONFIG_OPTION_CHECK)
		(void)bytes_append_text(&text, "the configuration is valid\n");
	else if (options->program->print)
		(void)options->program->print(config, &text);
	else
		(void)config_print(options->program->flags->table, config, &text);
	return write_out(&text, out, message);
}

static int answer_or_load(const struct config_options *options, const struct argp *argp,
			  char *const *environment, FILE *out, void *config, char *message)
{
	int r;

	r = answer_from_table(options, argp, out, message);
	if (r != 0)
		return r < 0 ? r : OPTIONS_ANSWERED;
	r = load(options, environment, config, message);
	if (r < 0)
		return r;
	if (!options->answer)
		return OPTIONS_RUN;
	r = answer_from_config(options, config, out, message);
	return r < 0 ? r : OPTIONS_ANSWERED;
}

int config_options_parse(const struct config_program *program, void *own, int argc, char **argv,
			 char *const *environment, FILE *out, void *config,
			 char ret_message[CONFIG_MESSAGE_SIZE])
{
	scoped(config_flags_release) struct config_flags flags = {};
	scoped_free char **arguments = calloc((size_t)argc + 1, sizeof(*arguments));
	struct config_options options = { .program = program, .own = own };
	struct argp argp = { .parser = take_option, .doc = program->doc };
	int r;

	assert(program->flags->first_key == CONFIG_OPTION_FIRST_KEY);
	r = arguments ? config_flags_init(&flags, program->flags) : -ENOMEM;
	if (r == 0) {
		argp.options = flags.options;
		/* argp reorders the arguments, so it gets a copy. */
		memcpy(arguments, argv, (size_t)argc * sizeof(*arguments));
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE, "see --help for the flags");
		r = -argp_parse(&argp, argc, arguments, ARGP_NO_EXIT | ARGP_NO_HELP, NULL,
				&options);
	}
	if (r == 0)
		r = answer_or_load(&options, &argp, environment, out, config, ret_message);
	if (r == -ENOMEM)
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE, "out of memory");
	vec_release(&options.flags);
	return r;
}
