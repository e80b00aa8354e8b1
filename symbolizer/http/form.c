/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/form.h"

#include <string.h>

static int digit_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes the character at @at. Returns the number of bytes that it has in @text, or 0. */
static size_t decode(struct bytes_view text, size_t at, char *ret_character)
{
	int high, low;

	if (text.data[at] != '%') {
		*ret_character = text.data[at] == '+' ? ' ' : (char)text.data[at];
		return *ret_character != '\0';
	}
	if (text.size - at < 3)
		return 0;
	high = digit_value(text.data[at + 1]);
	low = digit_value(text.data[at + 2]);
	if (high < 0 || low < 0 || high + low == 0)
		return 0;
	*ret_character = (char)(high << 4 | low);
	return 3;
}

static int decode_text(struct bytes_view text, struct arena *arena, const char **ret_text)
{
	char *decoded = arena_alloc(arena, text.size + 1);
	size_t length = 0, used;

	if (!decoded)
		return -ENOMEM;
	for (size_t at = 0; at < text.size; at += used) {
		used = decode(text, at, &decoded[length++]);
		if (used == 0)
			return -EINVAL;
	}
	decoded[length] = '\0';
	*ret_text = decoded;
	return 0;
}

/* Returns the part of @text before the first @delimiter; *ret_rest is the part after it. */
static struct bytes_view split(struct bytes_view text, char delimiter, struct bytes_view *ret_rest)
{
	const uint8_t *end = text.size > 0 ? memchr(text.data, delimiter, text.size) : NULL;
	size_t length = end ? (size_t)(end - text.data) : text.size;

	*ret_rest = (struct bytes_view){};
	if (end)
		*ret_rest = (struct bytes_view){ .data = end + 1, .size = text.size - length - 1 };
	return (struct bytes_view){ .data = text.data, .size = length };
}

int form_parse(struct bytes_view body, struct arena *arena, struct form *ret_form)
{
	struct form form = {};

	while (body.size > 0) {
		struct http_field *field = &form.fields[form.n_fields];
		struct bytes_view pair = split(body, '&', &body), name, value;
		int r;

		if (pair.size == 0)
			continue;
		if (form.n_fields == FORM_MAX_FIELDS)
			return -EINVAL;
		name = split(pair, '=', &value);
		r = decode_text(name, arena, &field->name);
		if (r == 0)
			r = decode_text(value, arena, &field->value);
		if (r < 0)
			return r;
		form.n_fields++;
	}
	*ret_form = form;
	return 0;
}

const char *form_value(const struct form *form, const char *name)
{
	for (size_t i = 0; i < form->n_fields; i++)
		if (strcmp(form->fields[i].name, name) == 0)
			return form->fields[i].value[0] ? form->fields[i].value : NULL;
	return NULL;
}
