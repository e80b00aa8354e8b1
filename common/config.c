/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets values from defaults, flags and the environment. config_file.c reads the file.
 */

#include "common/config.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/config_printed.h"
#include "common/config_value.h"
#include "common/did_you_mean.h"
#include "common/scoped.h"

/* Length of a key's name. Longer names in messages are cut. */
#define MAX_NAME_LENGTH 128

int config_set_defaults(const struct config_table *table, void *config)
{
	for (size_t i = 0; i < table->n_keys; i++) {
		int r = config_value_parse(&table->keys[i], table->keys[i].default_text, config);

		/* A key that rejects its own default is a defect of the table. */
		assert(r != -EINVAL);
		if (r < 0) {
			config_release(table, config);
			return r;
		}
	}
	return 0;
}

void config_release(const struct config_table *table, void *config)
{
	for (size_t i = 0; i < table->n_keys; i++) {
		const struct config_key *key = &table->keys[i];

		if (key->type == CONFIG_TEXT || key->type == CONFIG_LIST)
			config_value_take_text(key, NULL, config);
	}
}

const struct config_key *config_find_key(const struct config_table *table, const char *name)
{
	for (size_t i = 0; i < table->n_keys; i++)
		if (strcmp(table->keys[i].name, name) == 0)
			return &table->keys[i];
	return NULL;
}

/* "on_cpu.frequency" becomes "HEARTH_AGENT_ON_CPU_FREQUENCY". */
static void environment_name(const struct config_table *table, const struct config_key *key,
			     char ret_name[MAX_NAME_LENGTH])
{
	size_t prefix_length = strlen(table->environment_prefix);
	char *next;

	(void)snprintf(ret_name, MAX_NAME_LENGTH, "%s%s", table->environment_prefix, key->name);
	for (next = ret_name + MIN(prefix_length, strlen(ret_name)); *next; next++)
		*next = *next == '.' || *next == '-' ? '_' : (char)toupper((unsigned char)*next);
}

int config_unknown_key(const struct config_table *table, const char *name, const char *source,
		       char ret_message[CONFIG_MESSAGE_SIZE])
{
	const char *nearest = NULL;
	unsigned int nearest_distance = UINT_MAX;

	for (size_t i = 0; i < table->n_keys; i++) {
		unsigned int distance = name_distance(name, table->keys[i].name);

		if (distance >= nearest_distance)
			continue;
		nearest = table->keys[i].name;
		nearest_distance = distance;
	}
	(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE,
		       "%s: unknown key '%.*s', did you mean '%s'?", source, MAX_NAME_LENGTH, name,
		       nearest ? nearest : "");
	return -EINVAL;
}

int config_set_key(const struct config_key *key, const char *value, const char *source,
		   void *config, char ret_message[CONFIG_MESSAGE_SIZE])
{
	char expected[CONFIG_EXPECTED_SIZE];
	int r;

	/* A flag without a value means true. */
	if (!value && key->type == CONFIG_BOOL)
		value = "true";
	r = value ? config_value_parse(key, value, config) : -EINVAL;
	if (r == -ENOMEM)
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE,
			       "%s: cannot set '%s': out of memory", source, key->name);
	if (r != -EINVAL)
		return r;

	config_value_expected(key, expected);
	(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE,
		       "%s: '%.*s' is no value for '%s', expected %s", source, MAX_NAME_LENGTH,
		       value ? value : "", key->name, expected);
	return -EINVAL;
}

/* Sets the value of a flag or a variable. In a file, the YAML parser removes the quotes. */
static int set_unquoted(const struct config_key *key, const char *value, const char *source,
			void *config, char ret_message[CONFIG_MESSAGE_SIZE])
{
	scoped_free char *text = NULL;

	if (value && key->type == CONFIG_TEXT && config_printed_text(value, &text) == 0)
		value = text;
	return config_set_key(key, value, source, config, ret_message);
}

int config_set(const struct config_table *table, const char *name, const char *value,
	       const char *source, void *config, char ret_message[CONFIG_MESSAGE_SIZE])
{
	const struct config_key *key = config_find_key(table, name);

	if (!key)
		return config_unknown_key(table, name, source, ret_message);
	return set_unquoted(key, value, source, config, ret_message);
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/*
 * Kubernetes sets variables for each service of a container's namespace, prefixed with the
 * service's name: a service hearth-agent adds HEARTH_AGENT_PORT=tcp://10.0.0.7:20416 and a dozen
 * more. They are not configuration.
 */
static bool is_service_link(const char *rest, const char *value)
{
	bool is_address = has_prefix(value, "tcp://") || has_prefix(value, "udp://") ||
			  has_prefix(value, "sctp://");

	return (has_prefix(rest, "PORT") && is_address) || has_prefix(rest, "PORT_") ||
	       has_prefix(rest, "SERVICE_HOST") || has_prefix(rest, "SERVICE_PORT");
}

static const struct config_key *find_environment_key(const struct config_table *table,
						     const char *name)
{
	for (size_t i = 0; i < table->n_keys; i++) {
		char key_name[MAX_NAME_LENGTH];

		environment_name(table, &table->keys[i], key_name);
		if (strcmp(key_name, name) == 0)
			return &table->keys[i];
	}
	return NULL;
}

static int set_from_environment(const struct config_table *table, const char *name,
				const char *value, void *config,
				char ret_message[CONFIG_MESSAGE_SIZE])
{
	const char *rest = name + strlen(table->environment_prefix);
	const struct config_key *key = find_environment_key(table, name);
	char lower[MAX_NAME_LENGTH];
	size_t i;

	/* The table may have a key whose variable is named like a service link (port). The link's
	 * value has "://". */
	if (is_service_link(rest, value) && (!key || strstr(value, "://")))
		return 0;
	if (key)
		return set_unquoted(key, value, name, config, ret_message);

	/* Keys are lower case; the distance to them is meaningful only in lower case. */
	for (i = 0; rest[i] && i < sizeof(lower) - 1; i++)
		lower[i] = (char)tolower((unsigned char)rest[i]);
	lower[i] = '\0';
	return config_unknown_key(table, lower, name, ret_message);
}

int config_load_environment(const struct config_table *table, char *const *environment,
			    void *config, char ret_message[CONFIG_MESSAGE_SIZE])
{
	for (; *environment; environment++) {
		const char *equals = strchr(*environment, '=');
		char name[MAX_NAME_LENGTH];
		int r;

		if (!equals || !has_prefix(*environment, table->environment_prefix))
			continue;
		(void)snprintf(name, sizeof(name), "%.*s",
			       (int)MIN(equals - *environment, MAX_NAME_LENGTH), *environment);
		r = set_from_environment(table, name, equals + 1, config, ret_message);
		if (r < 0)
			return r;
	}
	return 0;
}
