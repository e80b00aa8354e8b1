/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/hotspot/find_hotspot.h"

#include "agent/interpreter/hotspot/hotspot_layout.h"
#include "common/elf/elf_symbol.h"

int find_hotspot(const struct elf_file *elf, struct interpreter_facts *ret_facts)
{
	struct elf_symbol symbols[] = {
#define X(id, symbol) { .name = symbol },
		HOTSPOT_SYMBOLS(X)
#undef X
	};
	struct interpreter_facts facts = { .runtime = INTERPRETER_HOTSPOT };
	int r;

	static_assert(ARRAY_SIZE(symbols) == ARRAY_SIZE(facts.symbols), "one for each symbol");
	if (elf_symbol_is_exported(elf, symbols[HOTSPOT_SYMBOL_STRUCTS].name) <= 0 ||
	    elf_symbol_is_exported(elf, symbols[HOTSPOT_SYMBOL_TYPES].name) <= 0)
		return 0;
	r = elf_symbols_find(elf, symbols, ARRAY_SIZE(symbols));
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		if (symbols[i].vaddr == 0 || symbols[i].vaddr > UINT32_MAX)
			return 0;
		facts.symbols[i] = (uint32_t)symbols[i].vaddr;
	}
	*ret_facts = facts;
	return 1;
}
