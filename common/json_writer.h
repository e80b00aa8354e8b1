/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes JSON (RFC 8259) into a byte buffer. The writer tracks the nesting and adds the commas. It
 * replaces invalid UTF-8 by U+FFFD and escapes control characters, so the output is always valid.
 * It also escapes DEL and U+0080 to U+009F, because a terminal may interpret them. The buffer keeps
 * its first error, so a caller checks bytes_error() once at the end.
 */

#include "common/bytes.h"

/* Deeper nesting fails an assertion. */
#define JSON_WRITER_MAX_DEPTH 64

struct json_writer {
	struct bytes *out;
	unsigned int depth;
	/* for each depth: its object or array has a value, so the next one needs a comma */
	bool needs_comma[JSON_WRITER_MAX_DEPTH + 1];
	bool after_key; /* the next call writes the value of this key */
};

void json_writer_init(struct json_writer *json, struct bytes *out);

void json_object_begin(struct json_writer *json);
void json_object_end(struct json_writer *json);
void json_array_begin(struct json_writer *json);
void json_array_end(struct json_writer *json);
void json_key(struct json_writer *json, const char *key);

void json_text(struct json_writer *json, const char *text);
void json_text_sized(struct json_writer *json, const char *text, size_t length);
void json_int(struct json_writer *json, int64_t value);
void json_uint(struct json_writer *json, uint64_t value);
/* Writes null for an infinity or NaN, which JSON lacks. */
void json_double(struct json_writer *json, double value);
void json_bool(struct json_writer *json, bool value);
/* Not named json_null(): jansson has a function of that name, and would call this one instead. */
void json_null_value(struct json_writer *json);

/* Writes a value that is JSON already. */
void json_raw(struct json_writer *json, struct bytes_view value);

/* Write a key and its value. */
void json_key_text(struct json_writer *json, const char *key, const char *text);
void json_key_int(struct json_writer *json, const char *key, int64_t value);
void json_key_uint(struct json_writer *json, const char *key, uint64_t value);
void json_key_bool(struct json_writer *json, const char *key, bool value);
