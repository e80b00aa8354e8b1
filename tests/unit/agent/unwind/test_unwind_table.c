/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of real files are compared with readelf. Then parts of the files are removed or changed.
 */
#include "agent/unwind/unwind_compile.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "agent/unwind/cfi/cfi_program.h"
#include "common/file.h"
#include "tests/support/command.h"
#include "tests/unit/agent/unwind/frame_writer.h"
#include "tests/unwind_check/compare.h"

/*
 * Every row agrees with readelf, with at least the number of expressions that are known to be
 * there. `tests/unwind_check/run.sh -v PATH` prints the differences.
 */
static void assert_agrees_with_readelf(const char *path, uint64_t least_rows,
				       uint64_t least_expressions)
{
	scoped_file FILE *nowhere = fopen("/dev/null", "we");
	struct comparison comparison = {};
	int r;

	if (!command_exists("readelf"))
		skip();
	assert_non_null(nowhere);
	r = compare_file(path, &comparison, nowhere);
	assert_ok(r);
	assert_int_equal(r, 1);
	assert_true(comparison_rows(&comparison) >= least_rows);
	assert_true(comparison.counts[OUTCOME_EXPRESSION] >= least_expressions);
	assert_int_equal(comparison.counts[OUTCOME_DIFFERS], 0);
	assert_true(comparison.counts[OUTCOME_ENTRY] <= 1);
	assert_int_equal(comparison.counts[OUTCOME_INVENTED], 0);
	assert_int_equal(comparison.counts[OUTCOME_LOST], 0);
	assert_true(comparison_agreeing(&comparison) * 1000 >= comparison_rows(&comparison) * 999);
}

/* The path of a library that this process uses. */
static const char *path_of_library(const char *name)
{
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
		if (strstr(map->l_name, name))
			return map->l_name;
	skip();
	return NULL;
}

static void a_program_without_frame_pointers_agrees_with_readelf(void **state)
{
	(void)state;
	assert_agrees_with_readelf(FIXTURES "/program", 20, 1);
}

static void debug_frame_alone_agrees_with_readelf(void **state)
{
	(void)state;
	assert_agrees_with_readelf(FIXTURES "/program.debug_frame", 20, 1);
}

static void the_c_library_and_this_test_agree_with_readelf(void **state)
{
	char path[PATH_MAX] = "";

	(void)state;
	assert_agrees_with_readelf(path_of_library("/libc.so"), 10000, 1);
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	assert_agrees_with_readelf(path, 100, 0);
}

static void arm64_code_agrees_with_readelf(void **state)
{
	(void)state;
	if (access(FIXTURES "/arm64.so", R_OK) < 0)
		skip();
	assert_agrees_with_readelf(FIXTURES "/arm64.so", 15, 0);
}

static int compile(const char *path, struct unwind_table *ret_table,
		   struct unwind_table_stats *ret_stats)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_ok(elf_file_open(fd, &elf));
	return unwind_table_compile(elf, &(struct unwind_options){}, ret_table, ret_stats);
}

static void the_signal_trampoline_of_libc_has_a_rule_with_the_byte_before(void **state)
{
	scoped(unwind_table_release) struct unwind_table table = {};
	struct unwind_table_stats stats;
	uint64_t n_bytes = 0;
	uint64_t end;

	(void)state;
	if (compile(path_of_library("/libc.so"), &table, &stats) != 1)
		fail();
	assert_int_equal(stats.n_fdes_lost, 0);
	end = table.base_address + ((uint64_t)table.n_pages << UNWIND_PAGE_SHIFT);
	for (uint64_t elf_addr = table.base_address; elf_addr < end; elf_addr++)
		n_bytes += unwind_table_find(&table, elf_addr)->cfa == UNWIND_CFA_SIGNAL;
	/*
	 * mov $15, %rax; syscall: 9 bytes; the byte before; perhaps another one that the FDE
	 * covers; padding after.
	 */
	assert_in_range(n_bytes, 10, 11 + 15);
}

/* Finds the function by the address that makecontext() stores on the new stack. */
static void contexts_end_in_the_c_library(void **state)
{
	scoped(unwind_table_release) struct unwind_table table = {};
	static uint8_t stack[64 * 1024];
	struct unwind_table_stats stats;
	const struct link_map *map;
	uint64_t entry = 0;
	ucontext_t context;

	(void)state;
#if !defined(__x86_64__)
	skip();
#endif
	assert_int_equal(getcontext(&context), 0);
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = sizeof(stack);
	context.uc_link = NULL;
	makecontext(&context, (void (*)(void))abort, 0);
#if defined(__x86_64__)
	memcpy(&entry, (const void *)context.uc_mcontext.gregs[REG_RSP], sizeof(entry));
#endif
	for (map = _r_debug.r_map; map && !strstr(map->l_name, "/libc.so"); map = map->l_next)
		;
	if (!map)
		skip();
	entry -= map->l_addr;
	if (compile(map->l_name, &table, &stats) != 1)
		fail();
	assert_int_equal(unwind_table_find(&table, entry - 1)->cfa, UNWIND_CFA_END);
	assert_int_equal(unwind_table_find(&table, entry)->cfa, UNWIND_CFA_END);
	assert_int_not_equal(unwind_table_find(&table, entry - 16)->cfa, UNWIND_CFA_END);
	assert_int_not_equal(unwind_table_find(&table, entry + 64)->cfa, UNWIND_CFA_END);
}

