/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/jit/file/jit_file.h"

#include <sys/mman.h>

#include "tests/support/unit.h"
#include "tests/unit/agent/jit/file/dump_writer.h"

static struct jit_piece piece;

static int file_of(const void *data, size_t size)
{
	int fd = memfd_create("jit", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	return fd;
}

static void append(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* Reads from @position on, and moves it. */
static void read_on(int fd, enum jit_format format, struct jit_position *position)
{
	assert_ok(jit_file_read(fd, format, position, &piece));
	*position = piece.next;
}

static void only_what_was_added_is_read(void **state)
{
	scoped_fd int fd = file_of("1000 10 first\n20", 16);
	struct jit_position position = {};

	(void)state;
	read_on(fd, JIT_PERF_MAP, &position);
	assert_int_equal(piece.codes.count, 1);
	assert_true(piece.at_end);
	read_on(fd, JIT_PERF_MAP, &position);
	assert_int_equal(piece.codes.count, 0);
	append(fd, "00 10 second\n");
	read_on(fd, JIT_PERF_MAP, &position);
	assert_int_equal(piece.codes.count, 1);
	assert_int_equal(piece.codes.items[0].start, 0x2000);
	assert_int_equal(piece.codes.items[0].offset, 14);
	assert_false(piece.restarted);
}

static void a_file_that_was_written_anew_is_read_from_its_beginning(void **state)
{
	static const char *const contents[] = { "1000 10 new\n", "3000 10 news\n4000 10 more\n" };
	scoped_fd int fd = file_of("1000 10 first\n", 14);
	struct jit_position position = {};

	(void)state;
	read_on(fd, JIT_PERF_MAP, &position);
	for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		append(fd, contents[i]);
		read_on(fd, JIT_PERF_MAP, &position);
		assert_true(piece.restarted);
		assert_int_equal(piece.codes.count, i + 1);
	}
}

static void a_line_of_a_megabyte_hides_no_other_line(void **state)
{
	scoped_free char *text = malloc(MIB + 100);
	struct jit_position position = {};
	uint64_t starts[2];
	size_t count = 0;

	(void)state;
	memset(text, 'x', MIB);
	memcpy(text, "1000 10 first\n2000 10 ", 22);
	memcpy(text + MIB, "\n3000 10 third\n", 16);
	{
		scoped_fd int fd = file_of(text, MIB + 15);
		struct jit_name name;
		uint32_t line;

		for (int i = 0; i < 20; i++) {
			read_on(fd, JIT_PERF_MAP, &position);
			for (size_t at = 0; at < piece.codes.count && count < 2; at++)
				starts[count++] = piece.codes.items[at].start;
			if (piece.at_end)
				break;
		}
		assert_int_equal(position.offset, MIB + 15);
		assert_int_equal(count, 2);
		assert_int_equal(starts[0], 0x1000);
		assert_int_equal(starts[1], 0x3000);
		/* Its name is cut. */
		assert_ok(jit_file_name(fd, JIT_PERF_MAP, 14, 0, &name, &line));
		assert_int_equal(strlen(name.function), JIT_TEXT_BYTES - 1);
	}
}

static void names_are_read_by_the_offset_of_their_entry(void **state)
{
	static const char text[] = "1000 10 first\n2000 10 JS:*foo /app/x.js:12:3\n";
	scoped_fd int fd = file_of(text, strlen(text));
	struct jit_name name;
	uint32_t line;

	(void)state;
	assert_ok(jit_file_name(fd, JIT_PERF_MAP, 0, 0, &name, &line));
	assert_string_equal(name.function, "first");
	assert_ok(jit_file_name(fd, JIT_PERF_MAP, 14, 0, &name, &line));
	assert_string_equal(name.function, "foo");
	assert_errno(jit_file_name(fd, JIT_PERF_MAP, 20, 0, &name, &line), -EBADMSG);
	assert_errno(jit_file_name(fd, JIT_PERF_MAP, 1000, 0, &name, &line), -EBADMSG);
	assert_errno(jit_file_name(fd, JIT_DUMP, 0, 0, &name, &line), -EBADMSG);
}

static void a_jitdump_is_read_over_code_larger_than_a_piece(void **state)
{
	static const struct dump_line lines[] = { { 0x800000, 5, "/app/shop.c" },
						  { 0x800010, 6, "\xff" } };
	struct dump_writer writer = dump_begin(false, 0);
	struct jit_position position = {};
	struct jit_code last = {};
	struct jit_name name;
	size_t count = 0;
	uint32_t line;

	(void)state;
	dump_load(&writer, 0x1000, 3 * JIT_PIECE_BYTES, "large", 0);
	dump_lines(&writer, 0x800000, lines, 2);
	dump_load(&writer, 0x800000, 0x20, "small", 0);
	{
		scoped_fd int fd = file_of(writer.bytes.data, writer.bytes.size);

		for (int i = 0; i < 10; i++) {
			read_on(fd, JIT_DUMP, &position);
			count += piece.codes.count;
			if (piece.codes.count > 0)
				last = piece.codes.items[piece.codes.count - 1];
			if (piece.at_end)
				break;
		}
		assert_int_equal(count, 2);
		assert_int_equal(last.start, 0x800000);
		assert_ok(jit_file_name(fd, JIT_DUMP, last.offset, 0x18, &name, &line));
		assert_string_equal(name.function, "small");
		assert_string_equal(name.file, "/app/shop.c");
		assert_int_equal(name.first_line, 5);
		assert_int_equal(line, 6);
	}
	bytes_release(&writer.bytes);
}

static void a_file_of_another_format_is_refused(void **state)
{
	scoped_fd int fd = file_of("1000 10 first\n", 14);
	struct jit_position position = {};

	(void)state;
	assert_errno(jit_file_read(fd, JIT_DUMP, &position, &piece), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_was_added_is_read),
		cmocka_unit_test(a_file_that_was_written_anew_is_read_from_its_beginning),
		cmocka_unit_test(a_line_of_a_megabyte_hides_no_other_line),
		cmocka_unit_test(names_are_read_by_the_offset_of_their_entry),
		cmocka_unit_test(a_jitdump_is_read_over_code_larger_than_a_piece),
		cmocka_unit_test(a_file_of_another_format_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
