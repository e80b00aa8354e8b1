/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the events of libyaml's parser in the only valid order, and stops at the first other event.
 * A text such as "[::1]:20416" begins like a list but is not a list.
 */

#include "common/config_printed.h"

#include <string.h>
#include <yaml.h>

#include "common/bytes.h"
#include "common/scoped.h"

/* Value of a flag or a variable. The kernel limits both to 128 KiB. */
#define MAX_VALUE_BYTES ((size_t)(256 * KIB))

static void scoped_delete_event(yaml_event_t *event)
{
	yaml_event_delete(event);
}

static void scoped_delete_parser(yaml_parser_t *parser)
{
	yaml_parser_delete(parser);
}

static int expect(yaml_parser_t *parser, yaml_event_type_t type)
{
	scoped(scoped_delete_event) yaml_event_t event = {};

	if (!yaml_parser_parse(parser, &event))
		return parser->error == YAML_MEMORY_ERROR ? -ENOMEM : -EINVAL;
	return event.type == type ? 0 : -EINVAL;
}

static int expect_start(yaml_parser_t *parser, const char *text)
{
	int r;

	yaml_parser_set_input_string(parser, (const uint8_t *)text, strlen(text));
	r = expect(parser, YAML_STREAM_START_EVENT);
	return r < 0 ? r : expect(parser, YAML_DOCUMENT_START_EVENT);
}

static int expect_end(yaml_parser_t *parser)
{
	int r = expect(parser, YAML_DOCUMENT_END_EVENT);

	return r < 0 ? r : expect(parser, YAML_STREAM_END_EVENT);
}

/* Line feeds separate the items, and NUL ends the text. */
static int append_item(const yaml_event_t *event, struct bytes *items)
{
	const char *text = (const char *)event->data.scalar.value;

	if (strlen(text) != event->data.scalar.length || strchr(text, '\n'))
		return -EINVAL;
	if (*text == '\0')
		return 0;
	if (items->size > 0)
		(void)bytes_append_byte(items, '\n');
	return bytes_append_text(items, text);
}

static int collect_items(yaml_parser_t *parser, struct bytes *items)
{
	for (;;) {
		scoped(scoped_delete_event) yaml_event_t event = {};
		int r;

		if (!yaml_parser_parse(parser, &event))
			return parser->error == YAML_MEMORY_ERROR ? -ENOMEM : -EINVAL;
		if (event.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		if (event.type != YAML_SCALAR_EVENT)
			return -EINVAL;
		r = append_item(&event, items);
		if (r < 0)
			return r;
	}
}

static int take_bytes(const struct bytes *bytes, char **ret_text)
{
	char *text = strndup(bytes->data ? (const char *)bytes->data : "", bytes->size);

	if (!text)
		return -ENOMEM;
	*ret_text = text;
	return 0;
}

int config_printed_list(const char *text, char **ret_items)
{
	scoped(bytes_release) struct bytes items = BYTES_INIT(MAX_VALUE_BYTES);
	scoped(scoped_delete_parser) yaml_parser_t parser = {};
	int r;

	if (text[strspn(text, " ")] != '[')
		return -EINVAL;
	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	r = expect_start(&parser, text);
	if (r < 0)
		return r;
	r = expect(&parser, YAML_SEQUENCE_START_EVENT);
	if (r < 0)
		return r;
	r = collect_items(&parser, &items);
	if (r < 0)
		return r;
	r = expect_end(&parser);
	return r < 0 ? r : take_bytes(&items, ret_items);
}

int config_printed_text(const char *text, char **ret_text)
{
	scoped(bytes_release) struct bytes value = BYTES_INIT(MAX_VALUE_BYTES);
	scoped(scoped_delete_parser) yaml_parser_t parser = {};
	scoped(scoped_delete_event) yaml_event_t event = {};
	int r;

	if (*text != '"')
		return -EINVAL;
	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	r = expect_start(&parser, text);
	if (r < 0)
		return r;
	if (!yaml_parser_parse(&parser, &event))
		return parser.error == YAML_MEMORY_ERROR ? -ENOMEM : -EINVAL;
	if (event.type != YAML_SCALAR_EVENT ||
	    strlen((const char *)event.data.scalar.value) != event.data.scalar.length)
		return -EINVAL;
	r = bytes_append_text(&value, (const char *)event.data.scalar.value);
	if (r < 0)
		return r;
	r = expect_end(&parser);
	return r < 0 ? r : take_bytes(&value, ret_text);
}
