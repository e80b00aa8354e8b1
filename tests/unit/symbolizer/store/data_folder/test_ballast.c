/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/e2e/90-* has a full disk.
 */

#include "tests/support/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/store/data_folder/ballast.h"

static void the_ballast_takes_space_until_it_is_released(void **state)
{
	scoped_fd int fd = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct ballast ballast = { .folder_fd = fd };
	struct stat status;

	assert_ok(ballast_check(&ballast));
	assert_ok(ballast_hold(&ballast));
	assert_ok(ballast_check(&ballast));
	assert_ok(fstatat(fd, BALLAST_FILE, &status, 0));
	assert_in_range(status.st_size, 1, BALLAST_MAX_BYTES);
	assert_true((uint64_t)status.st_blocks * 512 >= (uint64_t)status.st_size);

	ballast_release(&ballast);
	assert_true(fstatat(fd, BALLAST_FILE, &status, 0) < 0 && errno == ENOENT);
	assert_ok(ballast_hold(&ballast));
	assert_ok(fstatat(fd, BALLAST_FILE, &status, 0));
}

static void the_ballast_of_an_earlier_run_is_kept(void **state)
{
	scoped_fd int fd = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct ballast first = { .folder_fd = fd };
	struct ballast second = { .folder_fd = fd };
	struct stat before, after;

	assert_ok(ballast_hold(&first));
	assert_ok(fstatat(fd, BALLAST_FILE, &before, 0));
	assert_ok(ballast_hold(&second));
	assert_ok(fstatat(fd, BALLAST_FILE, &after, 0));
	assert_int_equal(after.st_ino, before.st_ino);
	assert_int_equal(after.st_size, before.st_size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(the_ballast_takes_space_until_it_is_released),
		in_folder(the_ballast_of_an_earlier_run_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
