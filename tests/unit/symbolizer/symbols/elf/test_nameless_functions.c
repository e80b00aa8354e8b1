/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of functions in stripped files, and damaged .eh_frame sections. */

#include "symbolizer/symbols/elf/nameless_functions.h"

#include <elf.h>
#include <inttypes.h>

#include "common/elf/eh_pointer.h"
#include "symbolizer/symbols/symbol_limits.h"
#include "tests/unit/symbolizer/symbols/tables.h"

/* The start of the nameless function at @elf_addr, or 0. */
static uint64_t start_at(const struct compiled *compiled, uint64_t elf_addr)
{
	struct symbol_range range = {};

	(void)symbol_file_nameless(compiled->file, elf_addr, &range);
	return range.start;
}

static bool has_name(const struct compiled *compiled, uint64_t elf_addr)
{
	struct symbol_frame frame;
	uint32_t location;

	symbol_file_find(compiled->file, &elf_addr, 1, &location);
	if (location == SYMBOL_NO_LOCATION)
		return false;
	(void)symbol_file_frame(compiled->file, location, &frame);
	return frame.function != NULL;
}

static void a_stripped_program_has_the_functions_of_the_unstripped_one(void **state)
{
	static const char *const functions[] = { "helper", "public_work", "deep", "main", "done" };
	static const char *const flags[] = { "-O1", "-O2 -fcf-protection=full", "-O1 -static",
					     "-O1 -fuse-ld=gold" };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		scoped_free char *path = compile(*state, "twin", "gcc", "c", program_c, flags[i]);
		scoped_free char *stripped = path_in(*state, "stripped");
		scoped_free char *nm = command_text("nm %s", path);
		struct compiled twin, table;

		run_command("strip -o %s %s", stripped, path);
		twin = compiled_of(path);
		table = compiled_of(stripped);
		for (size_t k = 0; k < ARRAY_SIZE(functions); k++) {
			const uint64_t start = address_in(nm, functions[k]);

			assert_false(has_name(&table, start));
			assert_true(start_at(&table, start) == start);
			assert_true(start_at(&table, start + 1) == start);
			/* A function with a name is not stored as nameless. */
			assert_true(start_at(&twin, start) == 0);
		}
		compiled_release(&twin);
		compiled_release(&table);
	}
}

/* Each byte in the range of an FDE that readelf prints must have a name, or lie in a nameless
 * function that starts with the FDE. */
static void compare_with_readelf(const char *path, size_t at_least)
{
	scoped_compiled struct compiled table = compiled_of(path);
	scoped_free char *frames =
		command_text("readelf --debug-dump=frames %s 2>&1 | grep -o 'pc=.*'", path);
	size_t n_nameless = 0;
	size_t n_ranges = 0;

	for (const char *line = *frames ? frames : NULL; line; line = next_line(line)) {
		uint64_t start, end;

		assert_int_equal(sscanf(line, "pc=%" SCNx64 "..%" SCNx64, &start, &end), 2);
		n_ranges += end > start;
		for (uint64_t at = start; at < end; at += MAX((end - start) / 3, UINT64_C(1))) {
			if (has_name(&table, at))
				continue;
			if (start_at(&table, at) != start)
				fail_msg("%s: %#" PRIx64 " is in %#" PRIx64
					 ", for readelf in %#" PRIx64,
					 path, at, start_at(&table, at), start);
			n_nameless++;
		}
	}
	assert_true(n_nameless >= at_least);
	assert_true(symbol_file_info(table.file)->n_nameless <= n_ranges);
}

static void functions_of_debian_files_equal_those_of_readelf(void **state)
{
	scoped_free char *libz = command_text("gcc -print-file-name=libz.so.1 | tr -d '\\n'");
	scoped_free char *libc = command_text("gcc -print-file-name=libc.so.6 | tr -d '\\n'");

	(void)state;
	compare_with_readelf(libc, 1000);
	if (libz[0] == '/')
		compare_with_readelf(libz, 50);
}

/* ---- sections made by the test -----------------------------------------------------------------
 */

#define SECTION_ELF_ADDR UINT64_C(0x100000)

static void write_fixed(struct bytes *out, uint64_t value, size_t size)
{
	assert_ok(bytes_append(out, &value, size));
}

/* Appends a CIE with the augmentation "zR"; returns its offset. */
static size_t write_cie(struct bytes *out, uint8_t encoding)
{
	const size_t offset = out->size;

	write_fixed(out, 13, 4);
	write_fixed(out, 0, 4);
	write_fixed(out, 1, 1); /* version */
	assert_ok(bytes_append(out, "zR", 3));
	write_fixed(out, 1, 1);
	write_fixed(out, 0x78, 1);
	write_fixed(out, 16, 1);
	write_fixed(out, 1, 1); /* bytes of augmentation data */
	write_fixed(out, encoding, 1);
	return offset;
}

static void write_fde(struct bytes *out, size_t cie, uint64_t start, uint64_t size)
{
	write_fixed(out, 21, 4);
	write_fixed(out, out->size - cie, 4);
	write_fixed(out, start, 8);
	write_fixed(out, size, 8);
	write_fixed(out, 0, 1);
}

/* The functions of the section as "1000..1010 1010..1020 "; code is at 0x1000..0x2000 and
 * 0x3000..0x4000. */
