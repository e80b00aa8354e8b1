/* SPDX-License-Identifier: Apache-2.0 */
#include "common/folder_lock.h"

#include "tests/support/unit.h"

static void a_folder_has_one_lock_until_its_descriptor_is_closed(void **state)
{
	int first = folder_lock(*state);
	scoped_fd int later = -1;

	assert_ok(first);
	assert_errno(folder_lock(*state), -EBUSY);
	(void)close(first);
	later = folder_lock(*state);
	assert_ok(later);
}

static void what_is_no_folder_has_no_lock(void **state)
{
	scoped_free char *missing = path_in(*state, "missing");
	scoped_free char *file = write_file_in(*state, "file", "x", 1);

	assert_errno(folder_lock(missing), -ENOENT);
	assert_errno(folder_lock(file), -ENOTDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_folder_has_one_lock_until_its_descriptor_is_closed),
		in_folder(what_is_no_folder_has_no_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
