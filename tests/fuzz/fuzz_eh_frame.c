/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: agent_unwind */
/*
 * The first byte selects the format and the architecture, the second one the size of the pieces;
 * the rest is the section. Lookups must stay within the table.
 */
#include <elf.h>

#include "agent/unwind/table/unwind_builder.h"

#define CODE_START 0x1000

static void look_up(const struct unwind_table *table)
{
	for (uint64_t i = 0; i < 64; i++) {
		const struct abi_unwind_rule *rule =
			unwind_table_find(table, table->base_address + i * 1021);

		assert(rule->cfa <= UNWIND_CFA_UNSUPPORTED && rule->ra <= UNWIND_SAVED_BESIDE_FP);
	}
	for (uint32_t page = 0; page < table->n_pages; page++)
		assert(table->page_first[page] < table->page_first[page + 1]);
}

static int parse_in_pieces(struct eh_frame_parser *parser, struct bytes_view content, size_t step)
{
	size_t at = 0, length = step, consumed;
	int r = 1;

	while (r == 1 && at < content.size) {
		struct bytes_view piece = { content.data + at, MIN(length, content.size - at) };

		r = eh_frame_parse(parser, piece, &consumed);
		if (r < 0)
			return r;
		at += consumed;
		if (consumed == 0 && piece.size == content.size - at)
			break;
		length = consumed == 0 ? length * 2 : step;
	}
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct load_segment code = { .vaddr = CODE_START,
						  .memory_size = 1 << 24,
						  .flags = PF_X };
	scoped(eh_frame_parser_freep) struct eh_frame_parser *parser = NULL;
	scoped(unwind_builder_freep) struct unwind_builder *builder = NULL;
	scoped(unwind_table_release) struct unwind_table table = {};
	struct eh_frame_section section = { .vaddr = 0x100000 };
	struct unwind_dialect dialect = {};
	struct unwind_table_stats stats;

	if (size < 2)
		return 0;
	dialect.machine = cfi_machine_of(data[0] & 1 ? EM_AARCH64 : EM_X86_64);
	dialect.follows_kept = data[0] & 8;
	section.is_debug_frame = data[0] & 2;
	section.is_open_ended = data[0] & 4;
	section.n_fdes_expected = section.is_open_ended ? data[0] >> 4 : 0;
	section.size = size - 2;
	if (unwind_builder_new(&dialect, &code, 1, &builder) < 0 ||
	    eh_frame_parser_new(&section, dialect.machine, unwind_builder_add_fde, builder,
				&parser) < 0 ||
	    parse_in_pieces(parser, (struct bytes_view){ data + 2, size - 2 }, 1 + data[1]) < 0)
		return 0;
	if (unwind_builder_finish(builder, &table, &stats) == 0)
		look_up(&table);
	return 0;
}
