/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/perl/find_perl.h"

#include <elf.h>

#include "agent/interpreter/perl/file_pointer.h"
#include "agent/interpreter/perl/loop_callers.h"
#include "agent/interpreter/perl/perl_layout.h"
#include "agent/interpreter/python/loop_parts.h"
#include "common/elf/elf_symbol.h"

#define LOOP "Perl_runops_standard"

enum {
	SYMBOL_LOOP,
	SYMBOL_VERSION,     /* a byte: the minor version */
	SYMBOL_THREADS_KEY, /* with threads: the key of the thread's interpreter, */
	SYMBOL_INTERPRETER, /* and the interpreter that was made first */
	SYMBOL_STATEMENT,   /* without threads */
	SYMBOL_STACK,
	SYMBOL_INSTRUCTION,
	SYMBOL_RUN,       /* calls the loop for the main program */
	SYMBOL_EVAL,      /* the function of the instruction of eval blocks, up to 5.38 */
	SYMBOL_FUNCTIONS, /* addresses of the functions of all instructions */
	N_SYMBOLS,
};

/* 1; 0: the symbols are not there. */
static int find_variables(const struct elf_symbol *symbols, struct interpreter_facts *facts)
{
	struct abi_perl_layout *perl = &facts->perl;

	perl->threads_key = symbols[SYMBOL_THREADS_KEY].vaddr;
	facts->runtime_addr = symbols[SYMBOL_INTERPRETER].vaddr;
	if (perl->threads_key != 0)
		return facts->runtime_addr != 0;
	facts->version |= PERL_VERSION_NO_THREADS;
	perl->statement = symbols[SYMBOL_STATEMENT].vaddr;
	perl->stack = symbols[SYMBOL_STACK].vaddr;
	perl->instruction = symbols[SYMBOL_INSTRUCTION].vaddr;
	return perl->statement != 0 && perl->stack != 0 && perl->instruction != 0;
}

/* 1: *ret_piece, relative to the beginning of the loop; 0: it is not found; or a negative errno. */
static int find_caller(const struct elf_file *elf, uint64_t function,
		       const struct interpreter_facts *facts, struct abi_code_piece *ret_piece)
{
	struct abi_code_range range;
	int64_t distance;
	int r = loop_caller_find(elf, function, &range);

	if (r != 1)
		return r;
	distance = (int64_t)(range.start - facts->loop[0].start);
	if (distance < INT32_MIN || distance > INT32_MAX || range.end - range.start > INT32_MAX)
		return 0;
	*ret_piece =
		(struct abi_code_piece){ (int32_t)distance, (uint32_t)(range.end - range.start) };
	return 1;
}

/* Fills main_run and again_run. 1; 0: they are not found; or a negative errno. */
static int find_callers(const struct elf_file *elf, const struct elf_symbol *symbols,
			const struct perl_layout *layout, struct interpreter_facts *facts)
{
	const uint64_t functions = symbols[SYMBOL_FUNCTIONS].vaddr;
	uint64_t eval_block = symbols[SYMBOL_EVAL].vaddr;
	int r = find_caller(elf, symbols[SYMBOL_RUN].vaddr, facts, &facts->perl.main_run);

	if (r != 1)
		return r;
	/* An eval block may call the loop. */
	if (eval_block == 0)
		r = file_pointer_read(elf, functions + layout->eval_block * sizeof(uint64_t),
				      &eval_block);
	if (r != 1)
		return r;
	return find_caller(elf, eval_block, facts, &facts->perl.again_run);
}

int find_perl(const struct elf_file *elf, struct interpreter_facts *ret_facts)
{
	struct elf_symbol symbols[N_SYMBOLS] = {
		[SYMBOL_LOOP] = { .name = LOOP },
		[SYMBOL_VERSION] = { .name = "PL_version" },
		[SYMBOL_THREADS_KEY] = { .name = "PL_thr_key" },
		[SYMBOL_INTERPRETER] = { .name = "PL_curinterp" },
		[SYMBOL_STATEMENT] = { .name = "PL_curcop" },
		[SYMBOL_STACK] = { .name = "PL_curstackinfo" },
		[SYMBOL_INSTRUCTION] = { .name = "PL_op" },
		[SYMBOL_RUN] = { .name = "perl_run" },
		[SYMBOL_EVAL] = { .name = "Perl_pp_entertry" },
		[SYMBOL_FUNCTIONS] = { .name = "PL_ppaddr" },
	};
	struct interpreter_facts facts = { .runtime = INTERPRETER_PERL };
	const struct perl_layout *layout;
	uint8_t version = 0;
	int r = elf_symbol_is_exported(elf, LOOP);

	/* The value of pthread_self(), by which the thread is found, is known on x86-64 only. */
	if (r <= 0 || elf->machine != EM_X86_64)
		return r < 0 ? r : 0;
	r = elf_symbols_find(elf, symbols, ARRAY_SIZE(symbols));
	if (r < 0)
		return r;
	if (!elf_read_data(elf, symbols[SYMBOL_VERSION].vaddr, &version, sizeof(version)))
		return 0;
	facts.version = 5U << 8 | version;
	r = find_variables(symbols, &facts);
	layout = perl_layout_of(facts.version);
	if (r == 1 && layout) {
		r = loop_parts_of_symbol(elf, &symbols[SYMBOL_LOOP], facts.loop);
		if (r == 1)
			r = find_callers(elf, symbols, layout, &facts);
	}
	if (r == 1)
		*ret_facts = facts;
	return r;
}
