/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/v8/find_v8.h"

#include <elf.h>
#include <string.h>

#include "agent/interpreter/v8/v8_layout.h"
#include "common/elf/elf_symbol.h"

/* v8::internal::Version::major_ and minor_, of type int. */
#define MAJOR "_ZN2v88internal7Version6major_E"
#define MINOR "_ZN2v88internal7Version6minor_E"

#define ENTRY         "Builtins_InterpreterEntryTrampoline"
#define BUILTINS      "v8_Default_embedded_blob_code_"
#define BUILTINS_10   "v8_Default_embedded_blob_code_data_" /* up to V8 10 */
#define BUILTINS_SIZE "v8_Default_embedded_blob_code_size_"

#define GROUP         "_ZN2v88internal12IsolateGroup22default_isolate_group_E"
#define TABLE_ADDRESS "_ZN2v88internal17ExternalReference25js_dispatch_table_addressEv"

/* Of an instruction that loads a word. */
#define LOAD_BYTES 7

/* Only .symtab has these symbols, which may have been removed, or be too large. */
static void find_builtins(const struct elf_file *elf, struct interpreter_facts *facts)
{
	struct elf_symbol symbols[] = {
		{ .name = ENTRY },
		{ .name = facts->version < 11 << 8 ? BUILTINS_10 : BUILTINS },
		{ .name = BUILTINS_SIZE },
	};
	uint32_t size;

	if (elf_symbols_find(elf, symbols, ARRAY_SIZE(symbols)) < 0)
		return;
	if (symbols[0].size <= UINT64_MAX - symbols[0].vaddr)
		facts->loop[0] = (struct abi_code_range){ symbols[0].vaddr,
							  symbols[0].vaddr + symbols[0].size };
	if (symbols[1].vaddr != 0 && symbols[1].vaddr <= UINT64_MAX - UINT32_MAX &&
	    elf_read_data(elf, symbols[2].vaddr, &size, sizeof(size)))
		facts->loop[1] =
			(struct abi_code_range){ symbols[1].vaddr, symbols[1].vaddr + size };
}

/*
 * From V8 13 on, a function has the index of an entry of a table that the process has once. The
 * address of the table is in a group of isolates, whose layout depends on the build. It is in the
 * instructions of a function that reads it:
 *
 *   48 8b 05 ...   mov disp32(%rip), %rax   the address of the group
 *   48 8b 80 ...   mov disp32(%rax), %rax   that of the table
 *
 * Without the symbols, or in code for other CPUs or addresses, the table is not found.
 */
static void find_dispatch_table(const struct elf_file *elf, struct interpreter_facts *facts)
{
	struct elf_symbol symbols[] = { { .name = GROUP }, { .name = TABLE_ADDRESS } };
	uint8_t code[LOAD_BYTES * 2];
	int32_t group, table;

	if (elf->type != ET_EXEC || elf->machine != EM_X86_64 ||
	    elf_symbols_find(elf, symbols, ARRAY_SIZE(symbols)) < 0 || symbols[0].vaddr == 0 ||
	    symbols[1].vaddr == 0 || !elf_read_data(elf, symbols[1].vaddr, code, sizeof(code)))
		return;
	memcpy(&group, code + LOAD_BYTES - sizeof(group), sizeof(group));
	memcpy(&table, code + 2 * LOAD_BYTES - sizeof(table), sizeof(table));
	if (memcmp(code, (const uint8_t[]){ 0x48, 0x8b, 0x05 }, 3) != 0 ||
	    memcmp(code + LOAD_BYTES, (const uint8_t[]){ 0x48, 0x8b, 0x80 }, 3) != 0 ||
	    symbols[1].vaddr + LOAD_BYTES + (uint64_t)(int64_t)group != symbols[0].vaddr ||
	    table <= 0)
		return;
	facts->runtime_addr = symbols[0].vaddr;
	facts->dispatch_table = (uint32_t)table;
}

int find_v8(const struct elf_file *elf, struct interpreter_facts *ret_facts)
{
	struct elf_symbol version[] = { { .name = MAJOR }, { .name = MINOR } };
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
	find_builtins(elf, &facts);
	if (facts.version >= V8_FIRST_WITH_HANDLES)
		find_dispatch_table(elf, &facts);
	*ret_facts = facts;
	return 1;
}
