/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same assembly twice (assembly_functions.S): without call frame information, the rows have to
 * be those with it.
 */
#include "agent/unwind/x86_code/gap_rows.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "agent/unwind/unwind_compile.h"
#include "agent/unwind/unwind_input.h"
#include "agent/unwind/x86_code/cfi_gaps.h"
#include "common/file.h"
#include "tests/support/command.h"

struct library {
	struct elf_file *elf;
	int fd;
	struct unwind_table table;
	struct bytes code; /* of the assembly */
	uint64_t start, end;
};

/* From .dynsym. */
static uint64_t address_of(const struct elf_file *elf, const char *name)
{
	const struct elf_section *symbols = elf_file_section(elf, ".dynsym");
	const struct elf_section *names = elf_file_section(elf, ".dynstr");
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	scoped(bytes_release) struct bytes text = BYTES_INIT(MIB);

	assert_non_null(symbols);
	assert_non_null(names);
	assert_ok(elf_file_read_section(elf, symbols, &content));
	assert_ok(elf_file_read_section(elf, names, &text));
	for (size_t at = 0; at + sizeof(Elf64_Sym) <= content.size; at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, content.data + at, sizeof(symbol));
		if (strcmp((const char *)text.data + symbol.st_name, name) == 0)
			return symbol.st_value;
	}
	fail_msg("no symbol %s", name);
	return 0;
}

/*
 * In a library, code and read-only data have the same distance from their segments in the file and
 * in memory.
 */
static uint64_t offset_of(const struct elf_file *elf, uint64_t address)
{
	for (size_t i = 0; i < elf->n_load_segments; i++)
		if (address >= elf->load_segments[i].vaddr &&
		    address - elf->load_segments[i].vaddr < elf->load_segments[i].file_size)
			return address - elf->load_segments[i].vaddr +
			       elf->load_segments[i].file_offset;
	fail_msg("%" PRIx64 " is not in the file", address);
	return 0;
}

static struct library open_library(const char *path)
{
	struct library library = { .fd = open(path, O_RDONLY | O_CLOEXEC),
				   .code = BYTES_INIT(MIB) };
	struct unwind_table_stats stats;

	if (library.fd < 0)
		skip();
	assert_ok(elf_file_open(library.fd, &library.elf));
	assert_int_equal(unwind_table_compile(library.elf, &(struct unwind_options){},
					      &library.table, &stats),
			 1);
	library.start = address_of(library.elf, "assembly_start");
	library.end = address_of(library.elf, "assembly_end");
	assert_ok(bytes_reserve(&library.code, library.end - library.start));
	library.code.size = library.end - library.start;
	assert_ok(pread_all(library.fd, library.code.data, library.code.size,
			    offset_of(library.elf, library.start)));
	return library;
}

static void close_library(struct library *library)
{
	unwind_table_release(&library->table);
	bytes_release(&library->code);
	(void)elf_file_free(library->elf);
	(void)close(library->fd);
}

static bool rules_agree(const struct abi_unwind_rule *left, const struct abi_unwind_rule *right)
{
	return left->cfa == right->cfa && left->cfa_offset == right->cfa_offset &&
	       left->ra == right->ra && left->ra_offset == right->ra_offset &&
	       left->fp == right->fp && left->fp_offset == right->fp_offset &&
	       left->cfa_register == right->cfa_register;
}

static void rows_from_assembly_agree_with_call_frame_information(void **state)
{
	struct library with = open_library(FIXTURES "/assembly_cfi.so");
	struct library without = open_library(FIXTURES "/assembly.so");
	uint64_t data = address_of(with.elf, "assembly_data"),
		 data_end = address_of(with.elf, "assembly_data_end");
	size_t n_compared = 0;
	uint32_t seen = 0;

	(void)state;
	assert_int_equal(with.code.size, without.code.size);
	for (size_t at = 0; at < with.code.size; at++) {
		bool is_data = with.start + at >= data && with.start + at < data_end;
		const struct abi_unwind_rule *expected =
			unwind_table_find(&with.table, with.start + at);
		const struct abi_unwind_rule *found =
			unwind_table_find(&without.table, without.start + at);

		/*
		 * Random data may look like code. Rows for it do no harm, because it is never
		 * executed.
		 */
		if (is_data || expected->cfa == UNWIND_CFA_NONE)
			continue;
		if (!rules_agree(expected, found))
			fail_msg("at %zx: CFA %d %+d (%d), rbp %d %+d; not %d %+d (%d), %d %+d", at,
				 expected->cfa, expected->cfa_offset, expected->cfa_register,
				 expected->fp, expected->fp_offset, found->cfa, found->cfa_offset,
				 found->cfa_register, found->fp, found->fp_offset);
		seen |= 1u << expected->cfa;
		n_compared++;
	}
	assert_true(n_compared > 300);
	assert_true(seen & 1u << UNWIND_CFA_SP);
	assert_true(seen & 1u << UNWIND_CFA_FP);
	assert_true(seen & 1u << UNWIND_CFA_REGISTER);
	assert_true(seen & 1u << UNWIND_CFA_DEREF_SP);
	close_library(&with);
	close_library(&without);
}

