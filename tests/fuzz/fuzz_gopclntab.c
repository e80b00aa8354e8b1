/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_unwind */
/*
 * The first byte selects the architecture; the rest is a .gopclntab. Functions begin at 0x1000 if
 * the table does not have the address.
 */
#include "agent/unwind/go/go_frames.h"

#include <elf.h>

static void look_up(const struct unwind_table *table)
{
	for (uint64_t i = 0; i < 256; i++) {
		const struct abi_unwind_rule *rule =
			unwind_table_find(table, table->base_address + i * 977);

		if (rule < table->rules || rule >= table->rules + table->n_rules)
			assert(rule->cfa == UNWIND_CFA_NONE);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct load_segment code = { .vaddr = 0x1000,
						  .memory_size = 1u << 24,
						  .flags = PF_X };
	scoped(unwind_builder_freep) struct unwind_builder *builder = NULL;
	scoped(unwind_table_release) struct unwind_table table = {};
	struct unwind_dialect dialect = {};
	struct unwind_table_stats stats;
	struct byte_window window;

	if (size < 1)
		return 0;
	dialect.machine = cfi_machine_of(data[0] & 1 ? EM_AARCH64 : EM_X86_64);
	window = BYTE_WINDOW_OF_MEMORY(((struct bytes_view){ data + 1, size - 1 }));
	if (unwind_builder_new(&dialect, &code, 1, &builder) < 0 ||
	    go_frames_add(NULL, &window, code.vaddr, &dialect, builder) != 1)
		return 0;
	if (unwind_builder_finish(builder, &table, &stats) == 0 && table.n_rows > 0)
		look_up(&table);
	return 0;
}
