/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bpf_programs/load_error.h"

#include "tests/support/unit.h"

static void too_many_open_files_name_the_limit_and_how_to_raise_it(void **state)
{
	char remedy[LOAD_REMEDY_SIZE];

	(void)state;
	load_error_remedy(-EMFILE, 37, remedy);
	assert_non_null(strstr(remedy, "limit on open files of the process is 37"));
	assert_non_null(strstr(remedy, "LimitNOFILE="));
	assert_non_null(strstr(remedy, "ulimit -n"));
	load_error_remedy(-ENFILE, 37, remedy);
	assert_non_null(strstr(remedy, "fs.file-max"));
}

static void each_error_has_its_remedy(void **state)
{
	static const struct {
		int error;
		const char *part;
	} cases[] = {
		{ -EPERM, "CAP_BPF" },
		{ -ENOMEM, "ring_size" },
		{ -E2BIG, "unwind.table_size" },
		{ -EACCES, "verifier" },
	};
	char remedy[LOAD_REMEDY_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		load_error_remedy(cases[i].error, 1024, remedy);
		assert_non_null(strstr(remedy, cases[i].part));
		assert_null(strstr(remedy, "open files"));
		assert_true(strlen(remedy) < LOAD_REMEDY_SIZE - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_many_open_files_name_the_limit_and_how_to_raise_it),
		cmocka_unit_test(each_error_has_its_remedy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
