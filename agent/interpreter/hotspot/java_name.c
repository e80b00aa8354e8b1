/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/hotspot/java_name.h"

#include <ctype.h>

struct writer {
	uint8_t *to;
	size_t used, max_bytes;
};

static void put(struct writer *writer, const uint8_t *bytes, size_t size)
{
	if (size > writer->max_bytes - writer->used) {
		/* What follows would not fit either. */
		writer->max_bytes = writer->used;
		return;
	}
	memcpy(writer->to + writer->used, bytes, size);
	writer->used += size;
}

static void put_text(struct writer *writer, const char *text)
{
	put(writer, (const uint8_t *)text, strlen(text));
}

/* Size of the character at @text: 1 to 3 bytes of UTF-8, as class files have them; 0: invalid. */
static size_t character_bytes(const uint8_t *text, size_t size)
{
	if (text[0] >= 0x20 && text[0] < 0x7f)
		return 1;
	if (text[0] >= 0xc2 && text[0] < 0xe0)
		return size >= 2 && (text[1] & 0xc0) == 0x80 ? 2 : 0;
	if (text[0] < 0xe0 || text[0] >= 0xf0 || size < 3 || (text[1] & 0xc0) != 0x80 ||
	    (text[2] & 0xc0) != 0x80)
		return 0;
	/* Not longer than necessary, and no half of a pair. */
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] >= 0xa0))
		return 0;
	return 3;
}

/* Copies @text with @slash for each '/'. */
static void put_name(struct writer *writer, struct bytes_view text, char slash)
{
	for (size_t i = 0; i < text.size;) {
		size_t size = character_bytes(text.data + i, text.size - i);
		uint8_t replaced = size == 0 ? '?' : (uint8_t)slash;

		if (size == 0 || text.data[i] == '/')
			put(writer, &replaced, 1);
		else
			put(writer, text.data + i, size);
		i += size ? size : 1;
	}
}

size_t java_text_copy(struct bytes_view text, uint8_t *to, size_t max_bytes)
{
	struct writer writer = { .to = to, .max_bytes = max_bytes };

	put_name(&writer, text, '/');
	return writer.used;
}

size_t java_package_bytes(struct bytes_view class_name)
{
	size_t size = class_name.size;

	while (size > 0 && class_name.data[size - 1] != '/')
		size--;
	return size;
}

/* Without "+0x0000000800c03000" and, before it, the number of "$$Lambda$14". */
static struct bytes_view without_number(struct bytes_view name)
{
	static const char lambda[] = "$$Lambda$";
	const size_t lambda_bytes = sizeof(lambda) - 1;
	size_t end;

	for (size_t i = 0; i + 3 <= name.size; i++)
		if (memcmp(name.data + i, "+0x", 3) == 0)
			name.size = i;
	end = name.size;
	while (end > 0 && isdigit(name.data[end - 1]))
		end--;
	if (end >= lambda_bytes &&
	    memcmp(name.data + end - lambda_bytes, lambda, lambda_bytes) == 0)
		name.size = end - 1;
	return name;
}

static const char *primitive(uint8_t code)
{
	switch (code) {
	case 'B':
		return "byte";
	case 'C':
		return "char";
	case 'D':
		return "double";
	case 'F':
		return "float";
	case 'I':
		return "int";
	case 'J':
		return "long";
	case 'S':
		return "short";
	case 'Z':
		return "boolean";
	default:
		return NULL;
	}
}

/*
 * Writes the type at @type, without its package. Returns its size in the descriptor; 0: it is
 * malformed.
 */
static size_t put_type(struct writer *writer, const uint8_t *type, size_t size)
{
	size_t n_dimensions = 0, at;
	const uint8_t *end;

	while (n_dimensions < size && type[n_dimensions] == '[')
		n_dimensions++;
	at = n_dimensions;
	if (at == size)
		return 0;
	if (type[at] == 'L') {
		struct bytes_view name = { .data = type + at + 1 };
		size_t package;

		end = memchr(name.data, ';', size - at - 1);
		if (!end)
			return 0;
		name.size = (size_t)(end - name.data);
		at += 2 + name.size;
		package = java_package_bytes(name);
		name.data += package;
		name.size -= package;
		put_name(writer, name, '.');
	} else {
		if (!primitive(type[at]))
			return 0;
		put_text(writer, primitive(type[at++]));
	}
	for (size_t i = 0; i < n_dimensions; i++)
		put_text(writer, "[]");
	return at;
}

static void put_parameters(struct writer *writer, struct bytes_view descriptor)
{
	size_t at = 1;

	if (descriptor.size == 0 || descriptor.data[0] != '(')
		return;
	put_text(writer, "(");
	while (at < descriptor.size && descriptor.data[at] != ')') {
		size_t size;

		if (at > 1)
			put_text(writer, ", ");
		size = put_type(writer, descriptor.data + at, descriptor.size - at);
		if (size == 0) {
			put_text(writer, "?");
			break;
		}
		at += size;
	}
	put_text(writer, ")");
}

size_t java_name_write(const struct java_method *method, uint8_t *to, size_t max_bytes)
{
	struct writer writer = { .to = to, .max_bytes = max_bytes };

	put_name(&writer, without_number(method->class_name), '.');
	put_text(&writer, ".");
	put_name(&writer, method->name, '/');
	put_parameters(&writer, method->descriptor);
	return writer.used;
}
