/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/jit/file/jit_dump.h"

#include "tests/support/unit.h"
#include "tests/unit/agent/jit/file/dump_writer.h"

#define HEADER JIT_DUMP_HEADER_BYTES

static struct jit_codes codes;
static bool is_closed;

/* Parses the dump from @offset on, up to @end. */
static uint64_t parse_part(const struct dump_writer *writer, uint64_t offset, uint64_t end)
{
	struct jit_dump_piece piece = {
		.bytes = { writer->bytes.data + offset, end - offset },
		.offset = offset,
		.file_size = end,
	};
	struct jit_dump dump;

	assert_true(jit_dump_open(bytes_view_of(&writer->bytes), &dump));
	codes.count = 0;
	is_closed = false;
	return jit_dump_parse(&dump, &piece, &codes, &is_closed);
}

static uint64_t parse(const struct dump_writer *writer)
{
	return parse_part(writer, HEADER, writer->bytes.size);
}

static struct jit_dump_name name_of(const struct dump_writer *writer, uint32_t offset,
				    uint64_t code_offset)
{
	struct jit_dump_name name = {};
	struct jit_dump dump;

	assert_true(jit_dump_open(bytes_view_of(&writer->bytes), &dump));
	assert_true(jit_dump_name(
		&dump,
		(struct bytes_view){ writer->bytes.data + offset, writer->bytes.size - offset },
		code_offset, &name));
	return name;
}

static void both_byte_orders_are_read(void **state)
{
	(void)state;
	for (int is_swapped = 0; is_swapped < 2; is_swapped++) {
		struct dump_writer writer = dump_begin(is_swapped, 0);
		struct jit_dump_name name;

		dump_load(&writer, 0x1000, 0x40, "first", 17);
		dump_move(&writer, 0x1000, 0x3000, 0x40, 18);
		assert_int_equal(parse(&writer), writer.bytes.size);
		assert_int_equal(codes.count, 2);
		assert_int_equal(codes.items[0].start, 0x1000);
		assert_int_equal(codes.items[0].size, 0x40);
		assert_int_equal(codes.items[0].time_ns, 17);
		assert_int_equal(codes.items[0].offset, HEADER);
		assert_int_equal(codes.items[0].flags, 0);
		assert_int_equal(codes.items[1].start, 0x3000);
		assert_int_equal(codes.items[1].moved_from, 0x1000);
		assert_int_equal(codes.items[1].flags, JIT_CODE_MOVED);
		name = name_of(&writer, codes.items[0].offset, 0);
		assert_bytes_equal_text(&name.function, "first");
		assert_int_equal(name.file.size, 0);
		bytes_release(&writer.bytes);
	}
}

static void times_of_another_clock_are_ignored(void **state)
{
	struct dump_writer writer = dump_begin(false, 1);

	(void)state;
	dump_load(&writer, 0x1000, 0x40, "first", 17);
	(void)parse(&writer);
	assert_int_equal(codes.items[0].time_ns, 0);
	bytes_release(&writer.bytes);
}

static void a_record_that_is_not_complete_is_left(void **state)
{
	struct dump_writer writer = dump_begin(false, 0);
	size_t first_end;

	(void)state;
	dump_load(&writer, 0x1000, 0x40, "first", 0);
	first_end = writer.bytes.size;
	dump_load(&writer, 0x2000, 0x40, "second", 0);
	for (size_t end = first_end; end < writer.bytes.size; end++) {
		assert_int_equal(parse_part(&writer, HEADER, end), first_end);
		assert_int_equal(codes.count, 1);
	}
	assert_int_equal(parse_part(&writer, first_end, writer.bytes.size), writer.bytes.size);
	assert_int_equal(codes.items[0].start, 0x2000);
	assert_int_equal(codes.items[0].offset, first_end);
	bytes_release(&writer.bytes);
}

