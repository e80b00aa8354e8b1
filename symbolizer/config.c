/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The table of config.def, and the checks that concern more than the form of one value.
 */

#include "symbolizer/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/debuginfo/upstream/debuginfo_upstream.h"
#include "symbolizer/http/auth.h"
#include "symbolizer/http/listen.h"
#include "symbolizer/store/clickhouse/endpoints.h"

static const struct config_key keys[] = {
#define CONFIG_KEY(field_, name_, type_, default_, min_, max_, help_)                              \
	{                                                                                          \
		.name = name_,                                                                     \
		.type = CONFIG_##type_,                                                            \
		.offset = offsetof(struct symbolizer_config, field_),                              \
		.default_text = default_,                                                          \
		.min = min_,                                                                       \
		.max = max_,                                                                       \
		.help = help_,                                                                     \
	},
#include "symbolizer/config.def"
#undef CONFIG_KEY
};

const struct config_table symbolizer_config_table = {
	.keys = keys,
	.n_keys = ARRAY_SIZE(keys),
	.environment_prefix = "HEARTH_SYMBOLIZER_",
};

void symbolizer_config_release(struct symbolizer_config *config)
{
	config_release(&symbolizer_config_table, config);
	free(config->backup);
	config->backup = NULL;
}

static const char *const from_agents_names[] = {
	[DEBUGINFO_FROM_AGENTS_NONE] = "none",
	[DEBUGINFO_FROM_AGENTS_SYMBOLS] = "symbols",
	[DEBUGINFO_FROM_AGENTS_ALL] = "all",
};

/* Returns ARRAY_SIZE(from_agents_names) if @name is unknown. */
static size_t find_from_agents(const char *name)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(from_agents_names) && strcmp(from_agents_names[i], name) != 0)
		i++;
	return i;
}

enum debuginfo_from_agents symbolizer_config_from_agents(const struct symbolizer_config *config)
{
	size_t found = find_from_agents(config->debuginfo_from_agents);

	assert(found < ARRAY_SIZE(from_agents_names)); /* symbolizer_config_check() guarantees it */
	return (enum debuginfo_from_agents)found;
}

static bool is_store(const char *name)
{
	return strcmp(name, "auto") == 0 || strcmp(name, "sqlite") == 0 ||
	       strcmp(name, "segments") == 0 || strcmp(name, "clickhouse") == 0;
}

static bool is_identifier(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789_");

	return length > 0 && length <= 64 && name[length] == '\0';
}

static int check_clickhouse_urls(const char *list, char ret_message[CONFIG_MESSAGE_SIZE])
{
	size_t n_urls = 0, length;
	const char *url;

	while ((length = endpoints_parse(&list, &url)) > 0) {
		n_urls++;
		if (strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0)
			continue;
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE,
			       "clickhouse.url: '%.*s' is not of the form http://HOST:8123",
			       (int)MIN(length, (size_t)64), url);
		return -EINVAL;
	}
	if (n_urls > 0)
		return 0;
	(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE,
		       "clickhouse.url is empty: set it to a URL as http://HOST:8123");
	return -EINVAL;
}

static int check_clickhouse(const struct symbolizer_config *config,
			    char ret_message[CONFIG_MESSAGE_SIZE])
{
	int r = check_clickhouse_urls(config->clickhouse_url, ret_message);

	if (r < 0)
		return r;
	if (*config->clickhouse_cluster && !is_identifier(config->clickhouse_cluster)) {
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE,
			       "clickhouse.cluster: '%.64s' has other characters than letters, "
			       "digits and underscores",
			       config->clickhouse_cluster);
		return -EINVAL;
	}
	if (!is_identifier(config->clickhouse_database)) {
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE,
			       "clickhouse.database: '%.64s' has other characters than letters, "
			       "digits and underscores",
			       config->clickhouse_database);
		return -EINVAL;
	}
	return 0;
}

static int check_listen(const char *list, char ret_message[CONFIG_MESSAGE_SIZE])
{
	struct listen_address address;
	char reason[LISTEN_MESSAGE_SIZE];

	while (*list) {
		size_t length = strcspn(list, "\n");

		if (listen_address_parse(list, length, &address, reason) < 0) {
			(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE, "listen: %s", reason);
			return -EINVAL;
		}
		list += length;
		list += *list == '\n';
	}
	return 0;
}

static int check_upstream(const char *list, char ret_message[CONFIG_MESSAGE_SIZE])
{
	char reason[DEBUGINFO_MESSAGE_SIZE];

	while (*list) {
		size_t length = strcspn(list, "\n");

		if (debuginfo_upstream_check_url(list, length, reason) < 0) {
			(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE, "debuginfo.upstream: %s",
				       reason);
			return -EINVAL;
		}
		list += length;
		list += *list == '\n';
	}
	return 0;
}

static int check_tokens(const char *path, char ret_message[CONFIG_MESSAGE_SIZE])
{
	scoped(auth_freep) struct auth *auth = NULL;
	char reason[AUTH_MESSAGE_SIZE];
	int r;

	r = auth_new(&auth);
	if (r < 0)
		return r;
	r = auth_load(auth, path, reason);
	if (r < 0)
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE, "tokens: %.*s",
			       CONFIG_MESSAGE_SIZE - 16, reason);
	return r;
}

int symbolizer_config_check(const struct symbolizer_config *config,
			    char ret_message[CONFIG_MESSAGE_SIZE])
{
	enum log_level level;
	int r;

	r = check_listen(config->listen, ret_message);
	if (r < 0)
		return r;
	if (!*config->data) {
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE, "data: a folder is needed");
		return -EINVAL;
	}
	if (!is_store(config->store)) {
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE,
			       "store: '%.64s' is none of auto, segments, sqlite and clickhouse",
			       config->store);
		return -EINVAL;
	}
	r = check_clickhouse(config, ret_message);
	if (r < 0)
		return r;
	if (!log_level_from_name(config->log_level, &level)) {
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE,
			       "log_level: '%.64s' is none of error, warn, info and debug",
			       config->log_level);
		return -EINVAL;
	}
	if (find_from_agents(config->debuginfo_from_agents) == ARRAY_SIZE(from_agents_names)) {
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE,
			       "debuginfo.from_agents: '%.64s' is none of none, symbols and all",
			       config->debuginfo_from_agents);
		return -EINVAL;
	}
	r = check_upstream(config->debuginfo_upstream, ret_message);
	if (r < 0)
		return r;
	return *config->tokens ? check_tokens(config->tokens, ret_message) : 0;
}

enum log_level symbolizer_config_log_level(const struct symbolizer_config *config)
{
	enum log_level level = LOG_LEVEL_INFO;

	(void)log_level_from_name(config->log_level, &level);
	return level;
}
