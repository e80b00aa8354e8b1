/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/python/find_python.h"

#include "tests/support/unit.h"

/* 1 and 0 as find_python(); the test is skipped if there is no such file. */
static int find_in(const char *path, struct interpreter_facts *ret_facts)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped(elf_file_freep) struct elf_file *elf = NULL;

	if (fd < 0)
		skip();
	assert_ok(elf_file_open(fd, &elf));
	return find_python(elf, ret_facts);
}

static void python_has_a_loop_and_a_runtime(void **state)
{
	struct interpreter_facts facts = {};

	(void)state;
	assert_int_equal(find_in("/usr/bin/python3.11", &facts), 1);
	assert_int_equal(facts.runtime, INTERPRETER_PYTHON);
	assert_int_equal(facts.version, 3 << 8 | 11);
	assert_true(facts.runtime_addr != 0);
	assert_in_range(facts.loop[0].end - facts.loop[0].start, 16 * KIB, 512 * KIB);
	/* gcc has split the loop, with Debian's options. */
#if defined(__x86_64__)
	assert_in_range(facts.loop[1].end - facts.loop[1].start, 256, 64 * KIB);
	assert_true(facts.loop[1].end <= facts.loop[0].start ||
		    facts.loop[1].start >= facts.loop[0].end);
#endif
}

static void other_programs_have_none(void **state)
{
	struct interpreter_facts facts = {};

	(void)state;
	assert_int_equal(find_in("/bin/true", &facts), 0);
	assert_int_equal(find_in("/proc/self/exe", &facts), 0);
	assert_int_equal(facts.runtime, INTERPRETER_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(python_has_a_loop_and_a_runtime),
		cmocka_unit_test(other_programs_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