static void the_loader_s_first_instructions_end_stacks(void **state)
{
	scoped(unwind_table_release) struct unwind_table table = {};
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	const char *path = path_of_library("/ld-linux");
	struct unwind_table_stats stats;
	scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_ok(elf_file_open(fd, &elf));
	if (compile(path, &table, &stats) != 1)
		fail();
	assert_int_equal(unwind_table_find(&table, elf->entry)->cfa, UNWIND_CFA_END);
	/* The address that its first call returns to. */
	assert_int_equal(unwind_table_find(&table, elf->entry + 7)->cfa, UNWIND_CFA_END);
}

static void assert_equal_tables(const struct unwind_table *a, const struct unwind_table *b)
{
	assert_int_equal(a->base_address, b->base_address);
	assert_int_equal(a->n_rows, b->n_rows);
	assert_int_equal(a->n_pages, b->n_pages);
	assert_int_equal(a->n_rules, b->n_rules);
	assert_memory_equal(a->rows, b->rows, a->n_rows * sizeof(*a->rows));
	assert_memory_equal(a->rules, b->rules, a->n_rules * sizeof(*a->rules));
	assert_memory_equal(a->page_first, b->page_first,
			    (a->n_pages + 1) * sizeof(*a->page_first));
}

/* A file in memory that can be changed. */
static int open_copy(const char *path, struct bytes *content)
{
	int fd = memfd_create("copy", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_ok(file_read(path, content));
	assert_ok(write_all(fd, content->data, content->size));
	return fd;
}

static void without_section_headers_the_table_is_the_same(void **state)
{
	static const char *const names[] = { "program", "library" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		scoped(bytes_release) struct bytes content = BYTES_INIT(64 * MIB);
		scoped(unwind_table_release) struct unwind_table whole = {}, headless = {};
		scoped(elf_file_freep) struct elf_file *elf = NULL;
		struct unwind_table_stats stats, headless_stats;
		scoped_free char *path = path_in(FIXTURES, names[i]);
		scoped_fd int fd = open_copy(path, &content);
		Elf64_Ehdr header;

		assert_int_equal(compile(path, &whole, &stats), 1);
		memcpy(&header, content.data, sizeof(header));
		header.e_shoff = 0;
		header.e_shnum = 0;
		header.e_shstrndx = 0;
		assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
		assert_ok(elf_file_open(fd, &elf));
		assert_int_equal(elf->n_sections, 0);
		assert_int_equal(unwind_table_compile(elf, &(struct unwind_options){}, &headless,
						      &headless_stats),
				 1);
		assert_equal_tables(&whole, &headless);
		assert_int_equal(stats.n_fdes, headless_stats.n_fdes);
	}
}

/* As Go compresses it. */
static void a_compressed_section_gives_the_same_table(void **state)
{
	scoped(unwind_table_release) struct unwind_table plain = {}, compressed = {};
	struct unwind_table_stats stats;

	(void)state;
	assert_int_equal(compile(FIXTURES "/program.debug_frame", &plain, &stats), 1);
	assert_int_equal(compile(FIXTURES "/program.compressed", &compressed, &stats), 1);
	assert_equal_tables(&plain, &compressed);
	assert_int_equal(stats.n_fdes_lost, 0);
}

static void a_file_cut_at_any_length_is_an_error_or_a_smaller_table(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(64 * MIB);
	scoped(unwind_table_release) struct unwind_table whole = {};
	struct unwind_table_stats whole_stats;
	scoped_fd int fd = open_copy(FIXTURES "/program", &content);

	(void)state;
	assert_int_equal(compile(FIXTURES "/program", &whole, &whole_stats), 1);
	for (size_t size = content.size; size > 64; size -= MIN(size, (size_t)13)) {
		scoped(unwind_table_release) struct unwind_table table = {};
		scoped(elf_file_freep) struct elf_file *elf = NULL;
		struct unwind_table_stats stats;
		int r;

		assert_int_equal(ftruncate(fd, (off_t)size), 0);
		if (elf_file_open(fd, &elf) < 0)
			continue;
		r = unwind_table_compile(elf, &(struct unwind_options){}, &table, &stats);
		assert_true(r == 1 || r == 0 || r == -ENODATA);
		assert_true(table.n_rows <= whole.n_rows);
	}
}

/* Truncated after it was opened: pread() fails, and nothing crashes. */
static void a_file_that_is_truncated_meanwhile_is_an_error(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(64 * MIB);
	scoped_fd int fd = open_copy(FIXTURES "/program", &content);
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped(unwind_table_release) struct unwind_table table = {};
	struct unwind_table_stats stats;

	(void)state;
	assert_ok(elf_file_open(fd, &elf));
	assert_int_equal(ftruncate(fd, 64), 0);
	assert_errno(unwind_table_compile(elf, &(struct unwind_options){}, &table, &stats),
		     -ENODATA);
	assert_null(table.rows);
}

/* Changes eight bytes of [first, end) at a time. */
static void change_at_random(const char *path, size_t first, size_t end, size_t n_rounds)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(64 * MIB);
	scoped_fd int fd = open_copy(path, &content);
	uint64_t seed = 0x2545f4914f6cdd1d;

	end = MIN(end, content.size);
	for (size_t round = 0; round < n_rounds; round++) {
		scoped(unwind_table_release) struct unwind_table table = {};
		scoped(elf_file_freep) struct elf_file *elf = NULL;
		struct unwind_table_stats stats;
		off_t at[8];

		for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
			uint8_t byte;

			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			byte = (uint8_t)(seed >> 40);
			at[i] = (off_t)(first + seed % (end - first));
			assert_int_equal(pwrite(fd, &byte, 1, at[i]), 1);
		}
		if (elf_file_open(fd, &elf) == 0 &&
		    unwind_table_compile(elf, &(struct unwind_options){}, &table, &stats) == 1)
			for (uint64_t i = 0; i < 64; i++)
				(void)unwind_table_find(&table, table.base_address + i * 4001);
		for (size_t i = 0; i < ARRAY_SIZE(at); i++)
			assert_int_equal(pwrite(fd, content.data + at[i], 1, at[i]), 1);
	}
}

