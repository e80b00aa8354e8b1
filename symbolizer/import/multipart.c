/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/import/multipart.h"

#include <stdio.h>
#include <strings.h>

/* Of RFC 2046, with "--" before it. */
#define BOUNDARY_SIZE 80

static const char form_type[] = "multipart/form-data";

bool multipart_is_form(const char *content_type)
{
	return content_type && strncasecmp(content_type, form_type, strlen(form_type)) == 0;
}

/* Copies the value of a parameter, which may be in quotes. Returns its length, 0: not found. */
static size_t find_parameter(const char *text, size_t size, const char *name, char *to,
			     size_t capacity)
{
	const size_t length = strlen(name);

	for (size_t i = 0; i + length < size; i++) {
		const bool begins = i == 0 || strchr("; \t", text[i - 1]);
		size_t n = 0;
		bool quoted;

		if (!begins || text[i + length] != '=' || strncasecmp(&text[i], name, length) != 0)
			continue;
		i += length + 1;
		quoted = i < size && text[i] == '"';
		i += quoted;
		while (i < size && n < capacity - 1 && text[i] != '\r' && text[i] != '\n' &&
		       (quoted ? text[i] != '"' : text[i] != ';' && text[i] != ' '))
			to[n++] = text[i++];
		to[n] = '\0';
		return n;
	}
	to[0] = '\0';
	return 0;
}

static const uint8_t *find_text(const uint8_t *from, const uint8_t *end, const char *text)
{
	return from < end ? memmem(from, (size_t)(end - from), text, strlen(text)) : NULL;
}

int multipart_find(const char *content_type, struct bytes_view body, const char *field,
		   struct bytes_view *ret_value)
{
	const uint8_t *end = body.size ? body.data + body.size : body.data;
	char boundary[BOUNDARY_SIZE] = "\r\n--", name[64];
	const uint8_t *part;

	if (!multipart_is_form(content_type) ||
	    find_parameter(content_type, strlen(content_type), "boundary", boundary + 4,
			   sizeof(boundary) - 4) == 0)
		return -EBADMSG;
	/* The first boundary may be at the begin of the body. */
	part = find_text(body.data, end, boundary + 2);
	while (part) {
		const uint8_t *headers = part + strlen(boundary + 2);
		const uint8_t *blank, *next;

		if (end - headers >= 2 && memcmp(headers, "--", 2) == 0)
			return 0;
		blank = find_text(headers, end, "\r\n\r\n");
		next = blank ? find_text(blank + 2, end, boundary) : NULL;
		if (!next)
			return -EBADMSG;
		(void)find_parameter((const char *)headers, (size_t)(blank - headers), "name", name,
				     sizeof(name));
		if (strcmp(name, field) == 0) {
			const uint8_t *value = blank + strlen("\r\n\r\n");

			*ret_value =
				(struct bytes_view){ value,
						     next > value ? (size_t)(next - value) : 0 };
			return 1;
		}
		part = next + 2;
	}
	return 0;
}
