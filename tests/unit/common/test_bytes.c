/* SPDX-License-Identifier: Apache-2.0 */
#include "common/bytes.h"

#include "tests/support/unit.h"

static void appended_bytes_are_contiguous(void **state)
{
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(1000);

	(void)state;
	assert_ok(bytes_append(&bytes, "ab", 2));
	assert_ok(bytes_append_byte(&bytes, 'c'));
	assert_ok(bytes_append_text(&bytes, "def"));
	assert_ok(bytes_append_format(&bytes, "%d-%s", 42, "x"));
	assert_ok(bytes_append(&bytes, NULL, 0));
	assert_bytes_equal_text(&bytes, "abcdef42-x");
}

static void the_ceiling_is_reached_but_not_exceeded(void **state)
{
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(100);

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_ok(bytes_append_byte(&bytes, (uint8_t)i));
	assert_true(bytes.capacity <= 100);
	assert_errno(bytes_append_byte(&bytes, 1), -EFBIG);
	assert_int_equal(bytes.size, 100);
}

static void the_first_error_stays_until_the_buffer_is_cleared(void **state)
{
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(4);

	(void)state;
	assert_errno(bytes_append_text(&bytes, "hello"), -EFBIG);
	assert_errno(bytes_append_byte(&bytes, 'a'), -EFBIG);
	assert_errno(bytes_append_format(&bytes, "a"), -EFBIG);
	assert_errno(bytes_append_varint(&bytes, 1), -EFBIG);
	assert_errno(bytes_reserve(&bytes, 0), -EFBIG);
	assert_errno(bytes_error(&bytes), -EFBIG);
	assert_int_equal(bytes.size, 0);

	bytes_clear(&bytes);
	assert_ok(bytes_error(&bytes));
	assert_ok(bytes_append_text(&bytes, "four"));
}

static void huge_requests_do_not_overflow(void **state)
{
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(SIZE_MAX);

	(void)state;
	assert_ok(bytes_append_byte(&bytes, 1));
	assert_errno(bytes_reserve(&bytes, SIZE_MAX), -EFBIG);
}

static void long_formats_fill_the_buffer_to_its_ceiling(void **state)
{
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(1000);

	(void)state;
	assert_ok(bytes_append_format(&bytes, "%01000d", 7));
	assert_int_equal(bytes.size, 1000);
	assert_int_equal(bytes.data[999], '7');
	assert_int_equal(bytes.ceiling, 1000);
	assert_errno(bytes_append_byte(&bytes, 'x'), -EFBIG);
	bytes_clear(&bytes);
	assert_errno(bytes_append_format(&bytes, "%01001d", 7), -EFBIG);
}

static void varints_are_decoded_to_the_encoded_values(void **state)
{
	static const struct {
		uint64_t value;
		size_t size;
	} cases[] = {
		{ 0, 1 },           { 1, 1 },           { 127, 1 },        { 128, 2 },
		{ 16383, 2 },       { 16384, 3 },       { UINT32_MAX, 5 }, { 1ULL << 62, 9 },
		{ 1ULL << 63, 10 }, { UINT64_MAX, 10 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(bytes_release) struct bytes bytes = BYTES_INIT(10);
		struct bytes_reader reader;

		assert_ok(bytes_append_varint(&bytes, cases[i].value));
		assert_int_equal(bytes.size, cases[i].size);
		reader = bytes_reader_of(bytes_view_of(&bytes));
		assert_int_equal(bytes_read_varint(&reader), cases[i].value);
		assert_ok(reader.error);
		assert_ptr_equal(reader.next, reader.end);
	}
}

static void malformed_varints_set_an_error_that_stays(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} cases[] = {
		{ "", 0 },
		{ "\x80", 1 },
		{ "\xff\xff\xff", 3 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10 },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes_view view = { (const uint8_t *)cases[i].bytes, cases[i].size };
		struct bytes_reader reader = bytes_reader_of(view);

		assert_int_equal(bytes_read_varint(&reader), 0);
		assert_errno(reader.error, -EBADMSG);
		assert_int_equal(bytes_read_varint(&reader), 0);
		assert_errno(reader.error, -EBADMSG);
	}
}

static void a_reader_of_nothing_is_at_its_end(void **state)
{
	struct bytes_reader reader = bytes_reader_of((struct bytes_view){});

	(void)state;
	assert_ptr_equal(reader.next, reader.end);
}

static void zigzag_gives_small_numbers_for_small_magnitudes(void **state)
{
	static const struct {
		int64_t value;
		uint64_t encoded;
	} cases[] = {
		{ 0, 0 },
		{ -1, 1 },
		{ 1, 2 },
		{ -2, 3 },
		{ INT64_MAX, UINT64_MAX - 1 },
		{ INT64_MIN, UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(zigzag_encode(cases[i].value), cases[i].encoded);
		assert_int_equal(zigzag_decode(cases[i].encoded), cases[i].value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appended_bytes_are_contiguous),
		cmocka_unit_test(the_ceiling_is_reached_but_not_exceeded),
		cmocka_unit_test(the_first_error_stays_until_the_buffer_is_cleared),
		cmocka_unit_test(huge_requests_do_not_overflow),
		cmocka_unit_test(long_formats_fill_the_buffer_to_its_ceiling),
		cmocka_unit_test(varints_are_decoded_to_the_encoded_values),
		cmocka_unit_test(malformed_varints_set_an_error_that_stays),
		cmocka_unit_test(a_reader_of_nothing_is_at_its_end),
		cmocka_unit_test(zigzag_gives_small_numbers_for_small_magnitudes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
