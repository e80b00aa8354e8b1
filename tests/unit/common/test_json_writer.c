/* SPDX-License-Identifier: Apache-2.0 */
#include "common/json_writer.h"

#include <jansson.h>
#include <math.h>

#include "tests/support/unit.h"

static void scoped_json_decref(json_t **json)
{
	json_decref(*json);
}

/* Parses our output with another implementation. */
static json_t *parse(const struct bytes *out)
{
	json_error_t error;
	json_t *json =
		json_loadb((const char *)out->data, out->size,
			   JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);

	assert_ok(bytes_error(out));
	if (!json)
		fail_msg("%s in %.*s", error.text, (int)out->size, (const char *)out->data);
	return json;
}

static void commas_and_nesting_are_correct(void **state)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);
	scoped(scoped_json_decref) json_t *parsed = NULL;
	struct json_writer json;

	(void)state;
	json_writer_init(&json, &out);
	json_object_begin(&json);
	json_key_text(&json, "a", "x");
	json_key(&json, "empty");
	json_array_begin(&json);
	json_array_end(&json);
	json_key(&json, "list");
	json_array_begin(&json);
	json_int(&json, -1);
	json_object_begin(&json);
	json_object_end(&json);
	json_object_begin(&json);
	json_key_bool(&json, "yes", true);
	json_key_bool(&json, "no", false);
	json_object_end(&json);
	json_null_value(&json);
	json_array_end(&json);
	json_key_uint(&json, "u", UINT64_MAX);
	json_key_int(&json, "i", INT64_MIN);
	json_object_end(&json);

	assert_bytes_equal_text(&out, "{\"a\":\"x\",\"empty\":[],\"list\":[-1,{},"
				      "{\"yes\":true,\"no\":false},null],"
				      "\"u\":18446744073709551615,\"i\":-9223372036854775808}");
	bytes_clear(&out);
	json_writer_init(&json, &out);
	json_array_begin(&json);
	json_array_end(&json);
	parsed = parse(&out);
	assert_true(json_is_array(parsed));
}

static void a_parser_reads_the_written_texts(void **state)
{
	static const struct {
		const char *text;
		size_t length;
	} cases[] = {
		{ "", 0 },
		{ "plain", 5 },
		{ "\"", 1 },
		{ "a\"b\\c/d", 7 },
		{ "\b\f\n\r\t\x01\x1f\x7f", 8 },
		{ "a\0b", 3 },
		{ "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x94\xa5", 11 },
		{ "\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf", 16 },
		{ "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);
		scoped(scoped_json_decref) json_t *parsed = NULL;
		struct json_writer json;

		json_writer_init(&json, &out);
		json_text_sized(&json, cases[i].text, cases[i].length);
		parsed = parse(&out);
		assert_int_equal(json_string_length(parsed), cases[i].length);
		assert_memory_equal(json_string_value(parsed), cases[i].text, cases[i].length);
	}
}

static void invalid_utf8_becomes_replacement_characters(void **state)
{
	static const struct {
		const char *text;
		const char *expected;
	} cases[] = {
		{ "a\x80z", "a\ufffdz" },
		{ "\xff\xfe", "\ufffd\ufffd" },
		{ "\xc3", "\ufffd" },
		{ "\xc3(", "\ufffd(" },
		{ "\xe2\x82", "\ufffd\ufffd" },
		{ "\xe2\x82z", "\ufffd\ufffdz" },
		{ "\xc0\xaf", "\ufffd\ufffd" },                     /* overlong */
		{ "\xe0\x9f\xbf", "\ufffd\ufffd\ufffd" },           /* overlong */
		{ "\xed\xa0\x80", "\ufffd\ufffd\ufffd" },           /* surrogate */
		{ "\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd" }, /* beyond U+10FFFF */
		{ "\xf5z", "\ufffdz" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);
		scoped(scoped_json_decref) json_t *parsed = NULL;
		struct json_writer json;

		json_writer_init(&json, &out);
		json_text(&json, cases[i].text);
		parsed = parse(&out);
		assert_string_equal(json_string_value(parsed), cases[i].expected);
	}
}

static void any_two_bytes_give_valid_json(void **state)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(8 * MIB);
	scoped(scoped_json_decref) json_t *parsed = NULL;
	struct json_writer json;

	(void)state;
	json_writer_init(&json, &out);
	json_array_begin(&json);
	for (unsigned int i = 0; i < 65536; i++)
		json_text_sized(&json, (const char[]){ (char)(i >> 8), (char)i }, 2);
	json_array_end(&json);
	parsed = parse(&out);
	assert_int_equal(json_array_size(parsed), 65536);
}

