/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/ruby/find_ruby.h"

#include <elf.h>

#include "agent/interpreter/python/loop_parts.h"
#include "agent/interpreter/ruby/loop_table.h"
#include "agent/interpreter/ruby/ruby_layout.h"
#include "agent/interpreter/ruby/thread_variable.h"
#include "common/elf/elf_symbol.h"

/* int[3], since 1.9 */
#define VERSION "ruby_api_version"

enum {
	SYMBOL_VERSION,
	SYMBOL_LOOP,   /* not exported */
	SYMBOL_THREAD, /* returns a field of the thread's ec */
	SYMBOL_EC,     /* up to 2.7 */
	SYMBOL_VM,
	N_SYMBOLS,
};

/* major << 8 | minor; 0: it cannot be read. */
static uint32_t version_of(const struct elf_file *elf, uint64_t vaddr)
{
	uint32_t numbers[2];

	if (!elf_read_data(elf, vaddr, numbers, sizeof(numbers)) || numbers[0] > 0xff ||
	    numbers[1] > 0xff)
		return 0;
	return numbers[0] << 8 | numbers[1];
}

/* 1; 0: it is not found; or a negative errno. */
static int find_loop(const struct elf_file *elf, const struct elf_symbol *symbol,
		     struct interpreter_facts *facts)
{
	int r = loop_parts_of_symbol(elf, symbol, facts->loop);

	if (r != 0)
		return r;
	r = loop_table_find(elf, &facts->loop[0]);
	if (r != 1)
		return r;
	r = loop_parts_find(elf, &facts->loop[0], &facts->loop[1]);
	return r < 0 ? r : 1;
}

/* 1; 0: it is not found; or a negative errno. */
static int find_ec(const struct elf_file *elf, const struct elf_symbol *symbols,
		   const struct ruby_layout *layout, struct interpreter_facts *facts)
{
	if (layout->walk.vm_threads == 0)
		return thread_variable_find(elf, &symbols[SYMBOL_THREAD], &facts->runtime_addr,
					    &facts->tls_offset);
	facts->runtime_addr = symbols[SYMBOL_EC].vaddr;
	facts->vm_addr = symbols[SYMBOL_VM].vaddr;
	return facts->runtime_addr != 0 && facts->vm_addr != 0;
}

int find_ruby(const struct elf_file *elf, struct interpreter_facts *ret_facts)
{
	struct elf_symbol symbols[N_SYMBOLS] = {
		[SYMBOL_VERSION] = { .name = VERSION },
		[SYMBOL_LOOP] = { .name = "vm_exec_core" },
		[SYMBOL_THREAD] = { .name = "rb_thread_current" },
		[SYMBOL_EC] = { .name = "ruby_current_execution_context_ptr" },
		[SYMBOL_VM] = { .name = "ruby_current_vm_ptr" },
	};
	struct interpreter_facts facts = { .runtime = INTERPRETER_RUBY };
	const struct ruby_layout *layout;
	int r = elf_symbol_is_exported(elf, VERSION);

	/* The value of pthread_self(), by which the thread is found, is known on x86-64 only. */
	if (r <= 0 || elf->machine != EM_X86_64)
		return r < 0 ? r : 0;
	r = elf_symbols_find(elf, symbols, ARRAY_SIZE(symbols));
	if (r < 0)
		return r;
	facts.version = version_of(elf, symbols[SYMBOL_VERSION].vaddr);
	layout = ruby_layout_of(facts.version);
	if (layout)
		r = find_loop(elf, &symbols[SYMBOL_LOOP], &facts);
	else
		r = 1;
	if (r == 1 && layout)
		r = find_ec(elf, symbols, layout, &facts);
	if (r == 1)
		*ret_facts = facts;
	return r;
}
