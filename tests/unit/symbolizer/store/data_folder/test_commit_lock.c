/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include <sys/file.h>

#include "symbolizer/store/data_folder/commit_lock.h"

static void the_lock_excludes_another_descriptor(void **state)
{
	scoped_fd int first = commit_lock_open(*state);
	scoped_fd int second = commit_lock_open(*state);

	assert_ok(first);
	assert_ok(second);
	assert_ok(commit_lock_take(first));
	assert_true(flock(second, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK);
	commit_lock_give(first);
	assert_ok(commit_lock_take(second));
}

static void a_missing_folder_is_an_error(void **state)
{
	scoped_free char *path = path_in(*state, "missing");

	assert_errno(commit_lock_open(path), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(the_lock_excludes_another_descriptor),
		in_folder(a_missing_folder_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
