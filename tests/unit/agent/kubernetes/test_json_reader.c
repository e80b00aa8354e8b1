/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/kubernetes/json_reader.h"

#include "tests/support/unit.h"

/* Skips one value. Returns whether it is valid and the text has nothing after it. */
static bool is_valid(const char *text)
{
	struct json_reader reader = json_reader_of(text, strlen(text));

	json_skip(&reader);
	return !json_failed(&reader) && reader.next == reader.end && reader.depth == 0;
}

static void values_of_every_kind_are_skipped(void **state)
{
	static const char *const texts[] = {
		"null",
		"true",
		"false",
		"0",
		"-1.5e+3",
		"\"\"",
		"\"a\\\"b\\\\\"",
		"[]",
		"{}",
		"[1,2,[3,{}]]",
		"{\"a\":{\"b\":[null]},\"c\":\"}\"}",
		" { \"a\" :\t[ ] }",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!is_valid(texts[i]))
			fail_msg("refused: %s", texts[i]);
	}
}

static void wrong_texts_are_refused(void **state)
{
	static const char *const texts[] = {
		"",      "[",       "{",         "{]",          "[}",    "[1,]",     "[,1]",
		"[1 2]", "{\"a\"}", "{\"a\":}",  "{\"a\":1,}",  "{1:2}", "\"",       "\"a",
		"\"\\",  "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "?",     "{\"a\":1", "{a:1}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (is_valid(texts[i]))
			fail_msg("accepted: %s", texts[i]);
	}
}

static void depth_is_bounded(void **state)
{
	char text[2 * JSON_MAX_DEPTH + 3] = "";

	(void)state;
	memset(text, '[', JSON_MAX_DEPTH);
	memset(text + JSON_MAX_DEPTH, ']', JSON_MAX_DEPTH);
	assert_true(is_valid(text));
	memset(text, '[', JSON_MAX_DEPTH + 1);
	memset(text + JSON_MAX_DEPTH + 1, ']', JSON_MAX_DEPTH + 1);
	assert_false(is_valid(text));
}

static void texts_are_decoded(void **state)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{ "\"web\"", "web" },
		{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "\"\\/\b\f\n\r\tz" },
		{ "\"\\u0041\\u00e4\\u20ac\"", "A\xc3\xa4\xe2\x82\xac" },
		{ "\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80" },
		{ "\"\\ud83d\"", "?" }, /* half of a pair */
		{ "\"123456789\"", "123456789" },
		{ "\"1234567890\"", "" }, /* longer than fits */
		{ "\"12345678\\u20ac\"", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json_reader reader = json_reader_of(cases[i].json, strlen(cases[i].json));
		char text[10];

		json_read_text(&reader, text, sizeof(text));
		assert_false(json_failed(&reader));
		assert_string_equal(text, cases[i].text);
	}
}

/* Reads {"a": [texts], ...}; other values are skipped, and null is noted as '-'. */
static void read_example(struct json_reader *reader, struct bytes *seen)
{
	char key[8], text[8];

	json_enter_object(reader);
	while (json_next_key(reader, key, sizeof(key))) {
		assert_ok(bytes_append_text(seen, key));
		if (json_is_null(reader))
			assert_ok(bytes_append_text(seen, "-"));
		if (key[0] != 'a') {
			json_skip(reader);
			continue;
		}
		json_enter_array(reader);
		while (json_next_item(reader)) {
			json_read_text(reader, text, sizeof(text));
			assert_ok(bytes_append_text(seen, text));
		}
	}
}

static void keys_and_items_are_read_in_order(void **state)
{
	static const char json[] = "{\"a\":[\"x\",\"y\"],\"b\":null,\"c\":{\"d\":\"z\"}}";
	struct json_reader reader = json_reader_of(json, strlen(json));
	scoped(bytes_release) struct bytes seen = BYTES_INIT(64);

	(void)state;
	read_example(&reader, &seen);
	assert_false(json_failed(&reader));
	assert_bytes_equal_text(&seen, "axyb-c");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_every_kind_are_skipped),
		cmocka_unit_test(wrong_texts_are_refused),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(texts_are_decoded),
		cmocka_unit_test(keys_and_items_are_read_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
