/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the events of libyaml's parser without building a tree. The names of nested sections are
 * joined by dots to the name of a key. Anchors and aliases are refused, because a few lines of them
 * expand to gigabytes.
 */

#include "common/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "common/config_value.h"
#include "common/file.h"
#include "common/scoped.h"

/* A configuration has one or two pages. */
#define MAX_FILE_BYTES (1 * MIB)

/* Keys have two or three parts. */
#define MAX_DEPTH 8

#define MAX_NAME_LENGTH 128

struct config_reader {
	const struct config_table *table;
	void *config;
	const char *path;
	char *message; /* CONFIG_MESSAGE_SIZE */
	bool *seen;    /* one per key */
	yaml_parser_t parser;
};

static void scoped_delete_event(yaml_event_t *event)
{
	yaml_event_delete(event);
}

/* "'/etc/hearth/agent.yaml':3:14" */
static void format_source(const struct config_reader *reader, const yaml_mark_t *mark,
			  char ret_source[CONFIG_MESSAGE_SIZE])
{
	(void)snprintf(ret_source, CONFIG_MESSAGE_SIZE, "'%.200s':%zu:%zu", reader->path,
		       mark->line + 1, mark->column + 1);
}

printf_like(3, 4) static int fail_at(const struct config_reader *reader, const yaml_mark_t *mark,
				     const char *format, ...)
{
	char source[CONFIG_MESSAGE_SIZE];
	char text[CONFIG_MESSAGE_SIZE];
	va_list args;

	format_source(reader, mark, source);
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)snprintf(reader->message, CONFIG_MESSAGE_SIZE, "%.240s: %.260s", source, text);
	return -EINVAL;
}

static int next_event(struct config_reader *reader, yaml_event_t *ret_event)
{
	const yaml_parser_t *parser = &reader->parser;

	if (yaml_parser_parse(&reader->parser, ret_event))
		return 0;
	if (parser->error == YAML_MEMORY_ERROR) {
		(void)snprintf(reader->message, CONFIG_MESSAGE_SIZE,
			       "'%.200s': cannot read it: out of memory", reader->path);
		return -ENOMEM;
	}
	return fail_at(reader, &parser->problem_mark, "no valid YAML: %s",
		       parser->problem ? parser->problem : "unknown problem");
}

static bool is_section(const struct config_table *table, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < table->n_keys; i++)
		if (strncmp(table->keys[i].name, name, length) == 0 &&
		    table->keys[i].name[length] == '.')
			return true;
	return false;
}

/* NULL with the message filled: the key is unknown, or the file sets it twice. */
static const struct config_key *find_key_once(struct config_reader *reader, const char *name,
					      const yaml_mark_t *mark)
{
	const struct config_key *key = config_find_key(reader->table, name);
	char source[CONFIG_MESSAGE_SIZE];

	if (!key) {
		format_source(reader, mark, source);
		(void)config_unknown_key(reader->table, name, source, reader->message);
		return NULL;
	}
	if (reader->seen[key - reader->table->keys]) {
		(void)fail_at(reader, mark, "key '%s' is set twice", name);
		return NULL;
	}
	reader->seen[key - reader->table->keys] = true;
	return key;
}

