/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/v8/find_v8.h"

#include "agent/interpreter/v8/v8_layout.h"
#include "common/elf/elf_symbol.h"

/* v8::internal::Version::major_ and minor_, of type int. */
#define MAJOR "_ZN2v88internal7Version6major_E"
#define MINOR "_ZN2v88internal7Version6minor_E"

#define ENTRY "Builtins_InterpreterEntryTrampoline"

int find_v8(const struct elf_file *elf, struct interpreter_facts *ret_facts)
{
	struct elf_symbol version[] = { { .name = MAJOR }, { .name = MINOR } };
	struct elf_symbol entry = { .name = ENTRY };
	struct interpreter_facts facts = { .runtime = INTERPRETER_V8 };
	uint32_t major, minor;
	int r;

	if (elf_symbol_is_exported(elf, MAJOR) <= 0)
		return 0;
	r = elf_symbols_find(elf, version, ARRAY_SIZE(version));
	if (r < 0)
		return r;
	if (!elf_read_data(elf, version[0].vaddr, &major, sizeof(major)) ||
	    !elf_read_data(elf, version[1].vaddr, &minor, sizeof(minor)) || major > 0xff ||
	    minor > 0xff)
		return 0;
	facts.version = major << 8 | minor;
	if (!v8_layout_of(facts.version))
		return 0;
	/* Only .symtab has it, which may have been removed, or be too large. */
	if (elf_symbols_find(elf, &entry, 1) == 0 && entry.size <= UINT64_MAX - entry.vaddr)
		facts.loop[0] = (struct abi_code_range){ .start = entry.vaddr,
							 .end = entry.vaddr + entry.size };
	*ret_facts = facts;
	return 1;
}
