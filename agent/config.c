/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The table of config.def, and the checks that concern more than the form of one value. The message
 * of a failed check names the key, the value and the mistake.
 */

#include "agent/config.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi/absent_pages.h"
#include "common/bytes.h"
#include "common/file.h"
#include "common/log.h"
#include "common/pattern.h"
#include "common/scoped.h"
#include "common/utf8.h"

/* A token is one line. Tokens that the server generates have 71 characters. */
#define MAX_TOKEN_FILE_BYTES ((size_t)(4 * KIB))

/* The largest number that the kernel supports (CONFIG_NR_CPUS is at most 8192 on x86). */
#define MAX_CPU 8191

static const struct config_key agent_config_keys[] = {
#define CONFIG_KEY(field, key_name, key_type, default_value, min_value, max_value, help_text)      \
	{                                                                                          \
		.name = key_name,                                                                  \
		.type = CONFIG_##key_type,                                                         \
		.offset = offsetof(struct agent_config, field),                                    \
		.default_text = default_value,                                                     \
		.min = min_value,                                                                  \
		.max = max_value,                                                                  \
		.help = help_text,                                                                 \
	},
#include "agent/config.def"
#undef CONFIG_KEY
};

const struct config_table agent_config_table = {
	.keys = agent_config_keys,
	.n_keys = ARRAY_SIZE(agent_config_keys),
	.environment_prefix = "HEARTH_AGENT_",
};

printf_like(2, 3) static int refuse(char *message, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(message, CONFIG_MESSAGE_SIZE, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* Returns whether @address ends in ":PORT". An IPv6 address must be in brackets; otherwise its
 * last group would be parsed as the port. */
static bool ends_in_port(const char *address)
{
	const char *bracket = address[0] == '[' ? strchr(address, ']') : NULL;
	const char *colon = strchr(bracket ? bracket : address, ':');

	return colon && colon > address && colon[1] &&
	       colon[1 + strspn(colon + 1, "0123456789")] == '\0';
}

/* Completes HOST:PORT to http://HOST:PORT, as the hearth command does. */
static int complete_server(struct agent_config *config)
{
	char *url;

	if (strstr(config->server, "://") || !ends_in_port(config->server))
		return 0;
	if (asprintf(&url, "http://%s", config->server) < 0)
		return -ENOMEM;
	free(config->server);
	config->server = url;
	return 0;
}

static int check_server(const struct agent_config *config, char *message)
{
	const char *rest = config->server;

	if (strncmp(rest, "http://", 7) == 0)
		rest += 7;
	else if (strncmp(rest, "https://", 8) == 0)
		rest += 8;
	else
		return refuse(
			message,
			"server: '%.200s' is no http://HOST:PORT, https://HOST:PORT or HOST:PORT",
			config->server);
	if (*rest == '\0' || *rest == '/' || strpbrk(rest, " \t?#"))
		return refuse(message, "server: '%.200s' is no URL of a server", config->server);
	return 0;
}

static int check_pods_url(const struct agent_config *config, char *message)
{
	const char *url = config->pods_url;

	if (*url && (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0))
		return refuse(
			message,
			"kubernetes.pods_url: '%.200s' does not begin with http:// or https://",
			url);
	if (strpbrk(url, " \t#"))
		return refuse(message, "kubernetes.pods_url: '%.200s' has a space or '#'", url);
	return 0;
}

static int check_pattern(const char *key, const char *text, size_t length, char *message)
{
	scoped_free char *copy = strndup(text, length);
	struct pattern *pattern;
	char problem[128] = "";
	size_t offset = 0;
	int r;

	if (!copy)
		return -ENOMEM;
	r = pattern_new(copy, false, problem, sizeof(problem), &offset, &pattern);
	if (r == -EINVAL)
		return refuse(message, "%s: '%.120s' is no regular expression: %s (at %zu)", key,
			      copy, problem, offset);
	if (r < 0)
		return r;
	(void)pattern_free(pattern);
	return 0;
}

/* Calls @check for each line of a list, until it fails. */
static int for_each_line(const char *list, int (*check)(const char *line, size_t length, char *),
			 char *message)
{
	while (*list) {
		size_t length = strcspn(list, "\n");
		int r = check(list, length, message);

		if (r < 0)
			return r;
		list += length + (list[length] == '\n');
	}
	return 0;
}

/* Returns whether filters can name the label. Backticks quote most characters in filters.
 * Brackets, quotes and commas are refused because they are typical remains of a malformed list. */
static bool is_label_name(const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f || strchr("[]\"'`,", name[i]))
			return false;
	}
	return utf8_valid_length(name, length) == length;
}

static int check_label(const char *line, size_t length, char *message)
{
	const char *equals = memchr(line, '=', length);

	if (!equals || equals == line)
		return refuse(message, "host.labels: '%.*s' is not of the form name=value",
			      (int)MIN(length, (size_t)200), line);
	if (!is_label_name(line, (size_t)(equals - line)))
		return refuse(message,
			      "host.labels: '%.*s' is no name of a label: UTF-8 without brackets, "
			      "quotes, commas and control characters",
			      (int)MIN(equals - line, 200), line);
	return 0;
}

/* Checks "REGEX=NAME". The name follows the last '=', because a pattern may contain '=', and a
 * service name rarely does. */
static int check_process_rule(const char *line, size_t length, char *message)
{
	const char *equals = memrchr(line, '=', length);

	if (!equals || equals == line || equals + 1 == line + length)
		return refuse(message, "process_matcher: '%.*s' is not of the form REGEX=NAME",
			      (int)MIN(length, (size_t)200), line);
	return check_pattern("process_matcher", line, (size_t)(equals - line), message);
}

