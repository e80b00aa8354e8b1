/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles damaged and hostile files. */

#include <elf.h>

#include "common/file.h"
#include "tests/unit/symbolizer/symbols/tables.h"

/* Compiles bytes. If a table is made, it must open. Returns 0 or the error. */
static int compile_bytes(const uint8_t *data, size_t size, struct symbol_compile_report *report)
{
	scoped(symbol_file_freep) struct symbol_file *file = NULL;
	struct bytes flat = BYTES_INIT(256 * MIB);
	scoped_file FILE *copy = tmpfile();
	struct symbol_compile_input input = { -1, -1, -1, -1 };
	int r;

	assert_non_null(copy);
	assert_int_equal(fwrite(data, 1, size, copy), size);
	assert_int_equal(fflush(copy), 0);
	input.main_fd = fileno(copy);
	r = symbol_compile_flat(&input, &flat, report);
	if (r == 0)
		assert_ok(symbol_file_open_memory(bytes_view_of(&flat), &file));
	bytes_release(&flat);
	return r;
}

static struct bytes bytes_of_program(const char *folder, const char *flags)
{
	scoped_free char *path = compile(folder, "c", "gcc", "c", program_c, flags);
	struct bytes data = BYTES_INIT(64 * MIB);

	assert_ok(file_read(path, &data));
	return data;
}

static void other_files_than_elf_are_refused_with_a_message(void **state)
{
	static const char *const contents[] = { "", "x", "\177ELF", "!<arch>\nnothing",
						"<html></html>" };
	struct symbol_compile_report report;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
		assert_errno(
			compile_bytes((const uint8_t *)contents[i], strlen(contents[i]), &report),
			-ENOEXEC);
		assert_true(report.message[0]);
	}
}

static void a_big_endian_file_is_refused(void **state)
{
	struct bytes data = bytes_of_program(*state, "-O1");
	struct symbol_compile_report report;

	data.data[EI_DATA] = ELFDATA2MSB;
	assert_errno(compile_bytes(data.data, data.size, &report), -ENOTSUP);
	assert_true(report.message[0]);
	bytes_release(&data);
}

static void a_truncated_file_is_refused_with_a_message(void **state)
{
	struct bytes data = bytes_of_program(*state, "-O1 -g");
	struct symbol_compile_report report;

	for (size_t size = data.size - 1; size > data.size / 2; size -= data.size / 60) {
		assert_true(compile_bytes(data.data, size, &report) < 0);
		assert_true(report.message[0]);
	}
	bytes_release(&data);
}

static void a_damaged_file_gives_a_valid_table_or_an_error(void **state)
{
	static const char *const flags[] = { "-O2 -g", "-O2 -gdwarf-4 -fdebug-types-section",
					     "-O2 -g -gz" };
	uint64_t seed = test_seed();
	struct symbol_compile_report report;

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		struct bytes data = bytes_of_program(*state, flags[i]);
		struct bytes damaged = BYTES_INIT(64 * MIB);

		assert_ok(compile_bytes(data.data, data.size, &report));
		for (size_t round = 0; round < 150; round++) {
			bytes_clear(&damaged);
			assert_ok(bytes_append(&damaged, data.data, data.size));
			for (int j = 0; j < 20; j++)
				damaged.data[next_random(&seed) % damaged.size] =
					(uint8_t)next_random(&seed);
			(void)compile_bytes(damaged.data, damaged.size, &report);
		}
		bytes_release(&data);
		bytes_release(&damaged);
	}
}

/* Damage in a section of DWARF loses only data of DWARF: the symbols stay. */
static void damaged_dwarf_does_not_lose_symbols(void **state)
{
	static const char *const sections[] = { ".debug_info", ".debug_abbrev", ".debug_line" };
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_free char *nm = command_text("nm %s", path);
	scoped_free char *damaged = path_in(*state, "damaged");

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		run_command("cd %s && head -c 300 /dev/urandom > noise && objcopy "
			    "--update-section %s=noise c damaged 2>&1",
			    (char *)*state, sections[i]);
		scoped_compiled struct compiled compiled = compiled_of(damaged);
		scoped_free char *chain = chain_at(&compiled, address_in(nm, "helper"));

		assert_true(strncmp(chain, "helper ", strlen("helper ")) == 0);
	}
}

