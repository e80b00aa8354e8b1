/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/memory_share.h"

#include <sys/stat.h>

#include "tests/support/unit.h"

static void make_limit(const char *root, const char *cgroup, const char *limit)
{
	char folder[512];

	(void)snprintf(folder, sizeof(folder), "%s%s", root, cgroup);
	(void)mkdir(folder, 0700);
	free(write_file_in(folder, "memory.max", limit, strlen(limit)));
}

static void the_smallest_limit_of_the_cgroups_counts(void **state)
{
	const char *root = *state;
	uint64_t host = memory_available_bytes(root, "/none");

	assert_true(host > 16 * MIB);
	make_limit(root, "/a", "2097152\n");
	make_limit(root, "/a/b", "max\n");
	make_limit(root, "/a/b/c", "1048576\n");
	assert_int_equal(memory_available_bytes(root, "/a/b/c"), MIB);
	assert_int_equal(memory_available_bytes(root, "/a/b"), 2 * MIB);
	assert_int_equal(memory_available_bytes(root, "/other"), host);
	assert_int_equal(memory_available_bytes(root, ""), host);
	make_limit(root, "", "65536\n");
	assert_int_equal(memory_available_bytes(root, "/a/b"), 64 * KIB);
	assert_true(memory_of_process_bytes() <= host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(the_smallest_limit_of_the_cgroups_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
