/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/hotspot/find_hotspot.h"

#include "agent/interpreter/hotspot/hotspot_layout.h"
#include "tests/support/unit.h"

#if defined(__x86_64__)
#define LIBJVM "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so"
#else
#define LIBJVM "/usr/lib/jvm/java-17-openjdk-arm64/lib/server/libjvm.so"
#endif

/* 1 and 0 as find_hotspot(); the test is skipped if there is no such file. */
static int find_in(const char *path, struct interpreter_facts *ret_facts)
{
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	scoped(elf_file_freep) struct elf_file *elf = NULL;

	if (fd < 0)
		skip();
	assert_ok(elf_file_open(fd, &elf));
	return find_hotspot(elf, ret_facts);
}

static void a_jvm_exports_its_tables(void **state)
{
	struct interpreter_facts facts = {};

	(void)state;
	assert_int_equal(find_in(LIBJVM, &facts), 1);
	assert_int_equal(facts.runtime, INTERPRETER_HOTSPOT);
	for (size_t i = 0; i < HOTSPOT_N_SYMBOLS; i++)
		for (size_t other = 0; other < i; other++)
			assert_true(facts.symbols[i] != 0 &&
				    facts.symbols[i] != facts.symbols[other]);
}

static void other_files_have_none(void **state)
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
		cmocka_unit_test(a_jvm_exports_its_tables),
		cmocka_unit_test(other_files_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