static void random_changes_of_a_file_do_no_harm(void **state)
{
	(void)state;
	change_at_random(FIXTURES "/library", 0, SIZE_MAX, 2000);
}

static void random_changes_of_a_compressed_section_do_no_harm(void **state)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped_fd int fd = open(FIXTURES "/program.compressed", O_RDONLY | O_CLOEXEC);
	const struct elf_section *section;

	(void)state;
	assert_true(fd >= 0);
	assert_ok(elf_file_open(fd, &elf));
	section = elf_file_section(elf, ".debug_frame");
	assert_non_null(section);
	assert_true(section->flags & SHF_COMPRESSED);
	change_at_random(FIXTURES "/program.compressed", section->file_offset,
			 section->file_offset + section->size, 2000);
}

static void files_without_frames_have_empty_tables(void **state)
{
	static const char *const names[] = { "library.bare", "object.o" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		scoped(unwind_table_release) struct unwind_table table = {};
		scoped_free char *path = path_in(FIXTURES, names[i]);
		struct unwind_table_stats stats;

		assert_int_equal(compile(path, &table, &stats), 0);
		assert_int_equal(table.n_rows, 0);
		assert_int_equal(unwind_table_find(&table, 0x1000)->cfa, UNWIND_CFA_NONE);
	}
}

/* As in the agent: bytes of a process's memory. */
static void the_vdso_has_a_table(void **state)
{
	const uint8_t *image = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	scoped_fd int fd = memfd_create("vdso", MFD_CLOEXEC);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
	char path[64];

	(void)state;
	if (!image)
		skip();
	assert_true(fd >= 0);
	assert_ok(write_all(fd, image,
			    header->e_shoff + (uint64_t)header->e_shnum * header->e_shentsize));
	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	assert_agrees_with_readelf(path, 5, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_without_frame_pointers_agrees_with_readelf),
		cmocka_unit_test(debug_frame_alone_agrees_with_readelf),
		cmocka_unit_test(arm64_code_agrees_with_readelf),
		cmocka_unit_test(the_c_library_and_this_test_agree_with_readelf),
		cmocka_unit_test(the_signal_trampoline_of_libc_has_a_rule_with_the_byte_before),
		cmocka_unit_test(contexts_end_in_the_c_library),
		cmocka_unit_test(the_loader_s_first_instructions_end_stacks),
		cmocka_unit_test(without_section_headers_the_table_is_the_same),
		cmocka_unit_test(a_compressed_section_gives_the_same_table),
		cmocka_unit_test(a_file_cut_at_any_length_is_an_error_or_a_smaller_table),
		cmocka_unit_test(a_file_that_is_truncated_meanwhile_is_an_error),
		cmocka_unit_test(random_changes_of_a_file_do_no_harm),
		cmocka_unit_test(random_changes_of_a_compressed_section_do_no_harm),
		cmocka_unit_test(files_without_frames_have_empty_tables),
		cmocka_unit_test(the_vdso_has_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