static void only_files_with_much_code_without_fdes_are_analyzed(void **state)
{
	struct library with = open_library(FIXTURES "/assembly_cfi.so");
	struct library without = open_library(FIXTURES "/assembly.so");
	struct cfi_gap_vec gaps = {};

	(void)state;
	assert_int_equal(gap_rows_are_needed(without.elf), 1);
	assert_int_equal(cfi_gaps_find(without.elf, &gaps), 1);
	assert_true(cfi_gaps_contain(&gaps, without.start));
	assert_true(cfi_gaps_contain(&gaps, without.end - 1));
	assert_false(cfi_gaps_contain(&gaps, address_of(without.elf, "use_assembly")));
	vec_release(&gaps);
	/* Only the data of the file has no FDE. It could be code, too. */
	assert_int_equal(cfi_gaps_find(with.elf, &gaps), 1);
	assert_false(cfi_gaps_contain(&gaps, with.start));
	assert_false(cfi_gaps_contain(&gaps, with.end - 1));
	vec_release(&gaps);
	close_library(&with);
	close_library(&without);
}

static struct hash128 input_hash(int fd)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	struct hash128 hash;
	uint64_t n_bytes;

	assert_ok(elf_file_open(fd, &elf));
	assert_int_equal(unwind_input_hash(elf, &(struct unwind_options){}, &hash, &n_bytes), 1);
	return hash;
}

/* The key of a table depends on its input: here on the code, and on what refers to it. */
static void files_that_differ_in_such_code_have_different_keys(void **state)
{
	static const char *const sections[] = { ".text", ".data.rel.ro", ".rela.dyn", ".dynsym" };
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	struct library library = open_library(FIXTURES "/assembly.so");
	scoped_fd int fd = memfd_create("copy", MFD_CLOEXEC);
	struct hash128 before, after;

	(void)state;
	assert_ok(file_read(FIXTURES "/assembly.so", &content));
	assert_ok(write_all(fd, content.data, content.size));
	before = input_hash(fd);
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		const struct elf_section *section = elf_file_section(library.elf, sections[i]);
		uint64_t at;
		uint8_t byte;

		assert_non_null(section);
		at = section->file_offset + section->size - 1;
		byte = content.data[at] ^ 0x10;
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
		after = input_hash(fd);
		assert_memory_not_equal(&before, &after, sizeof(before));
		assert_int_equal(pwrite(fd, &content.data[at], 1, (off_t)at), 1);
	}
	after = input_hash(fd);
	assert_memory_equal(&before, &after, sizeof(before));
	close_library(&library);
}

static void without_the_reader_such_code_has_no_rows_and_the_key_differs(void **state)
{
	const struct unwind_options skip = { .skip_x86_code = true };
	struct library library = open_library(FIXTURES "/assembly.so");
	scoped(unwind_table_release) struct unwind_table table = {};
	struct unwind_table_stats stats;
	struct hash128 with, without;
	struct cfi_gap_vec gaps = {};
	uint64_t n_bytes, middle;

	(void)state;
	assert_int_equal(cfi_gaps_find(library.elf, &gaps), 1);
	middle = (gaps.items[0].start + gaps.items[0].end) / 2;
	assert_int_equal(unwind_table_compile(library.elf, &skip, &table, &stats), 1);
	assert_int_not_equal(unwind_table_find(&library.table, middle)->cfa, UNWIND_CFA_NONE);
	assert_int_equal(unwind_table_find(&table, middle)->cfa, UNWIND_CFA_NONE);
	with = input_hash(library.fd);
	assert_true(unwind_input_hash(library.elf, &skip, &without, &n_bytes) >= 0);
	assert_memory_not_equal(&with, &without, sizeof(with));
	vec_release(&gaps);
	close_library(&library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_from_assembly_agree_with_call_frame_information),
		cmocka_unit_test(only_files_with_much_code_without_fdes_are_analyzed),
		cmocka_unit_test(files_that_differ_in_such_code_have_different_keys),
		cmocka_unit_test(without_the_reader_such_code_has_no_rows_and_the_key_differs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
