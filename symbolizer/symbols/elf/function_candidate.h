/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Functions as the readers of symbols find them, and the ranges that function_ranges_make() makes
 * of them.
 *
 * Of several symbols at one address, one gives the name. Preferred are, in this order: symbols of
 * type function over labels, non-weak over weak ones, those with a size, fewer leading underscores,
 * alphabetical order. So every run gives the same name.
 *
 * A symbol without a size reaches to the next symbol of its section. Where functions overlap, the
 * one that starts last has the bytes. A label inside of a function is not a function. A label
 * inside of an untyped symbol with a size is one: so are the kernel's entry code and its arrays of
 * thunks (entry_SYSCALL_64_after_hwframe, __x86_indirect_thunk_rbx).
 */

#include "common/vec.h"

struct function_candidate {
	uint64_t start;
	uint64_t size;    /* 0: not known */
	uint64_t limit;   /* its range ends here at the latest: the end of its section */
	const char *name; /* points into the open file */
	bool label;       /* its type is not function */
	bool weak;
};

VEC_DEFINE(candidate_vec, struct function_candidate);

struct code_section {
	size_t index; /* of the section */
	uint64_t start;
	uint64_t end;
};

VEC_DEFINE(code_section_vec, struct code_section);

/* Returns the executable section around @elf_addr, or NULL. */
const struct code_section *code_section_at(const struct code_section_vec *code, uint64_t elf_addr);

/* The code of one function; ranges do not overlap. */
struct function_range {
	uint64_t start;
	uint64_t end;
	const char *name;
	bool label; /* no symbol at its start has the type function */
};

VEC_DEFINE(function_range_vec, struct function_range);

/*
 * Appends the ranges of @functions, sorted and without overlap. Reorders @functions. Returns 0 or
 * -ENOMEM.
 */
int function_ranges_make(struct candidate_vec *functions, struct function_range_vec *ranges);