static void assert_functions(const struct bytes *content, const char *expected)
{
	struct code_section sections[] = { { 1, 0x1000, 0x2000 }, { 2, 0x3000, 0x4000 } };
	const struct code_section_vec code = { .items = sections, .count = ARRAY_SIZE(sections) };
	struct elf_image_section eh_frame = {
		.name = ".eh_frame",
		.type = SHT_PROGBITS,
		.flags = SHF_ALLOC,
		.elf_addr = SECTION_ELF_ADDR,
		.size = content->size,
		.stored = bytes_view_of(content),
	};
	char message[SYMBOL_COMPILE_MESSAGE_SIZE] = "";
	struct elf_image image = {
		.is_64 = true, .sections = &eh_frame, .n_sections = 1, .message = message
	};
	struct bytes text = BYTES_INIT(MIB);
	struct nameless_vec functions = {};

	assert_ok(nameless_functions_read(&image, &code, &functions));
	for (size_t i = 0; i < functions.count; i++)
		assert_ok(bytes_append_format(&text, "%" PRIx64 "..%" PRIx64 " ",
					      functions.items[i].start, functions.items[i].end));
	assert_ok(bytes_append_byte(&text, 0));
	assert_string_equal((const char *)text.data, expected);
	vec_release(&functions);
	bytes_release(&text);
}

static void ranges_that_overlap_are_cut_and_those_outside_of_code_left_out(void **state)
{
	static const struct {
		struct {
			uint64_t start, size;
		} fdes[4];
		const char *functions;
	} cases[] = {
		{ { { 0x1020, 0x10 }, { 0x1000, 0x10 } }, "1000..1010 1020..1030 " },
		{ { { 0x1000, 0x40 }, { 0x1010, 0x10 } }, "1000..1010 1010..1020 " },
		{ { { 0x1000, 0x10 }, { 0x1000, 0x30 }, { 0x1000, 0x20 } }, "1000..1030 " },
		/* before, between and after the code, and across its end */
		{ { { 0xfff, 2 }, { 0x2000, 0x10 }, { 0x4000, 1 }, { 0x1ff0, 0x20 } }, "" },
		{ { { 0x1000, 0x1000 }, { 0x3000, 0x1000 } }, "1000..2000 3000..4000 " },
		{ { { 0x1ff0, UINT64_MAX }, { UINT64_MAX, 1 }, { 0x1000, UINT64_MAX - 0x1000 } },
		  "" },
		/* without code */
		{ { { 0x1000, 0 }, { 0x1010, 1 } }, "1010..1011 " },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
		size_t cie = write_cie(&content, EH_PE_ABSPTR);

		for (size_t k = 0; k < ARRAY_SIZE(cases[i].fdes); k++) {
			if (cases[i].fdes[k].start != 0)
				write_fde(&content, cie, cases[i].fdes[k].start,
					  cases[i].fdes[k].size);
		}
		assert_functions(&content, cases[i].functions);
	}
}

static void a_damaged_entry_does_not_affect_others(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	size_t cie = write_cie(&content, EH_PE_ABSPTR);
	size_t text_relative = write_cie(&content, EH_PE_ABSPTR | EH_PE_TEXTREL);

	(void)state;
	write_fde(&content, text_relative, 0x1000, 0x10);
	write_fde(&content, cie + 4, 0x1100, 0x10);           /* no CIE begins at that offset */
	write_fde(&content, content.size + 21, 0x1200, 0x10); /* beyond the section's start */
	write_fixed(&content, 3, 4);                          /* too short for an id */
	write_fixed(&content, 0, 3);
	write_fixed(&content, 0, 4); /* the end of one object file's part */
	write_fde(&content, cie, 0x1300, 0x10);
	assert_functions(&content, "1300..1310 ");
	/* No entry is read after one that ends beyond the section. */
	write_fixed(&content, 0x7fffffff, 4);
	write_fde(&content, cie, 0x1400, 0x10);
	assert_functions(&content, "1300..1310 ");
}

static void functions_of_cies_beyond_the_limit_are_left_out(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(4 * MIB);
	size_t first = write_cie(&content, EH_PE_ABSPTR);
	size_t last = first, beyond;

	(void)state;
	for (size_t i = 1; i < CIES_MAX; i++)
		last = write_cie(&content, EH_PE_ABSPTR);
	beyond = write_cie(&content, EH_PE_ABSPTR);
	write_fde(&content, first, 0x1000, 0x10);
	write_fde(&content, last, 0x1010, 0x10);
	write_fde(&content, beyond, 0x1020, 0x10);
	assert_functions(&content, "1000..1010 1010..1020 ");
}

static void a_truncated_section_gives_the_entries_before_its_end(void **state)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(MIB);
	size_t cie = write_cie(&content, EH_PE_ABSPTR);
	size_t first_end;

	(void)state;
	write_fde(&content, cie, 0x1000, 0x10);
	first_end = content.size;
	write_fde(&content, cie, 0x1010, 0x10);
	for (size_t size = content.size; size-- > 0;) {
		content.size = size;
		assert_functions(&content, size >= first_end ? "1000..1010 " : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_stripped_program_has_the_functions_of_the_unstripped_one),
		cmocka_unit_test(functions_of_debian_files_equal_those_of_readelf),
		cmocka_unit_test(ranges_that_overlap_are_cut_and_those_outside_of_code_left_out),
		cmocka_unit_test(a_damaged_entry_does_not_affect_others),
		cmocka_unit_test(functions_of_cies_beyond_the_limit_are_left_out),
		cmocka_unit_test(a_truncated_section_gives_the_entries_before_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
