/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elf/dwarf_cursor.h"

#include "tests/support/unit.h"

#define CURSOR_OVER(array) cursor_at((struct bytes_view){ (array), sizeof(array) }, 0)

static void a_failed_read_returns_zero_and_moves_to_the_end(void **state)
{
	static const uint8_t bytes[] = { 1, 2, 3 };
	struct bytes_reader cursor = CURSOR_OVER(bytes);

	(void)state;
	assert_int_equal(cursor_u16(&cursor), 0x0201);
	assert_ok(cursor.error);
	assert_int_equal(cursor_u32(&cursor), 0);
	assert_errno(cursor.error, -EBADMSG);
	assert_int_equal(cursor_left(&cursor), 0);
	assert_int_equal(cursor_u8(&cursor), 0);
}

static void a_cursor_may_begin_at_the_end_but_not_beyond(void **state)
{
	static const uint8_t bytes[] = { 1, 2 };
	const struct bytes_view view = { bytes, sizeof(bytes) };

	(void)state;
	assert_ok(cursor_at(view, 2).error);
	assert_errno(cursor_at(view, 3).error, -EBADMSG);
	assert_errno(cursor_at((struct bytes_view){}, UINT64_MAX).error, -EBADMSG);
	assert_ok(cursor_at((struct bytes_view){}, 0).error);
}

static void leb128_numbers_are_read_up_to_64_bits(void **state)
{
	static const struct {
		uint8_t bytes[16];
		uint64_t plain;
		int64_t with_sign;
		size_t size;
	} cases[] = {
		{ { 0x02 }, 2, 2, 1 },
		{ { 0x7f }, 127, -1, 1 },
		{ { 0x80, 0x01 }, 128, 128, 2 },
		{ { 0x80, 0x7f }, 16256, -128, 2 },
		/* Padded. */
		{ { 0x82, 0x80, 0x80, 0x00 }, 2, 2, 4 },
		/* The 64th bit; bits beyond it are dropped. */
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 },
		  UINT64_MAX,
		  -1,
		  10 },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f },
		  UINT64_MAX,
		  -1,
		  10 },
		{ { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f }, 0, 0, 11 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes_reader plain = CURSOR_OVER(cases[i].bytes);
		struct bytes_reader with_sign = plain;
		struct bytes_reader skipped = plain;

		assert_true(cursor_uleb(&plain) == cases[i].plain);
		assert_true(cursor_sleb(&with_sign) == cases[i].with_sign);
		cursor_skip_leb(&skipped);
		assert_ok(plain.error);
		assert_int_equal(plain.next - cases[i].bytes, cases[i].size);
		assert_ptr_equal(plain.next, with_sign.next);
		assert_ptr_equal(plain.next, skipped.next);
	}
}

static void a_leb128_number_without_end_fails(void **state)
{
	static const uint8_t bytes[] = { 0xff, 0xff };
	struct bytes_reader plain = CURSOR_OVER(bytes);
	struct bytes_reader with_sign = plain;
	struct bytes_reader skipped = plain;

	(void)state;
	assert_int_equal(cursor_uleb(&plain), 0);
	assert_errno(plain.error, -EBADMSG);
	assert_int_equal(cursor_sleb(&with_sign), 0);
	assert_errno(with_sign.error, -EBADMSG);
	cursor_skip_leb(&skipped);
	assert_errno(skipped.error, -EBADMSG);
}

static void a_string_must_end_within_its_section(void **state)
{
	static const uint8_t bytes[] = { 'a', 'b', 0, 'c' };
	const struct bytes_view view = { bytes, sizeof(bytes) };
	struct bytes_reader cursor = cursor_at(view, 0);

	(void)state;
	assert_string_equal(cursor_text(&cursor), "ab");
	assert_null(cursor_text(&cursor));
	assert_errno(cursor.error, -EBADMSG);
	assert_string_equal(text_at_offset(view, 1), "b");
	assert_string_equal(text_at_offset(view, 2), "");
	assert_null(text_at_offset(view, 3));
	assert_null(text_at_offset(view, 4));
	assert_null(text_at_offset(view, 5));
}

static void skipping_and_taking_stop_at_the_end(void **state)
{
	static const uint8_t bytes[] = { 1, 2, 3, 4 };
	struct bytes_reader cursor = CURSOR_OVER(bytes);
	struct bytes_view taken;

	(void)state;
	cursor_skip(&cursor, 1);
	taken = cursor_take(&cursor, 2);
	assert_ptr_equal(taken.data, bytes + 1);
	assert_int_equal(taken.size, 2);
	taken = cursor_take(&cursor, 2);
	assert_int_equal(taken.size, 0);
	assert_errno(cursor.error, -EBADMSG);

	cursor = CURSOR_OVER(bytes);
	cursor_skip(&cursor, UINT64_MAX);
	assert_errno(cursor.error, -EBADMSG);
}

static void a_unit_length_has_4_or_12_bytes(void **state)
{
	static const uint8_t narrow[] = { 2, 0, 0, 0, 9, 9 };
	static const uint8_t wide[] = { 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 0, 0, 0, 9 };
	static const uint8_t too_long[] = { 3, 0, 0, 0, 9, 9 };
	struct bytes_reader cursor = CURSOR_OVER(narrow);
	uint8_t offset_size;

	(void)state;
	assert_int_equal(cursor_unit_length(&cursor, &offset_size), 2);
	assert_int_equal(offset_size, 4);
	cursor = CURSOR_OVER(wide);
	assert_int_equal(cursor_unit_length(&cursor, &offset_size), 1);
	assert_int_equal(offset_size, 8);
	assert_ok(cursor.error);
	cursor = CURSOR_OVER(too_long);
	(void)cursor_unit_length(&cursor, &offset_size);
	assert_errno(cursor.error, -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failed_read_returns_zero_and_moves_to_the_end),
		cmocka_unit_test(a_cursor_may_begin_at_the_end_but_not_beyond),
		cmocka_unit_test(leb128_numbers_are_read_up_to_64_bits),
		cmocka_unit_test(a_leb128_number_without_end_fails),
		cmocka_unit_test(a_string_must_end_within_its_section),
		cmocka_unit_test(skipping_and_taking_stop_at_the_end),
		cmocka_unit_test(a_unit_length_has_4_or_12_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
