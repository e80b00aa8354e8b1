/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table is a run of relative relocations of adjacent words. Each relocation is a vote for the
 * function that contains its address, if it is not the first address of the function: tables of
 * pointers to functions get no votes. (psABI 4.4: Elf64_Rela)
 */
#include "agent/interpreter/ruby/loop_table.h"

#include <elf.h>
#include <string.h>

#include "agent/interpreter/python/cfi_functions.h"
#include "agent/unwind/file/elf_code.h"

/* 3.3 has 110 KiB. */
#define MAX_RELOCATION_BYTES (4 * MIB)

/* 202 to 206 in 2.7 to 3.4. The loop of the regular expressions has 98. */
#define LEAST_LABELS 150

/* Labels of one function in one table. */
struct run {
	uint64_t next_offset; /* of the relocation that would continue it */
	size_t function;      /* most labels are in one function, and the first one too */
	size_t n_labels;
};

struct search {
	const struct elf_file *elf;
	const struct cfi_functions *functions;
	struct run run;
	size_t best_function, best_labels;
};

static void take_relocation(struct search *search, const Elf64_Rela *relocation)
{
	struct run *run = &search->run;
	const uint64_t target = (uint64_t)relocation->r_addend;
	size_t function = cfi_functions_find(search->functions, target);

	if (relocation->r_offset != run->next_offset)
		*run = (struct run){ .function = search->functions->count };
	run->next_offset = relocation->r_offset + sizeof(uint64_t);
	if (function == search->functions->count ||
	    cfi_functions_start(search->functions, function) == target ||
	    !elf_segment_at(search->elf, target, PF_X))
		return;
	/* A few labels are in the second part of the function. */
	if (run->n_labels == 0)
		run->function = function;
	if (run->function == function)
		run->n_labels++;
	else
		run->n_labels--;
	if (run->n_labels > search->best_labels) {
		search->best_labels = run->n_labels;
		search->best_function = run->function;
	}
}

int loop_table_find(const struct elf_file *elf, struct abi_code_range *ret_loop)
{
	const struct elf_section *section = elf_file_section(elf, ".rela.dyn");
	scoped(cfi_functions_release) struct cfi_functions functions = {};
	scoped(bytes_release) struct bytes relocations = BYTES_INIT(MAX_RELOCATION_BYTES);
	struct search search = { .elf = elf, .functions = &functions };
	Elf64_Rela relocation;
	int r;

	if (!section || section->size > MAX_RELOCATION_BYTES)
		return 0;
	r = cfi_functions_read(elf, &functions);
	if (r <= 0)
		return r;
	r = elf_file_read_section(elf, section, &relocations);
	if (r < 0)
		return r;
	for (size_t at = 0; relocations.size - at >= sizeof(relocation); at += sizeof(relocation)) {
		memcpy(&relocation, relocations.data + at, sizeof(relocation));
		if (relocation.r_info == ELF64_R_INFO(0, R_X86_64_RELATIVE))
			take_relocation(&search, &relocation);
	}
	if (search.best_labels < LEAST_LABELS)
		return 0;
	return cfi_functions_range(&functions, search.best_function, ret_loop);
}