static void keys_are_escaped_too(void **state)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);
	scoped(scoped_json_decref) json_t *parsed = NULL;
	struct json_writer json;

	(void)state;
	json_writer_init(&json, &out);
	json_object_begin(&json);
	json_key_int(&json, "a\"\n", 1);
	json_object_end(&json);
	parsed = parse(&out);
	assert_int_equal(json_integer_value(json_object_get(parsed, "a\"\n")), 1);
}

static void integers_are_exact(void **state)
{
	static const int64_t values[] = { 0, 1, -1, 9, 10, -10, 1000000007, INT64_MAX, INT64_MIN };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);
		scoped(scoped_json_decref) json_t *parsed = NULL;
		struct json_writer json;

		json_writer_init(&json, &out);
		json_int(&json, values[i]);
		parsed = parse(&out);
		assert_true(json_is_integer(parsed));
		assert_true(json_integer_value(parsed) == values[i]);
	}
}

static void doubles_are_short_and_exact(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{ 0.1, "0.1" },        { 1.0 / 3, NULL },
		{ -2.5, "-2.5" },      { 1e300, "1e+300" },
		{ 5e-324, NULL },      { 100, "100" },
		{ NAN, "null" },       { INFINITY, "null" },
		{ -INFINITY, "null" }, { 0.30000000000000004, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);
		scoped(scoped_json_decref) json_t *parsed = NULL;
		struct json_writer json;

		json_writer_init(&json, &out);
		json_double(&json, cases[i].value);
		if (cases[i].text)
			assert_bytes_equal_text(&out, cases[i].text);
		parsed = parse(&out);
		if (isfinite(cases[i].value))
			assert_true(json_number_value(parsed) == cases[i].value);
	}
}

static void a_full_buffer_is_reported_at_the_end(void **state)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(10);
	struct json_writer json;

	(void)state;
	json_writer_init(&json, &out);
	json_array_begin(&json);
	for (int i = 0; i < 10; i++)
		json_text(&json, "text");
	json_array_end(&json);
	assert_errno(bytes_error(&out), -EFBIG);
}

static void control_characters_are_escaped(void **state)
{
	static const char *const cases[][2] = {
		{ "a\x1b[2J", "\"a\\u001b[2J\"" },
		{ "\x7f", "\"\\u007f\"" },
		{ "\xc2\x80\xc2\x9b"
		  "2J\xc2\x9f",
		  "\"\\u0080\\u009b2J\\u009f\"" },
		{ "\xc2\xa0", "\"\xc2\xa0\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);
		struct json_writer json;

		json_writer_init(&json, &out);
		json_text(&json, cases[i][0]);
		assert_bytes_equal_text(&out, cases[i][1]);
	}
}

static void a_raw_value_is_written_unchanged(void **state)
{
	scoped(bytes_release) struct bytes out = BYTES_INIT(MIB);
	struct json_writer json;

	(void)state;
	json_writer_init(&json, &out);
	json_object_begin(&json);
	json_key(&json, "a");
	json_raw(&json, (struct bytes_view){ (const uint8_t *)"[1,2]", 5 });
	json_key_uint(&json, "b", 3);
	json_object_end(&json);
	assert_bytes_equal_text(&out, "{\"a\":[1,2],\"b\":3}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(control_characters_are_escaped),
		cmocka_unit_test(commas_and_nesting_are_correct),
		cmocka_unit_test(a_parser_reads_the_written_texts),
		cmocka_unit_test(invalid_utf8_becomes_replacement_characters),
		cmocka_unit_test(any_two_bytes_give_valid_json),
		cmocka_unit_test(keys_are_escaped_too),
		cmocka_unit_test(integers_are_exact),
		cmocka_unit_test(doubles_are_short_and_exact),
		cmocka_unit_test(a_raw_value_is_written_unchanged),
		cmocka_unit_test(a_full_buffer_is_reported_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
