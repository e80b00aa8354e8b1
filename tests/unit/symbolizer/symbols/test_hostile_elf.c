/* SPDX-License-Identifier: Apache-2.0 */
/* Files that anybody may have made: damaged, cut short, or made to take memory. */

#include <elf.h>
#include <sys/stat.h>

#include "tests/unit/symbolizer/symbols/programs.h"

static int build_table(const uint8_t *data, size_t size, struct symbol_table **table,
		       char message[SYMBOL_TABLE_MESSAGE_SIZE])
{
	scoped_file FILE *file = tmpfile();

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fflush(file), 0);
	return symbol_table_build(fileno(file), table, message);
}

static int build_bytes(const uint8_t *data, size_t size, char message[SYMBOL_TABLE_MESSAGE_SIZE])
{
	scoped(symbol_table_freep) struct symbol_table *table = NULL;

	return build_table(data, size, &table, message);
}

static uint8_t *read_whole(const char *path, size_t *ret_size)
{
	struct stat status;
	scoped_fd int fd = open_file(path);
	uint8_t *data;

	assert_int_equal(fstat(fd, &status), 0);
	data = malloc((size_t)status.st_size);
	assert_non_null(data);
	assert_int_equal(read(fd, data, (size_t)status.st_size), status.st_size);
	*ret_size = (size_t)status.st_size;
	return data;
}

static void what_is_no_elf_file_is_refused(void **state)
{
	static const char *const contents[] = { "", "x", "\177ELF", "!<arch>\nnothing",
						"<html></html>" };
	char message[SYMBOL_TABLE_MESSAGE_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
		assert_true(build_bytes((const uint8_t *)contents[i], strlen(contents[i]),
					message) < 0);
		assert_true(message[0]);
	}
}

static void a_truncated_file_is_refused(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	char message[SYMBOL_TABLE_MESSAGE_SIZE];
	scoped_free uint8_t *data = NULL;
	size_t size;

	data = read_whole(path, &size);
	for (size_t i = 1; i < 40; i++) {
		assert_true(build_bytes(data, size * i / 40, message) < 0);
		assert_true(message[0]);
	}
	assert_ok(build_bytes(data, size, message));
}

static Elf64_Shdr *section_of(uint8_t *data, const char *name)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)data;
	Elf64_Shdr *sections = (Elf64_Shdr *)(data + header->e_shoff);

	for (size_t i = 0; i < header->e_shnum; i++) {
		if (strcmp((char *)data + sections[header->e_shstrndx].sh_offset +
				   sections[i].sh_name,
			   name) == 0)
			return &sections[i];
	}
	fail_msg("no section %s", name);
	return NULL;
}

static bool has_function(const struct symbol_table *table, const char *name)
{
	for (uint32_t i = 0; i < symbol_table_count(table); i++)
		if (strcmp(symbol_table_linkage_name(table, i), name) == 0)
			return true;
	return false;
}

static void a_section_that_expands_without_bound_costs_the_dwarf_and_not_the_symbols(void **state)
{
	static const uint64_t claimed_sizes[] = { UINT64_C(1) << 40, 3 * GIB, 200 * MIB };
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g -gz=zlib");
	char message[SYMBOL_TABLE_MESSAGE_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(claimed_sizes); i++) {
		scoped(symbol_table_freep) struct symbol_table *table = NULL;
		scoped_free uint8_t *data = NULL;
		Elf64_Shdr *section;
		size_t size;

		data = read_whole(path, &size);
		section = section_of(data, ".debug_info");
		assert_true(section->sh_flags & SHF_COMPRESSED);
		((Elf64_Chdr *)(data + section->sh_offset))->ch_size = claimed_sizes[i];
		assert_ok(build_table(data, size, &table, message));
		assert_true(has_function(table, "main"));
		assert_non_null(strstr(message, "no DWARF is read"));
		assert_non_null(strstr(message, ".debug_info"));

		/* Without symbols nothing is left. */
		section_of(data, ".symtab")->sh_type = SHT_PROGBITS;
		section_of(data, ".dynsym")->sh_type = SHT_PROGBITS;
		assert_errno(build_bytes(data, size, message), -EFBIG);
		assert_non_null(strstr(message, ".debug_info"));
	}
}

static void damaged_dwarf_costs_only_what_dwarf_knows(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_free uint8_t *data = NULL;
	char message[SYMBOL_TABLE_MESSAGE_SIZE];
	Elf64_Shdr *section;
	size_t size;

	data = read_whole(path, &size);
	section = section_of(data, ".debug_info");
	memset(data + section->sh_offset, 0xff, section->sh_size);
	assert_ok(build_bytes(data, size, message));
	assert_non_null(strstr(message, "DWARF"));
}

/* Whatever happens, it is an answer and not a crash. */
static void mutated_files_are_survived(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_free uint8_t *original = NULL;
	scoped_free uint8_t *data = NULL;
	char message[SYMBOL_TABLE_MESSAGE_SIZE];
	uint64_t seed = random_seed();
	size_t size, n_refused = 0;

	original = read_whole(path, &size);
	data = malloc(size);
	assert_non_null(data);
	for (int round = 0; round < 400; round++) {
		memcpy(data, original, size);
		for (int i = 0; i < 1 + round % 16; i++) {
			/* Headers and section headers more often than the rest. */
			size_t area = next_random(&seed) % 3;
			size_t position = next_random(&seed) % (area == 0   ? 64
								: area == 1 ? 2500
									    : size);

			data[area == 1 ? size - 1 - position : position] =
				(uint8_t)next_random(&seed);
		}
		n_refused += build_bytes(data, size, message) < 0;
	}
	assert_true(n_refused > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define IN_FOLDER(test)                                                                            \
	cmocka_unit_test_setup_teardown(test, temp_folder_setup, temp_folder_teardown)
		IN_FOLDER(a_truncated_file_is_refused),
		IN_FOLDER(a_section_that_expands_without_bound_costs_the_dwarf_and_not_the_symbols),
		IN_FOLDER(damaged_dwarf_costs_only_what_dwarf_knows),
		IN_FOLDER(mutated_files_are_survived),
		cmocka_unit_test(what_is_no_elf_file_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
