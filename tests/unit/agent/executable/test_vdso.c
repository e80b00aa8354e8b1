/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/executable/executable.h"

#include <sys/auxv.h>
#include <sys/wait.h>
#include <elf.h>

#include "common/elf/build_id.h"
#include "tests/support/unit.h"

static void find_vdso(uint64_t *ret_start, uint64_t *ret_end)
{
	scoped_file FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096];
	bool found = false;

	assert_non_null(maps);
	while (!found && fgets(line, sizeof(line), maps))
		found = strstr(line, "[vdso]") && sscanf(line, "%lx-%lx", ret_start, ret_end) == 2;
	if (!found)
		skip();
}

/* The ID from the note in this process's memory, found through the program headers. */
static struct executable_id own_vdso_id(void)
{
	const uint8_t *base = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)base;
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(base + header->e_phoff);
	struct executable_id id = {};

	for (size_t i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_NOTE)
			(void)build_id_from_notes(
				(struct bytes_view){ .data = base + segments[i].p_offset,
						     .size = segments[i].p_filesz },
				&id);
	assert_int_equal(id.kind, EXECUTABLE_ID_GNU);
	return id;
}

static void the_vdso_of_every_64_bit_process_is_the_agents(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = NULL;
	struct executable *own = NULL, *again = NULL;
	struct executable_id expected;
	uint64_t start, end;
	int fd;

	(void)state;
	find_vdso(&start, &end);
	expected = own_vdso_id();
	assert_ok(executable_cache_new(4, &cache));
	assert_int_equal(executable_cache_identify_vdso(cache, start, end, &own), 1);
	assert_int_equal(executable_cache_identify_vdso(cache, start + 65536, end + 65536, &again),
			 1);

	assert_true(executable_id_equal(&own->id, &expected));
	assert_int_equal(own->role, EXECUTABLE_VDSO);
	assert_string_equal(own->name, "[vdso]");
	assert_true(own->n_segments > 0);
	assert_ptr_equal(again, own);
	fd = executable_open(own);
	assert_ok(fd);
	(void)close(fd);
}

static void the_vdso_of_a_32_bit_process_is_not_identified(void **state)
{
	scoped(executable_cache_freep) struct executable_cache *cache = NULL;
	struct executable *executable = NULL;

	(void)state;
	assert_ok(executable_cache_new(4, &cache));
	assert_int_equal(executable_cache_identify_vdso(cache, 0xf7f00000, 0xf7f02000, &executable),
			 0);
	assert_int_equal(
		executable_cache_identify_vdso(cache, 0x7fff00002000, 0x7fff00001000, &executable),
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_vdso_of_every_64_bit_process_is_the_agents),
		cmocka_unit_test(the_vdso_of_a_32_bit_process_is_not_identified),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
