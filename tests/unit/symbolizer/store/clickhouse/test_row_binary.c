/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "symbolizer/store/clickhouse/row_binary.h"

static void add_all(struct bytes *row)
{
	const struct hash128 hash = { .bytes = "0123456789abcdef" };

	row_add_u8(row, 0x12);
	row_add_u16(row, 0x1234);
	row_add_u32(row, 0x12345678);
	row_add_u64(row, UINT64_C(0x123456789abcdef0));
	row_add_hash(row, &hash);
	row_add_text(row, "text");
	row_add_string(row, NULL, 0);
	row_add_count(row, 2);
	row_add_u8(row, 7);
	row_add_u8(row, 8);
}

static void read_all(struct bytes_reader *row)
{
	struct bytes_view text;
	struct hash128 hash;
	bool equal = row_read_u8(row) == 0x12;

	equal &= row_read_u16(row) == 0x1234;
	equal &= row_read_u32(row) == 0x12345678;
	equal &= row_read_u64(row) == UINT64_C(0x123456789abcdef0);
	hash = row_read_hash(row);
	equal &= memcmp(hash.bytes, "0123456789abcdef", sizeof(hash.bytes)) == 0;
	text = row_read_string(row);
	equal &= text.size == 4 && memcmp(text.data, "text", 4) == 0;
	equal &= row_read_string(row).size == 0;
	equal &= row_read_count(row, 1) == 2;
	equal &= row_read_u8(row) == 7;
	equal &= row_read_u8(row) == 8;
	assert_true(equal || row->error < 0);
}

static void a_row_is_read_as_it_was_written(void **state)
{
	scoped(bytes_release) struct bytes row = BYTES_INIT(KIB);
	struct bytes_reader reader;

	(void)state;
	add_all(&row);
	assert_ok(bytes_error(&row));
	reader = bytes_reader_of(bytes_view_of(&row));
	read_all(&reader);
	assert_int_equal(reader.error, 0);
	assert_ptr_equal(reader.next, reader.end);
}

static void every_truncated_row_is_an_error(void **state)
{
	scoped(bytes_release) struct bytes row = BYTES_INIT(KIB);

	(void)state;
	add_all(&row);
	for (size_t size = 0; size < row.size; size++) {
		/* A copy without further bytes, so that AddressSanitizer finds a read beyond it. */
		scoped_free uint8_t *cut = malloc(size);
		struct bytes_reader reader;

		assert_non_null(cut); /* glibc returns an address for size 0 too */
		memcpy(cut, row.data, size);
		reader = bytes_reader_of((struct bytes_view){ .data = cut, .size = size });
		read_all(&reader);
		assert_int_equal(reader.error, -EBADMSG);
	}
}

static void lengths_beyond_the_row_are_errors(void **state)
{
	static const uint8_t huge[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 };
	const struct bytes_view view = { .data = huge, .size = sizeof(huge) };
	struct bytes_reader reader = bytes_reader_of(view);

	(void)state;
	assert_int_equal(row_read_string(&reader).size, 0);
	assert_int_equal(reader.error, -EBADMSG);
	reader = bytes_reader_of(view);
	assert_int_equal(row_read_count(&reader, 16), 0);
	assert_int_equal(reader.error, -EBADMSG);
}

static void literals_escape_every_byte_that_is_no_letter_or_digit(void **state)
{
	static const char text[] = "a'\\\0Z9\n\xff";
	scoped(bytes_release) struct bytes sql = BYTES_INIT(KIB);

	(void)state;
	sql_add_string(&sql, text, sizeof(text) - 1);
	assert_ok(bytes_error(&sql));
	assert_bytes_equal_text(&sql, "'a\\x27\\x5C\\x00Z9\\x0A\\xFF'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_is_read_as_it_was_written),
		cmocka_unit_test(every_truncated_row_is_an_error),
		cmocka_unit_test(lengths_beyond_the_row_are_errors),
		cmocka_unit_test(literals_escape_every_byte_that_is_no_letter_or_digit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
