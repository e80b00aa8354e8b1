/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbols_compile */
#include <elf.h>

#include "symbolizer/symbols/compile/go_table.h"
#include "symbolizer/symbols/symbol_limits.h"
#include "tests/fuzz/allocation_failure.h"

#define TEXT_ADDRESS   0x401000
#define TABLE_ADDRESS  0x500000
#define MODULE_ADDRESS 0x600000

/* Pointers of moduledata: to the table, to the code, and to the inline trees for both versions. */
static void fill_module(uint64_t module[64])
{
	module[0] = TABLE_ADDRESS;
	module[176 / 8] = TEXT_ADDRESS;
	module[304 / 8] = TABLE_ADDRESS;
	module[320 / 8] = TABLE_ADDRESS;
}

/* The input is the .gopclntab of a program; its inline trees are in the same bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t module[64] = {};
	struct elf_image_section sections[] = {
		{ .name = ".text",
		  .type = SHT_PROGBITS,
		  .flags = SHF_ALLOC | SHF_EXECINSTR,
		  .elf_addr = TEXT_ADDRESS,
		  .size = 0x10000 },
		{ .name = ".gopclntab",
		  .type = SHT_PROGBITS,
		  .flags = SHF_ALLOC,
		  .elf_addr = TABLE_ADDRESS,
		  .size = size,
		  .stored = { data, size } },
		{ .name = ".noptrdata",
		  .type = SHT_PROGBITS,
		  .flags = SHF_ALLOC | SHF_WRITE,
		  .elf_addr = MODULE_ADDRESS,
		  .size = sizeof(module),
		  .stored = { (const uint8_t *)module, sizeof(module) } },
	};
	struct elf_image image = {
		.is_64 = true,
		.machine = EM_X86_64,
		.sections = sections,
		.n_sections = ARRAY_SIZE(sections),
	};
	struct code_section code[] = { { .start = TEXT_ADDRESS, .end = TEXT_ADDRESS + 0x10000 } };
	const struct code_section_vec code_sections = { .items = code, .count = 1, .capacity = 1 };
	const struct function_range_vec no_symbols = {};
	const struct builder_output output = {};
	struct bytes flat = BYTES_INIT(256 * MIB);
	struct table_builder builder;

	fill_module(module);
	if (table_builder_init(&builder, TEXT_ADDRESS, &no_symbols) == 0 &&
	    go_table_read(&image, &code_sections, &builder) >= 0) {
		scoped(symbol_file_freep) struct symbol_file *file = NULL;
		int r = table_builder_finish(&builder, &output, &flat);

		assert(r == 0 || allocation_failed());
		if (r == 0)
			r = symbol_file_open_memory(bytes_view_of(&flat), &file);
		assert(r == 0 || allocation_failed());
	}
	table_builder_release(&builder);
	bytes_release(&flat);
	return 0;
}
