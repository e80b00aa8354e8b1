/* SPDX-License-Identifier: Apache-2.0 */
#include "common/pieced_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "tests/support/unit.h"

static int file_with(const void *bytes, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_ok(write_all(fd, bytes, size));
	return fd;
}

static void ranges_of_both_files_are_read_in_order(void **state)
{
	static const struct pieced_range ranges[] = {
		{ .size = 3, .offset = 0 },
		{ .size = 4, .offset = 6, .of_source = 1 },
		{ .size = 2, .offset = 3 },
		{ .size = 1, .offset = 0, .of_source = 1 },
	};
	static const char expected[] = "abc6789de0";
	scoped_fd int source_fd = file_with("0123456789", 10);
	scoped_fd int fd = file_with("", 0);
	struct pieced_file file;
	char text[sizeof(expected)] = {};

	(void)state;
	assert_ok(pieced_file_write(fd, ranges, ARRAY_SIZE(ranges), "abcde", 5));
	assert_ok(pieced_file_open(fd, source_fd, &file));
	assert_int_equal(file.size, 10);
	for (size_t step = 1; step <= 10; step++) {
		pieced_file_rewind(&file);
		memset(text, 0, sizeof(text));
		for (size_t at = 0; at < 10; at += step)
			assert_ok(pieced_file_read(&file, text + at, MIN(step, 10 - at)));
		assert_string_equal(text, expected);
	}
	assert_errno(pieced_file_read(&file, text, 1), -ENODATA);
}

static void a_truncated_source_is_an_error(void **state)
{
	static const struct pieced_range range = { .size = 10, .of_source = 1 };
	scoped_fd int source_fd = file_with("0123456789", 10);
	scoped_fd int fd = file_with("", 0);
	struct pieced_file file;
	char text[10];

	(void)state;
	assert_ok(pieced_file_write(fd, &range, 1, "", 0));
	assert_ok(pieced_file_open(fd, source_fd, &file));
	assert_ok(ftruncate(source_fd, 9));
	assert_errno(pieced_file_read(&file, text, 10), -ENODATA);
}

/*
 * A hostile writer may put any content into the file. Nothing is read beyond the files, and the
 * result is never larger than both together.
 */
static void a_malformed_file_is_refused(void **state)
{
	static const struct {
		uint64_t size;
		struct pieced_range range;
		int expected; /* result of opening, or if that succeeds, of reading */
	} cases[] = {
		{ 1000, { .size = 1000, .of_source = 1 }, -EBADMSG },
		{ UINT64_MAX, { .size = UINT64_MAX, .of_source = 1 }, -EBADMSG },
		{ 8, { .size = 7, .of_source = 1 }, -ENODATA },
		{ 8, { .size = 8, .offset = 3, .of_source = 1 }, -ENODATA },
		{ 8, { .size = 8, .offset = UINT64_MAX - 2, .of_source = 1 }, -EBADMSG },
		{ 8, { .size = 8, .offset = INT64_MAX - 2 }, -EBADMSG },
		{ 8, { .size = 0 }, -ENODATA },
	};
	scoped_fd int source_fd = file_with("0123456789", 10);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped_fd int fd = file_with("", 0);
		struct pieced_file file;
		char text[8];
		int r;

		assert_ok(pieced_file_write(fd, &cases[i].range, 1, "", 0));
		assert_int_equal(pwrite(fd, &cases[i].size, sizeof(cases[i].size), 8),
				 sizeof(cases[i].size));
		/* The offset as it is, without the size of the list. */
		assert_int_equal(pwrite(fd, &cases[i].range, sizeof(cases[i].range), 24),
				 sizeof(cases[i].range));
		r = pieced_file_open(fd, source_fd, &file);
		if (r == 0)
			r = pieced_file_read(&file, text, sizeof(text));
		assert_errno(r, cases[i].expected);
	}
}

static void a_file_without_its_header_is_refused(void **state)
{
	static const uint64_t many[] = { UINT64_C(0x3153454345495048), 1, UINT64_MAX };
	scoped_fd int empty_fd = file_with("", 0);
	scoped_fd int text_fd = file_with("no such file, only text", 24);
	scoped_fd int many_fd = file_with(many, sizeof(many));
	struct pieced_file file;

	(void)state;
	assert_errno(pieced_file_open(empty_fd, empty_fd, &file), -EBADMSG);
	assert_errno(pieced_file_open(text_fd, empty_fd, &file), -EBADMSG);
	assert_errno(pieced_file_open(many_fd, empty_fd, &file), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_of_both_files_are_read_in_order),
		cmocka_unit_test(a_truncated_source_is_an_error),
		cmocka_unit_test(a_malformed_file_is_refused),
		cmocka_unit_test(a_file_without_its_header_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
