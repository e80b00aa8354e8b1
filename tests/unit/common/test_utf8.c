/* SPDX-License-Identifier: Apache-2.0 */
#include "common/utf8.h"

#include <iconv.h>
#include <string.h>

#include "tests/support/test_seed.h"
#include "tests/support/unit.h"

/* Checks with the decoder of the C library, which is strict. */
static bool is_utf8(const char *text, size_t size)
{
	iconv_t decoder = iconv_open("UTF-32LE", "UTF-8");
	char *from = (char *)text;
	char out[4096];
	char *to = out;
	size_t left = size, room = sizeof(out);
	size_t r;

	assert_true(decoder != (iconv_t)-1);
	r = iconv(decoder, &from, &left, &to, &room);
	iconv_close(decoder);
	return r != (size_t)-1;
}

static void invalid_bytes_become_replacement_characters(void **state)
{
	static const struct {
		const char *text, *repaired;
	} cases[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "日本", "日本" },
		{ "a\xff"
		  "b",
		  "a\xef\xbf\xbd"
		  "b" },
		{ "\xe6\x97", "\xef\xbf\xbd\xef\xbf\xbd" }, /* a truncated character */
		{ "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" }, /* overlong */
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* a surrogate */
		{ "\xf4\x90\x80\x80x", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char out[64] = "";
		size_t size =
			utf8_repair(cases[i].text, strlen(cases[i].text), out, sizeof(out) - 1);

		assert_int_equal(size, strlen(cases[i].repaired));
		assert_string_equal(out, cases[i].repaired);
	}
}

static void repaired_text_is_always_valid(void **state)
{
	uint64_t seed = test_seed();

	(void)state;
	srandom((unsigned int)seed);
	for (int round = 0; round < 20000; round++) {
		char text[32], out[96];
		size_t size = (size_t)random() % sizeof(text);
		size_t valid;

		for (size_t i = 0; i < size; i++) {
			/*
			 * Bytes at which continuations and first bytes of all lengths are frequent.
			 */
			static const uint8_t near[] = { 'a',  0x80, 0x9f, 0xa0, 0xbf, 0xc2,
							0xe0, 0xed, 0xef, 0xf0, 0xf4 };

			text[i] = (char)(random() % 4 ? near[(size_t)random() % sizeof(near)]
						      : random());
		}
		valid = utf8_valid_length(text, size);
		assert_true(is_utf8(text, valid));
		assert_int_equal(valid == size, is_utf8(text, size));
		assert_true(is_utf8(out, utf8_repair(text, size, out, sizeof(out))));
		assert_true(is_utf8(out, utf8_repair(text, size, out, 7)));
	}
}

static void truncated_text_ends_with_a_whole_character(void **state)
{
	char out[8] = "xxxxxxx";

	(void)state;
	assert_int_equal(utf8_repair("ab日本", 8, out, 7), 5);
	assert_memory_equal(out, "ab日xx", 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(invalid_bytes_become_replacement_characters),
		cmocka_unit_test(repaired_text_is_always_valid),
		cmocka_unit_test(truncated_text_ends_with_a_whole_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
