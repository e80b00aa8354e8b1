/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text is copied in runs: one append copies all bytes up to the next character that needs an
 * escape. An answer contains a hundred thousand names, and most of them are one run.
 */

#include "common/json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/utf8.h"

#define REPLACEMENT_CHARACTER "\xef\xbf\xbd"

void json_writer_init(struct json_writer *json, struct bytes *out)
{
	*json = (struct json_writer){ .out = out };
}

static void before_value(struct json_writer *json)
{
	if (json->after_key) {
		json->after_key = false;
		return;
	}
	if (json->needs_comma[json->depth])
		bytes_append_byte(json->out, ',');
	json->needs_comma[json->depth] = true;
}

static void begin(struct json_writer *json, char bracket)
{
	before_value(json);
	assert(json->depth < JSON_WRITER_MAX_DEPTH);
	json->needs_comma[++json->depth] = false;
	bytes_append_byte(json->out, (uint8_t)bracket);
}

static void end(struct json_writer *json, char bracket)
{
	assert(json->depth > 0 && !json->after_key);
	json->depth--;
	bytes_append_byte(json->out, (uint8_t)bracket);
}

void json_object_begin(struct json_writer *json)
{
	begin(json, '{');
}

void json_object_end(struct json_writer *json)
{
	end(json, '}');
}

void json_array_begin(struct json_writer *json)
{
	begin(json, '[');
}

void json_array_end(struct json_writer *json)
{
	end(json, ']');
}

static bool needs_escape(uint8_t byte)
{
	return byte < 0x20 || byte == 0x7f || byte == '"' || byte == '\\';
}

/* U+0080 to U+009F, which some terminals interpret as commands. */
static bool is_c1_control(const uint8_t *text, size_t size)
{
	return size >= 2 && text[0] == 0xc2 && text[1] >= 0x80 && text[1] < 0xa0;
}

/* Length of the longest prefix of @text that needs no escape. */
static size_t plain_run_length(const uint8_t *text, size_t size)
{
	size_t i = 0;

	while (i < size) {
		size_t length;

		if (text[i] < 0x80) {
			if (needs_escape(text[i]))
				break;
			i++;
			continue;
		}
		length = utf8_sequence_length(text + i, size - i);
		if (length == 0 || is_c1_control(text + i, size - i))
			break;
		i += length;
	}
	return i;
}

/* Escapes one character. Returns the number of bytes of @text that it replaces, 1 or 2. */
static size_t append_escaped(struct bytes *out, const uint8_t *text, size_t size)
{
	static const char short_escapes[128] = {
		['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
		['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't',
	};
	const uint8_t byte = *text;

	if (is_c1_control(text, size)) {
		bytes_append_format(out, "\\u%04x", (unsigned int)text[1]);
		return 2;
	}
	if (byte >= 0x80)
		bytes_append_text(out, REPLACEMENT_CHARACTER);
	else if (short_escapes[byte])
		bytes_append(out, (const char[]){ '\\', short_escapes[byte] }, 2);
	else
		bytes_append_format(out, "\\u%04x", (unsigned int)byte);
	return 1;
}

static void append_quoted(struct bytes *out, const char *text, size_t length)
{
	const uint8_t *next = (const uint8_t *)text;

	bytes_append_byte(out, '"');
	while (length > 0) {
		size_t run = plain_run_length(next, length);
		size_t escaped;

		bytes_append(out, next, run);
		next += run;
		length -= run;
		if (length == 0)
			break;
		escaped = append_escaped(out, next, length);
		next += escaped;
		length -= escaped;
	}
	bytes_append_byte(out, '"');
}

void json_key(struct json_writer *json, const char *key)
{
	assert(!json->after_key);
	before_value(json);
	append_quoted(json->out, key, strlen(key));
	bytes_append_byte(json->out, ':');
	json->after_key = true;
}

void json_text(struct json_writer *json, const char *text)
{
	json_text_sized(json, text, strlen(text));
}

void json_text_sized(struct json_writer *json, const char *text, size_t length)
{
	before_value(json);
	append_quoted(json->out, text, length);
}

void json_uint(struct json_writer *json, uint64_t value)
{
	char digits[20]; /* UINT64_MAX has 20 */
	size_t at = sizeof(digits);

	before_value(json);
	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	bytes_append(json->out, digits + at, sizeof(digits) - at);
}

void json_int(struct json_writer *json, int64_t value)
{
	if (value >= 0) {
		json_uint(json, (uint64_t)value);
		return;
	}
	before_value(json);
	bytes_append_format(json->out, "%" PRId64, value);
}

void json_double(struct json_writer *json, double value)
{
	char text[32];

	/* JSON has no infinities and no NaN. */
	if (!isfinite(value)) {
		json_null_value(json);
		return;
	}
	/*
	 * 17 digits represent every double exactly. Print 15 digits if they do too, because they
	 * are shorter and free of rounding noise.
	 */
	snprintf(text, sizeof(text), "%.15g", value);
	if (strtod(text, NULL) != value)
		snprintf(text, sizeof(text), "%.17g", value);
	before_value(json);
	bytes_append_text(json->out, text);
}

void json_bool(struct json_writer *json, bool value)
{
	before_value(json);
	bytes_append_text(json->out, value ? "true" : "false");
}

void json_null_value(struct json_writer *json)
{
	before_value(json);
	bytes_append_text(json->out, "null");
}

void json_raw(struct json_writer *json, struct bytes_view value)
{
	before_value(json);
	bytes_append(json->out, value.data, value.size);
}

void json_key_text(struct json_writer *json, const char *key, const char *text)
{
	json_key(json, key);
	json_text(json, text);
}

void json_key_int(struct json_writer *json, const char *key, int64_t value)
{
	json_key(json, key);
	json_int(json, value);
}

void json_key_uint(struct json_writer *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_uint(json, value);
}

void json_key_bool(struct json_writer *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}
