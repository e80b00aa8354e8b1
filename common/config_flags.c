/* SPDX-License-Identifier: Apache-2.0 */
#include "common/config_flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void spell(const char *name, char from, char to, char ret_name[CONFIG_FLAG_NAME_SIZE])
{
	int length = snprintf(ret_name, CONFIG_FLAG_NAME_SIZE, "%s", name);

	assert(length < CONFIG_FLAG_NAME_SIZE);
	for (; *ret_name; ret_name++)
		if (*ret_name == from)
			*ret_name = to;
}

void config_flag_name(const char *key, char ret_name[CONFIG_FLAG_NAME_SIZE])
{
	spell(key, '_', '-', ret_name);
}

/* argp takes an alias for the option before it. An alias has only a name and flags. */
static struct argp_option *add_alias(struct argp_option *next, const char *name, int flags)
{
	*next = (struct argp_option){ .name = name, .flags = OPTION_ALIAS | flags };
	return next + 1;
}

static struct argp_option *add_fixed(struct argp_option *next, const struct argp_option *fixed,
				     char name[CONFIG_FLAG_NAME_SIZE])
{
	*next++ = *fixed;
	if (!fixed->name || !strchr(fixed->name, '-'))
		return next;
	spell(fixed->name, '-', '_', name);
	return add_alias(next, name, OPTION_HIDDEN);
}

static struct argp_option key_option(const struct config_flag_source *source, size_t index,
				     const char *name)
{
	static const char *const value_names[] = {
		[CONFIG_BOOL] = "BOOL", [CONFIG_UINT] = "NUMBER", [CONFIG_DURATION] = "DURATION",
		[CONFIG_SIZE] = "SIZE", [CONFIG_TEXT] = "TEXT",   [CONFIG_LIST] = "LIST",
	};
	const struct config_key *key = &source->table->keys[index];

	return (struct argp_option){
		.name = name,
		.key = source->first_key + (int)index,
		.arg = value_names[key->type],
		.flags = key->type == CONFIG_BOOL ? OPTION_ARG_OPTIONAL : 0,
		.doc = key->help,
		.group = source->group,
	};
}

static struct argp_option *add_key(struct argp_option *next,
				   const struct config_flag_source *source, size_t index,
				   char name[CONFIG_FLAG_NAME_SIZE])
{
	const char *key = source->table->keys[index].name;

	config_flag_name(key, name);
	*next++ = key_option(source, index, name);
	if (strcmp(name, key) != 0)
		next = add_alias(next, key, OPTION_HIDDEN);
	for (size_t i = 0; i < source->n_aliases; i++)
		if (strcmp(source->aliases[i].key, key) == 0)
			next = add_alias(next, source->aliases[i].name, 0);
	return next;
}

int config_flags_init(struct config_flags *flags, const struct config_flag_source *source)
{
	size_t n_rows = source->n_fixed + source->table->n_keys;
	struct argp_option *next;

	flags->options = calloc(2 * n_rows + source->n_aliases + 1, sizeof(*flags->options));
	flags->names = calloc(n_rows, sizeof(*flags->names));
	if (!flags->options || !flags->names) {
		config_flags_release(flags);
		return -ENOMEM;
	}
	next = flags->options;
	for (size_t i = 0; i < source->n_fixed; i++)
		next = add_fixed(next, &source->fixed[i], flags->names[i]);
	for (size_t i = 0; i < source->table->n_keys; i++)
		next = add_key(next, source, i, flags->names[source->n_fixed + i]);
	return 0;
}

void config_flags_release(struct config_flags *flags)
{
	free(flags->options);
	free(flags->names);
	*flags = (struct config_flags){};
}