static bool is_null(const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;

	return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (*text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

static bool holds_nul(const yaml_event_t *event)
{
	return strlen((const char *)event->data.scalar.value) != event->data.scalar.length;
}

static int read_scalar(struct config_reader *reader, const char *name, const yaml_mark_t *name_mark,
		       const yaml_event_t *event)
{
	const char *value = (const char *)event->data.scalar.value;
	const struct config_key *key;
	char source[CONFIG_MESSAGE_SIZE];

	/* All lines of the section are commented out. */
	if (is_null(event) && is_section(reader->table, name))
		return 0;
	key = find_key_once(reader, name, name_mark);
	if (!key)
		return -EINVAL;
	if (holds_nul(event))
		return fail_at(reader, &event->start_mark, "'%s' holds a NUL character", name);
	format_source(reader, &event->start_mark, source);
	return config_set_key(key, is_null(event) ? "" : value, source, reader->config,
			      reader->message);
}

static int append_item(struct config_reader *reader, const char *name, const yaml_event_t *event,
		       struct bytes *items)
{
	const char *text;

	if (event->type != YAML_SCALAR_EVENT)
		return fail_at(reader, &event->start_mark, "the list '%s' may hold texts only",
			       name);
	text = (const char *)event->data.scalar.value;
	if (holds_nul(event) || strchr(text, '\n'))
		return fail_at(reader, &event->start_mark,
			       "an item of '%s' holds a line feed or a NUL character", name);
	if (*text == '\0')
		return 0;
	if (items->size > 0)
		bytes_append_byte(items, '\n');
	return bytes_append_text(items, text);
}

static int collect_items(struct config_reader *reader, const char *name, struct bytes *items)
{
	for (;;) {
		scoped(scoped_delete_event) yaml_event_t event = {};
		int r = next_event(reader, &event);

		if (r < 0 || event.type == YAML_SEQUENCE_END_EVENT)
			return r;
		r = append_item(reader, name, &event, items);
		if (r < 0)
			return r;
	}
}

static int read_list(struct config_reader *reader, const char *name, const yaml_mark_t *name_mark)
{
	/* The items are at most as long as the file, and each adds a separator. */
	scoped(bytes_release) struct bytes items = BYTES_INIT(2 * MAX_FILE_BYTES);
	const struct config_key *key;
	char *text;
	int r;

	key = find_key_once(reader, name, name_mark);
	if (!key)
		return -EINVAL;
	if (key->type != CONFIG_LIST)
		return fail_at(reader, name_mark, "'%s' is no list: it takes one value", name);
	r = collect_items(reader, name, &items);
	if (r < 0)
		return r;

	text = strndup(items.data ? (const char *)items.data : "", items.size);
	if (!text)
		return -ENOMEM;
	config_value_take_text(key, text, reader->config);
	return 0;
}

static int join_name(struct config_reader *reader, const char *section, const yaml_event_t *event,
		     char ret_name[MAX_NAME_LENGTH])
{
	int length;

	if (event->type != YAML_SCALAR_EVENT)
		return fail_at(reader, &event->start_mark, "the name of a key must be a text");
	length = snprintf(ret_name, MAX_NAME_LENGTH, "%s%s%s", section, *section ? "." : "",
			  (const char *)event->data.scalar.value);
	if (length < 0 || length >= MAX_NAME_LENGTH)
		return fail_at(reader, &event->start_mark, "the name of a key is too long");
	return 0;
}

static int read_section(struct config_reader *reader, const char *section, unsigned int depth);

static int read_value(struct config_reader *reader, const char *name, const yaml_mark_t *name_mark,
		      unsigned int depth)
{
	scoped(scoped_delete_event) yaml_event_t event = {};
	char source[CONFIG_MESSAGE_SIZE];
	int r;

	r = next_event(reader, &event);
	if (r < 0)
		return r;
	switch (event.type) {
	case YAML_SCALAR_EVENT:
		return read_scalar(reader, name, name_mark, &event);
	case YAML_SEQUENCE_START_EVENT:
		return read_list(reader, name, name_mark);
	case YAML_MAPPING_START_EVENT:
		if (config_find_key(reader->table, name))
			return fail_at(reader, name_mark, "'%s' is a key, not a section", name);
		if (!is_section(reader->table, name)) {
			format_source(reader, name_mark, source);
			return config_unknown_key(reader->table, name, source, reader->message);
		}
		return read_section(reader, name, depth + 1);
	default:
		return fail_at(reader, &event.start_mark, "anchors and aliases are not supported");
	}
}

/* Reads a mapping to its end, after its start event has been read. */
static int read_section(struct config_reader *reader, const char *section, unsigned int depth)
{
	for (;;) {
		scoped(scoped_delete_event) yaml_event_t event = {};
		char name[MAX_NAME_LENGTH];
		int r = next_event(reader, &event);

		if (r < 0 || event.type == YAML_MAPPING_END_EVENT)
			return r;
		if (depth > MAX_DEPTH)
			return fail_at(reader, &event.start_mark, "sections nest too deeply");
		r = join_name(reader, section, &event, name);
		if (r < 0)
			return r;
		r = read_value(reader, name, &event.start_mark, depth);
		if (r < 0)
			return r;
	}
}

/* A file without content, or with comments only, is valid: all keys keep their defaults. */
static int read_document(struct config_reader *reader, bool *ret_at_end)
{
	scoped(scoped_delete_event) yaml_event_t event = {};
	int r = next_event(reader, &event);

	if (r < 0)
		return r;
	*ret_at_end = event.type == YAML_STREAM_END_EVENT;
	switch (event.type) {
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_START_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return 0;
	case YAML_MAPPING_START_EVENT:
		return read_section(reader, "", 0);
	case YAML_SCALAR_EVENT:
		if (is_null(&event))
			return 0;
		break;
	default:
		break;
	}
	return fail_at(reader, &event.start_mark, "expected 'key: value' lines");
}

static int read_text(const struct config_table *table, const char *path, struct bytes_view text,
		     void *config, char ret_message[CONFIG_MESSAGE_SIZE])
{
	scoped_free bool *seen = calloc(MAX(table->n_keys, (size_t)1), sizeof(*seen));
	struct config_reader reader = {
		.table = table,
		.config = config,
		.path = path,
		.message = ret_message,
		.seen = seen,
	};
	bool at_end = false;
	int r = 0;

	if (!seen || !yaml_parser_initialize(&reader.parser)) {
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE,
			       "'%.200s': cannot read it: out of memory", path);
		return -ENOMEM;
	}
	yaml_parser_set_input_string(&reader.parser, text.data ? text.data : (const uint8_t *)"",
				     text.size);
	while (r == 0 && !at_end)
		r = read_document(&reader, &at_end);
	yaml_parser_delete(&reader.parser);
	return r;
}

int config_load_file(const struct config_table *table, const char *path, void *config,
		     char ret_message[CONFIG_MESSAGE_SIZE])
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MAX_FILE_BYTES);
	int r;

	r = file_read(path, &text);
	if (r < 0) {
		errno = -r;
		(void)snprintf(ret_message, CONFIG_MESSAGE_SIZE, "'%.200s': cannot read it: %m",
			       path);
		return r;
	}
	return read_text(table, path, bytes_view_of(&text), config, ret_message);
}
