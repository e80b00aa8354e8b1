/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Streaming JSON into a byte buffer; commas and nesting are kept by the writer. Invalid UTF-8
 * becomes U+FFFD, and control characters are escaped, so that the output is always valid JSON (RFC
 * 8259). DEL and U+0080 to U+009F are escaped too: a terminal that the JSON is printed on may obey
 * them. Errors are those of the buffer: check bytes_error() at the end.
 */

#include "common/bytes.h"

#define JSON_WRITER_MAX_DEPTH 64

struct json_writer {
	struct bytes *out;
	unsigned int depth;
	bool needs_comma[JSON_WRITER_MAX_DEPTH + 1];
	bool after_key;
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
void json_double(struct json_writer *json, double value);
void json_bool(struct json_writer *json, bool value);
/* Not json_null(): jansson has one, and ours would take its place inside of jansson too. */
void json_null_value(struct json_writer *json);

/* key + value in one call */
void json_key_text(struct json_writer *json, const char *key, const char *text);
void json_key_int(struct json_writer *json, const char *key, int64_t value);
void json_key_uint(struct json_writer *json, const char *key, uint64_t value);
void json_key_bool(struct json_writer *json, const char *key, bool value);
