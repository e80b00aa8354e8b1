/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the readers of symbols find, before aliases are chosen and ranges cut.
 *
 * Where several symbols start at one address, the function is called by the one that is a function
 * (not a bare label), not weak, has a size, has the fewest leading underscores, and comes first in
 * the alphabet: the same on every run. A symbol without a size reaches to the next symbol of its
 * section. A function inside another one's range wins there. Bare labels inside a function are not
 * functions; inside what has a size and is no function they are: the kernel's entry code and its
 * arrays of thunks (entry_SYSCALL_64_after_hwframe, __x86_indirect_thunk_rbx).
 */

#include "common/vec.h"

struct function_candidate {
	uint64_t start;
	uint64_t size;    /* 0: not known */
	uint64_t limit;   /* where it ends at the latest: its section's end */
	const char *name; /* of the open file */
	bool label;       /* not marked as a function */
	bool weak;
};

VEC_DEFINE(candidate_vec, struct function_candidate);

struct code_section {
	size_t index; /* of the section */
	uint64_t start;
	uint64_t end;
};

VEC_DEFINE(code_section_vec, struct code_section);

/* The executable section around @elf_addr, or NULL. */
const struct code_section *code_section_at(const struct code_section_vec *code, uint64_t elf_addr);

/* A range of the finished table. */
struct function_range {
	uint64_t start;
	uint64_t end;
	const char *name;
	bool label; /* no symbol of it is marked as a function */
};

VEC_DEFINE(function_range_vec, struct function_range);

/* Sorts @functions, and appends the ranges that they leave, rising and apart. 0 or -ENOMEM. */
int function_ranges_make(struct candidate_vec *functions, struct function_range_vec *ranges);
