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

#if defined(FIXTURES)
static void versions_before_3_11_have_unlinked_code(void **state)
{
	static const struct {
		const char *path;
		uint32_t version;
	} files[] = { { FIXTURES "/python3.8", 0x0308 },
		      { FIXTURES "/python3.9", 0x0309 },
		      { FIXTURES "/python3.10", 0x030a } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct interpreter_facts facts = {};

		assert_int_equal(find_in(files[i].path, &facts), 1);
		assert_int_equal(facts.version, files[i].version);
		assert_true(facts.runtime_addr != 0);
		/* The beginning of the loop, and at least one end. */
		assert_int_equal(facts.unlinked[0].start, 0);
		assert_true(facts.unlinked[0].bytes > 0 && facts.unlinked[1].bytes > 0);
	}
}

static void versions_before_3_8_are_not_known(void **state)
{
	struct interpreter_facts facts = {};

	(void)state;
	assert_int_equal(find_in(FIXTURES "/python3.7", &facts), 0);
	assert_int_equal(facts.runtime, INTERPRETER_NONE);
}
#endif

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
#if defined(FIXTURES)
		cmocka_unit_test(versions_before_3_11_have_unlinked_code),
		cmocka_unit_test(versions_before_3_8_are_not_known),
#endif
		cmocka_unit_test(other_programs_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
