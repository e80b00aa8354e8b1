/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "symbolizer/store/sqlite/day_files.h"

static void make_file(int folder_fd, const char *name, size_t bytes)
{
	scoped_fd int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(posix_fallocate(fd, 0, (off_t)bytes), 0);
	assert_ok(fsync(fd));
}

static void days_are_listed_in_order_with_their_wal(void **state)
{
	scoped_fd int fd = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	scoped(arena_freep) struct arena *arena = NULL;
	char name[DAY_FILE_NAME_SIZE];
	struct day_file *files;
	size_t n_files;

	make_file(fd, "samples-2026-01-03.db", 64 * KIB);
	make_file(fd, "samples-2026-01-03.db-wal", 128 * KIB);
	make_file(fd, "samples-2026-01-01.db", 64 * KIB);
	make_file(fd, "samples-2026-01-02.db.damaged-1767268800", 64 * KIB);
	make_file(fd, "hearth.db", 256 * KIB);
	make_file(fd, "debuginfo.db", 256 * KIB);
	assert_ok(arena_new(MIB, &arena));
	assert_ok(day_samples_list(fd, arena, &files, &n_files));
	assert_int_equal(n_files, 2);
	day_file_name(files[0].day, name);
	assert_string_equal(name, "samples-2026-01-01.db");
	assert_in_range(files[0].bytes, 64 * KIB, 96 * KIB);
	day_file_name(files[1].day, name);
	assert_string_equal(name, "samples-2026-01-03.db");
	assert_in_range(files[1].bytes, 192 * KIB, 224 * KIB);
	assert_in_range(store_files_bytes(fd), 512 * KIB, 576 * KIB);

	assert_ok(day_samples_remove(fd, files[1].day));
	assert_in_range(store_files_bytes(fd), 320 * KIB, 352 * KIB);
	assert_errno(faccessat(fd, "samples-2026-01-03.db-wal", F_OK, 0) < 0 ? -errno : 0, -ENOENT);
	/* The folder is read from its begin each time. */
	assert_ok(day_samples_list(fd, arena, &files, &n_files));
	assert_int_equal(n_files, 1);
}

static void the_oldest_days_beyond_a_limit_are_counted_but_never_the_newest(void **state)
{
	static const struct day_file files[] = { { 1, 100 }, { 2, 200 }, { 3, 300 } };
	static const struct {
		uint64_t max_bytes;
		size_t expected;
	} cases[] = {
		{ 0, 0 }, { 650, 0 }, { 649, 1 }, { 550, 1 }, { 549, 2 }, { 350, 2 }, { 1, 2 },
	};

	(void)state;
	/* hearth.db has 50 bytes. */
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(day_files_beyond(files, 3, 650, cases[i].max_bytes),
				 cases[i].expected);
	assert_int_equal(day_files_beyond(files, 0, 50, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(days_are_listed_in_order_with_their_wal),
		cmocka_unit_test(the_oldest_days_beyond_a_limit_are_counted_but_never_the_newest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