static void a_section_with_an_implausible_expanded_size_is_not_expanded(void **state)
{
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g -gz");
	scoped_free char *line = command_text(
		"readelf -SW %s | sed 's/\\[ */[/' | awk '$2 == \".debug_info\" {print $5}'", path);
	struct bytes data = BYTES_INIT(64 * MIB);
	struct symbol_compile_report report;
	Elf64_Chdr header;
	uint64_t offset;

	assert_ok(file_read(path, &data));
	offset = strtoull(line, NULL, 16);
	assert_in_range(offset, 1, data.size - sizeof(header));
	memcpy(&header, data.data + offset, sizeof(header));
	assert_int_equal(header.ch_type, ELFCOMPRESS_ZLIB);
	header.ch_size = UINT64_C(1) << 40;
	memcpy(data.data + offset, &header, sizeof(header));
	assert_ok(compile_bytes(data.data, data.size, &report));
	assert_non_null(strstr(report.message, ".debug_info"));
	assert_true(report.sources & SYMBOL_SOURCE_SYMTAB);
	assert_false(report.sources & SYMBOL_SOURCE_DWARF);
	bytes_release(&data);
}

/* 1 GiB of zeros has a megabyte compressed with zlib, and 60 KiB with zstd. */
static void a_decompression_bomb_needs_no_more_memory_than_the_limit(void **state)
{
	static const char *const kinds[] = { "zlib", "zstd" };
	scoped_free char *path = compile(*state, "c", "gcc", "c", program_c, "-O1 -g");
	scoped_free char *bomb = path_in(*state, "bomb");

	assert_non_null(path);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		run_command(
			"cd %s && head -c 200M /dev/zero > zeros && objcopy --update-section "
			".debug_loclists=zeros --add-section .debug_str_offsets=zeros c plain && "
			"objcopy --compress-debug-sections=%s plain bomb && rm zeros plain 2>&1",
			(char *)*state, kinds[i]);
		scoped_compiled struct compiled compiled = compiled_of(bomb);

		assert_true(has_function(&compiled, "helper"));
	}
}

static void inlining_beyond_the_limit_keeps_the_outermost_calls(void **state)
{
	scoped_file FILE *file = NULL;
	scoped_free char *source = path_in(*state, "deep.c");
	scoped_free char *path = path_in(*state, "deep");

	file = fopen(source, "we");
	assert_non_null(file);
	assert_true(fprintf(file, "volatile int sink;\n"
				  "static inline __attribute__((always_inline)) int f0(int x) "
				  "{ return sink + x; }\n") > 0);
	for (int i = 1; i < 400; i++)
		assert_true(fprintf(file,
				    "static inline __attribute__((always_inline)) int f%d(int x) "
				    "{ return f%d(x) * 3; }\n",
				    i, i - 1) > 0);
	assert_true(fprintf(file, "int main(int argc, char **argv) { (void)argv; return "
				  "f399(argc); }\n") > 0);
	assert_int_equal(fflush(file), 0);
	run_command("gcc -O2 -g -o %s %s 2>&1", path, source);
	scoped_compiled struct compiled compiled = compiled_of(path);

	assert_true(has_function(&compiled, "f399"));
	assert_true(has_function(&compiled, "main"));
	assert_false(has_function(&compiled, "f0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_files_than_elf_are_refused_with_a_message),
		in_folder(a_big_endian_file_is_refused),
		in_folder(a_truncated_file_is_refused_with_a_message),
		in_folder(a_damaged_file_gives_a_valid_table_or_an_error),
		in_folder(damaged_dwarf_does_not_lose_symbols),
		in_folder(a_section_with_an_implausible_expanded_size_is_not_expanded),
		in_folder(a_decompression_bomb_needs_no_more_memory_than_the_limit),
		in_folder(inlining_beyond_the_limit_keeps_the_outermost_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
