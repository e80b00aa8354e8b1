/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/rules.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"

static int compile(const char *key, const char *text, struct pattern **ret_pattern)
{
	char message[128];
	size_t offset;
	int r;

	r = pattern_new(text, false, message, sizeof(message), &offset, ret_pattern);
	if (r == -EINVAL)
		return log_error_errno(r, "%s: '%s' is no regular expression: %s at character %zu",
				       key, text, message, offset + 1);
	return r < 0 ? log_error_errno(r, "%s: cannot compile '%s': %m", key, text) : 0;
}

/* The default matches all processes: no pattern is needed then. */
static int compile_names(const char *key, const char *text, struct pattern **ret_pattern)
{
	return strcmp(text, ".*") != 0 && text[0] ? compile(key, text, ret_pattern) : 0;
}

static_assert(EVENT_SOURCE_COUNT <= PROCESS_MAX_SOURCES, "each event source has a rule");

static int add_sources(struct rules *rules, const struct agent_config *config)
{
	for (enum event_source_id i = 0; i < EVENT_SOURCE_COUNT; i++) {
		const struct event_source *source = event_source(i);
		int r = 0;

		if (source->process_names)
			r = compile_names(source->process_names_key, source->process_names(config),
					  &rules->names[i]);
		if (r < 0)
			return r;
		if (source->is_enabled(config))
			rules->view.sources[rules->view.n_sources++] = (struct process_source){
				.names = rules->names[i],
				.excluded_flag = source->excluded_flag,
			};
	}
	return 0;
}

static int log_no_memory(void)
{
	return log_error_errno(ENOMEM, "process_matcher: cannot keep its rules: %m");
}

static int add_rename(struct rules *rules, const char *line, size_t length)
{
	/* The last '=' separates the two: only the regular expression may contain one. */
	const char *equals = memrchr(line, '=', length);
	scoped_free char *text = NULL;
	struct process_rename rename = {};
	int r;

	if (!equals || equals == line || equals + 1 == line + length)
		return log_error_errno(EINVAL, "process_matcher: '%.*s' is not REGEX=NAME",
				       (int)length, line);
	text = strndup(line, (size_t)(equals - line));
	if (!text)
		return log_no_memory();
	r = compile("process_matcher", text, &rename.pattern);
	if (r < 0)
		return r;
	rename.name = strndup(equals + 1, length - (size_t)(equals - line) - 1);
	if (!rename.name) {
		pattern_free(rename.pattern);
		return log_no_memory();
	}
	rules->renames[rules->n_renames++] = rename;
	return 0;
}

static size_t count_lines(const char *list)
{
	size_t count = 1;

	for (; *list; list++)
		count += *list == '\n';
	return count;
}

int rules_init(struct rules *rules, const struct agent_config *config)
{
	const char *list = config->process_matcher;
	int r;

	*rules = (struct rules){};
	r = add_sources(rules, config);
	if (r < 0)
		return r;
	rules->renames = calloc(count_lines(list), sizeof(*rules->renames));
	if (!rules->renames)
		return log_no_memory();
	while (*list) {
		size_t length = strcspn(list, "\n");

		if (length > 0) {
			r = add_rename(rules, list, length);
			if (r < 0)
				return r;
		}
		list += length;
		list += *list == '\n';
	}
	rules->view.renames = rules->renames;
	rules->view.n_renames = rules->n_renames;
	return 0;
}

void rules_release(struct rules *rules)
{
	for (size_t i = 0; i < EVENT_SOURCE_COUNT; i++)
		pattern_free(rules->names[i]);
	for (size_t i = 0; i < rules->n_renames; i++) {
		pattern_free(rules->renames[i].pattern);
		free((char *)rules->renames[i].name);
	}
	free(rules->renames);
	*rules = (struct rules){};
}
