/* SPDX-License-Identifier: Apache-2.0 */
#include "common/file.h"

#include <sys/stat.h>

#include "tests/support/unit.h"

static void files_of_all_sizes_are_read_completely(void **state)
{
	static const size_t sizes[] = { 0, 1, 63, 64, 4095, 4096, 4097, 100000 };
	static uint8_t content[100000];

	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)(i * 7);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		scoped_free char *path = write_file_in(*state, "file", content, sizes[i]);
		scoped(bytes_release) struct bytes bytes = BYTES_INIT(sizes[i]);

		assert_ok(file_read(path, &bytes));
		assert_int_equal(bytes.size, sizes[i]);
		if (sizes[i] > 0)
			assert_memory_equal(bytes.data, content, sizes[i]);
	}
}

static void a_file_beyond_the_ceiling_is_refused_and_appends_nothing(void **state)
{
	scoped_free char *path = write_file_in(*state, "file", "0123456789", 10);
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(12);

	assert_ok(bytes_append_text(&bytes, "abc"));
	assert_errno(file_read(path, &bytes), -EFBIG);
	assert_bytes_equal_text(&bytes, "abc");
}

static void files_in_proc_are_read(void **state)
{
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(MIB);
	scoped(bytes_release) struct bytes small = BYTES_INIT(100);

	(void)state;
	assert_ok(file_read("/proc/self/maps", &bytes));
	assert_true(bytes.size > 100);
	assert_errno(file_read("/proc/self/maps", &small), -EFBIG);
}

static void an_open_error_is_returned(void **state)
{
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(100);

	assert_errno(file_read_at(AT_FDCWD, "/nonexistent/file", &bytes), -ENOENT);
	assert_errno(file_read(*state, &bytes), -EISDIR);
}

static void a_path_may_be_relative_to_a_folder(void **state)
{
	scoped_free char *path = write_file_in(*state, "file", "x", 1);
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(100);
	scoped_fd int folder_fd = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_non_null(path);
	assert_ok(file_read_at(folder_fd, "file", &bytes));
	assert_bytes_equal_text(&bytes, "x");
}

static void a_read_past_the_end_returns_enodata(void **state)
{
	scoped_free char *path = write_file_in(*state, "file", "0123456789", 10);
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	char buffer[10];

	assert_ok(pread_all(fd, buffer, 4, 6));
	assert_memory_equal(buffer, "6789", 4);
	assert_ok(pread_all(fd, buffer, 0, 10));
	assert_errno(pread_all(fd, buffer, 5, 6), -ENODATA);
	assert_errno(pread_all(fd, buffer, 1, 1000), -ENODATA);
	assert_errno(pread_all(fd, buffer, 1, UINT64_MAX), -ENODATA);
	assert_errno(pread_all(fd, buffer, 10, INT64_MAX - 5), -ENODATA);
	assert_errno(pread_all(-1, buffer, 1, 0), -EBADF);
}

static void a_large_write_to_a_pipe_is_complete(void **state)
{
	static uint8_t content[300000], copy[300000];
	int ends[2];
	size_t size = 0;
	pid_t child;

	(void)state;
	memset(content, 'x', sizeof(content));
	assert_ok(pipe2(ends, O_CLOEXEC));
	child = fork();
	if (child == 0)
		_exit(write_all(ends[1], content, sizeof(content)) != 0);
	close(ends[1]);
	while (size < sizeof(copy)) {
		ssize_t n = read(ends[0], copy + size, MIN(sizeof(copy) - size, (size_t)1000));

		assert_true(n > 0);
		size += (size_t)n;
	}
	assert_memory_equal(content, copy, sizeof(copy));
	close(ends[0]);
	assert_errno(write_all(-1, "a", 1), -EBADF);
}

static void replacing_leaves_the_new_content_and_no_temporary_file(void **state)
{
	scoped_free char *path = path_in(*state, "file");
	scoped(bytes_release) struct bytes bytes = BYTES_INIT(100);
	struct stat status;

	assert_ok(file_replace(path, "old", 3, 0600));
	assert_ok(file_replace(path, "newer", 5, 0640));
	assert_ok(file_read(path, &bytes));
	assert_bytes_equal_text(&bytes, "newer");
	assert_ok(stat(path, &status));
	assert_int_equal(status.st_mode & 07777, 0640);
	assert_ok(unlink(path));
	/* rmdir() succeeds only if the folder is empty again. The teardown expects a folder. */
	assert_ok(rmdir(*state));
	assert_ok(mkdir(*state, 0700));
}

static void a_failed_replacement_leaves_no_temporary_file(void **state)
{
	scoped_free char *folder = path_in(*state, "is-a-folder");

	assert_errno(file_replace("/nonexistent/file", "x", 1, 0600), -ENOENT);
	assert_ok(mkdir(folder, 0700));
	assert_errno(file_replace(folder, "x", 1, 0600), -EISDIR);
	assert_ok(rmdir(folder));
	assert_ok(rmdir(*state));
	assert_ok(mkdir(*state, 0700));
}

static void folders_are_created_with_their_parents(void **state)
{
	scoped_free char *path = path_in(*state, "a//b/c/");
	scoped_free char *file = write_file_in(*state, "file", "", 0);
	scoped_free char *below_file = path_in(*state, "file/x");
	struct stat status;

	assert_ok(make_folders(path, 0700));
	assert_ok(make_folders(path, 0700));
	assert_ok(stat(path, &status));
	assert_true(S_ISDIR(status.st_mode));
	assert_ok(make_folders("/", 0700));
	assert_errno(make_folders(file, 0700), -ENOTDIR);
	assert_errno(make_folders(below_file, 0700), -ENOTDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(files_of_all_sizes_are_read_completely),
		in_folder(a_file_beyond_the_ceiling_is_refused_and_appends_nothing),
		cmocka_unit_test(files_in_proc_are_read),
		in_folder(an_open_error_is_returned),
		in_folder(a_path_may_be_relative_to_a_folder),
		in_folder(a_read_past_the_end_returns_enodata),
		cmocka_unit_test(a_large_write_to_a_pipe_is_complete),
		in_folder(replacing_leaves_the_new_content_and_no_temporary_file),
		in_folder(a_failed_replacement_leaves_no_temporary_file),
		in_folder(folders_are_created_with_their_parents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
