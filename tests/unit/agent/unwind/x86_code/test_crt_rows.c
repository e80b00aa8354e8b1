/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions without call frame information in a library that the compiler links, and in the C
 * library of this test.
 */
#include "agent/unwind/x86_code/crt_rows.h"

#include <elf.h>
#include <endian.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "agent/unwind/unwind_compile.h"
#include "common/bytes.h"
#include "common/file.h"
#include "tests/support/unit.h"

struct file {
	int fd;
	struct elf_file *elf;
	struct unwind_table table;
};

static struct file open_file(const char *path)
{
	struct file file = { .fd = open(path, O_RDONLY | O_CLOEXEC) };
	struct unwind_table_stats stats;

	assert_true(file.fd >= 0);
	assert_ok(elf_file_open(file.fd, &file.elf));
	if (file.elf->machine != EM_X86_64)
		skip();
	assert_int_equal(
		unwind_table_compile(file.elf, &(struct unwind_options){}, &file.table, &stats), 1);
	return file;
}

static void close_file(struct file *file)
{
	unwind_table_release(&file->table);
	(void)elf_file_free(file->elf);
	(void)close(file->fd);
}

static void assert_cfa(const struct file *file, uint64_t address, uint8_t cfa, int32_t offset)
{
	const struct abi_unwind_rule *rule = unwind_table_find(&file->table, address);

	assert_int_equal(rule->cfa, cfa);
	assert_int_equal(rule->cfa_offset, offset);
	assert_int_equal(rule->ra, UNWIND_SAVED_CFA);
	assert_int_equal(rule->ra_offset, -8);
}

/* sub $8, %rsp; ...; add $8, %rsp; ret, perhaps after endbr64. */
static void init_and_fini_have_rows(void **state)
{
	static const char *const names[] = { ".init", ".fini" };
	struct file file = open_file(FIXTURES "/library");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct elf_section *section = elf_file_section(file.elf, names[i]);
		uint64_t end;

		assert_non_null(section);
		end = section->vaddr + section->size;
		assert_cfa(&file, section->vaddr, UNWIND_CFA_SP, 8);
		assert_cfa(&file, end - 5, UNWIND_CFA_SP, 16); /* add $8, %rsp */
		assert_cfa(&file, end - 1, UNWIND_CFA_SP, 8);
	}
	close_file(&file);
}

static uint64_t first_of(const struct file *file, const char *name)
{
	const struct elf_section *section = elf_file_section(file->elf, name);
	uint64_t word;

	assert_non_null(section);
	assert_ok(pread_all(file->fd, (uint8_t *)&word, sizeof(word), section->file_offset));
	return le64toh(word);
}

/* __do_global_dtors_aux pushes rbp before it calls anything, and pops it at its end. */
static void functions_around_constructors_and_destructors_have_rows(void **state)
{
	struct file file = open_file(FIXTURES "/library");
	uint64_t dtors = first_of(&file, ".fini_array");
	size_t n_with_frame = 0;

	(void)state;
	assert_cfa(&file, first_of(&file, ".init_array"), UNWIND_CFA_SP, 8);
	assert_cfa(&file, dtors, UNWIND_CFA_SP, 8);
	for (uint64_t address = dtors; address < dtors + 64; address++)
		n_with_frame += unwind_table_find(&file.table, address)->cfa == UNWIND_CFA_FP;
	assert_true(n_with_frame > 10);
	close_file(&file);
}

static const char *path_of_c_library(void)
{
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
		if (strstr(map->l_name, "/libc.so.6"))
			return map->l_name;
	skip();
	return NULL;
}

/* syscall; test %rax, %rax; jl; je; ret: a library has this in clone() and in its own clone3(). */
static void the_system_calls_that_make_threads_have_rows(void **state)
{
	static const uint8_t call[] = { 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c };
	struct file file = open_file(path_of_c_library());
	const struct elf_section *text = elf_file_section(file.elf, ".text");
	scoped(bytes_release) struct bytes code = BYTES_INIT(16 * MIB);
	size_t n_found = 0;

	(void)state;
	assert_non_null(text);
	assert_ok(elf_file_read_section(file.elf, text, &code));
	for (size_t at = 0; at + 16 < code.size; at++) {
		if (memcmp(code.data + at, call, sizeof(call)) != 0 || code.data[at + 7] != 0x74)
			continue;
		n_found++;
		for (size_t i = 0; i < 10; i++)
			assert_cfa(&file, text->vaddr + at + i, UNWIND_CFA_CLONE, 8);
	}
	assert_int_equal(n_found, 2);
	close_file(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init_and_fini_have_rows),
		cmocka_unit_test(functions_around_constructors_and_destructors_have_rows),
		cmocka_unit_test(the_system_calls_that_make_threads_have_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