static bool parse_cpu(const char **text, unsigned long *ret_cpu)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	*ret_cpu = strtoul(*text, &end, 10);
	*text = end;
	return *ret_cpu <= MAX_CPU;
}

static bool is_cpu_list(const char *text)
{
	while (*text) {
		unsigned long first, last;

		if (!parse_cpu(&text, &first))
			return false;
		last = first;
		if (*text == '-') {
			text++;
			if (!parse_cpu(&text, &last))
				return false;
		}
		if (last < first || (*text && *text != ','))
			return false;
		if (*text == ',' && *++text == '\0')
			return false;
	}
	return true;
}

static int read_token_file(struct agent_config *config, char *message)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(MAX_TOKEN_FILE_BYTES);
	size_t length = 0;
	char *token;
	int r;

	r = file_read(config->token_file, &content);
	if (r < 0)
		return refuse(message, "token_file: cannot read '%.200s': %s", config->token_file,
			      strerror(-r));
	while (length < content.size && !strchr("\r\n", content.data[length]))
		length++;
	if (length == 0)
		return refuse(message, "token_file: the first line of '%.200s' is empty",
			      config->token_file);
	token = strndup((const char *)content.data, length);
	if (!token)
		return -ENOMEM;
	free(config->token);
	config->token = token;
	return 0;
}

static int check_token(struct agent_config *config, char *message)
{
	if (*config->token_file) {
		int r = read_token_file(config, message);

		if (r < 0)
			return r;
	}
	/* The token becomes part of an HTTP header. */
	for (const char *next = config->token; *next; next++)
		if (*next <= ' ' || *next > '~')
			return refuse(message, "token: holds a character that no token has");
	return 0;
}

static int check_lists(const struct agent_config *config, char *message)
{
	int r;

	r = for_each_line(config->host_labels, check_label, message);
	if (r < 0)
		return r;
	return for_each_line(config->process_matcher, check_process_rule, message);
}

int agent_config_absent_pages(const struct agent_config *config)
{
	static const char *const names[] = {
		[ABI_ABSENT_PAGES_LEAVE] = "leave",
		[ABI_ABSENT_PAGES_TOUCH] = "touch",
		[ABI_ABSENT_PAGES_DEFER] = "defer",
	};

	for (int i = 0; i < (int)ARRAY_SIZE(names); i++) {
		if (strcmp(config->unwind_absent_pages, names[i]) == 0)
			return i;
	}
	return -EINVAL;
}

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text);

	return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/* Checks the keys that every event source may have in the same form. */
static int check_sources(const struct agent_config *config, char *message)
{
	for (size_t i = 0; i < ARRAY_SIZE(agent_config_keys); i++) {
		const struct config_key *key = &agent_config_keys[i];
		const char *text;
		int r = 0;

		if (key->type != CONFIG_TEXT)
			continue;
		text = *(char *const *)((const char *)config + key->offset);
		if (ends_in(key->name, ".regex"))
			r = check_pattern(key->name, text, strlen(text), message);
		else if (ends_in(key->name, ".cpus") && !is_cpu_list(text))
			r = refuse(message, "%s: '%.200s' is no list of CPUs, such as 0-3,8",
				   key->name, text);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_ring_size(const struct agent_config *config, char *message)
{
	unsigned long long bytes = config->ring_bytes;

	if (bytes != 0 && bytes < 64 * KIB)
		return refuse(message, "ring_size: %llu bytes are less than 64KiB", bytes);
	if ((bytes & (bytes - 1)) != 0)
		return refuse(message, "ring_size: %llu bytes is no power of two", bytes);
	return 0;
}

static int check_choices(const struct agent_config *config, char *message)
{
	enum log_level level;

	if (agent_config_absent_pages(config) < 0)
		return refuse(message,
			      "unwind.absent_pages: '%.100s' is none of defer, touch, leave",
			      config->unwind_absent_pages);
	if (!log_level_from_name(config->log_level, &level))
		return refuse(message, "log_level: '%.100s' is none of error, warn, info, debug",
			      config->log_level);
	return 0;
}

int agent_config_finish(struct agent_config *config, char ret_message[CONFIG_MESSAGE_SIZE])
{
	int r;

	r = complete_server(config);
	if (r < 0)
		return r;
	r = check_server(config, ret_message);
	if (r < 0)
		return r;
	r = check_pods_url(config, ret_message);
	if (r < 0)
		return r;
	r = check_token(config, ret_message);
	if (r < 0)
		return r;
	r = check_lists(config, ret_message);
	if (r < 0)
		return r;
	r = check_sources(config, ret_message);
	if (r < 0)
		return r;
	r = check_ring_size(config, ret_message);
	return r < 0 ? r : check_choices(config, ret_message);
}

bool agent_config_differs(const struct agent_config *first, const struct agent_config *second,
			  const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(agent_config_keys); i++) {
		const struct config_key *key = &agent_config_keys[i];
		const void *a = (const char *)first + key->offset;
		const void *b = (const char *)second + key->offset;

		if (strcmp(key->name, name) != 0)
			continue;
		if (key->type == CONFIG_TEXT || key->type == CONFIG_LIST)
			return strcmp(*(char *const *)a, *(char *const *)b) != 0;
		if (key->type == CONFIG_BOOL)
			return *(const bool *)a != *(const bool *)b;
		return *(const uint64_t *)a != *(const uint64_t *)b;
	}
	assert(false);
	return false;
}

void agent_config_release(struct agent_config *config)
{
	config_release(&agent_config_table, config);
	*config = (struct agent_config){};
}