static void source_lines_belong_to_the_code_that_follows(void **state)
{
	static const struct dump_line first[] = {
		{ 0x1000, 12, "/app/shop.c" },
		{ 0x1010, 14, "\xff" },
		{ 0x1020, 3, "/app/inlined.h" },
		{ 0x1030, 15, "/app/shop.c" },
	};
	static const struct dump_line second[] = { { 0x2000, 7, "/app/other.c" } };
	static const struct {
		uint64_t code_offset;
		uint32_t line;
	} cases[] = { { 0, 12 }, { 0xf, 12 }, { 0x10, 14 }, { 0x20, 0 }, { 0x3f, 15 } };
	struct dump_writer writer = dump_begin(false, 0);

	(void)state;
	/* Two threads wrote at the same time. */
	dump_lines(&writer, 0x1000, first, ARRAY_SIZE(first));
	dump_lines(&writer, 0x2000, second, 1);
	dump_load(&writer, 0x2000, 0x40, "second", 0);
	dump_load(&writer, 0x1000, 0x40, "first", 0);
	(void)parse(&writer);
	assert_int_equal(codes.count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(codes.items[i].flags, JIT_CODE_LINES);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct jit_dump_name name =
			name_of(&writer, codes.items[1].offset, cases[i].code_offset);

		assert_bytes_equal_text(&name.function, "first");
		assert_bytes_equal_text(&name.file, "/app/shop.c");
		assert_int_equal(name.first_line, 12);
		assert_int_equal(name.line, cases[i].line);
	}
	bytes_release(&writer.bytes);
}

static void lines_without_their_code_are_read_again(void **state)
{
	static const struct dump_line line[] = { { 0x1000, 12, "/app/shop.c" } };
	struct dump_writer writer = dump_begin(false, 0);
	size_t end;

	(void)state;
	dump_lines(&writer, 0x1000, line, 1);
	end = writer.bytes.size;
	assert_int_equal(parse_part(&writer, HEADER, end), HEADER);
	dump_load(&writer, 0x1000, 0x40, "first", 0);
	assert_int_equal(parse_part(&writer, HEADER, writer.bytes.size), writer.bytes.size);
	assert_int_equal(codes.count, 1);
	assert_int_equal(codes.items[0].offset, HEADER);
	bytes_release(&writer.bytes);
}

static void nothing_is_read_behind_the_close_record_or_damage(void **state)
{
	(void)state;
	for (uint32_t size = 0; size <= 16; size += 16) {
		struct dump_writer writer = dump_begin(false, 0);

		put_prefix(&writer, size == 16 ? 3 : 0, size, 0);
		dump_load(&writer, 0x1000, 0x40, "first", 0);
		assert_int_equal(parse(&writer), HEADER);
		assert_int_equal(codes.count, 0);
		assert_true(is_closed);
		bytes_release(&writer.bytes);
	}
}

static void other_files_are_refused(void **state)
{
	struct dump_writer writer = dump_begin(false, 0);
	struct jit_dump dump;

	(void)state;
	for (size_t size = 0; size < HEADER; size++)
		assert_false(jit_dump_open((struct bytes_view){ writer.bytes.data, size }, &dump));
	writer.bytes.data[8] = HEADER - 1; /* the records would begin in the header */
	assert_false(jit_dump_open(bytes_view_of(&writer.bytes), &dump));
	writer.bytes.data[8] = HEADER;
	writer.bytes.data[0] ^= 1;
	assert_false(jit_dump_open(bytes_view_of(&writer.bytes), &dump));
	bytes_release(&writer.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_byte_orders_are_read),
		cmocka_unit_test(times_of_another_clock_are_ignored),
		cmocka_unit_test(a_record_that_is_not_complete_is_left),
		cmocka_unit_test(source_lines_belong_to_the_code_that_follows),
		cmocka_unit_test(lines_without_their_code_are_read_again),
		cmocka_unit_test(nothing_is_read_behind_the_close_record_or_damage),
		cmocka_unit_test(other_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
