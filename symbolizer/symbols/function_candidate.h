/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the readers of symbols find, before aliases are chosen and ranges cut.
 */

#include "common/vec.h"

struct function_candidate {
	uint64_t start;
	uint64_t size;    /* 0: not known */
	uint64_t limit;   /* where it ends at the latest: its section's end */
	const char *name; /* of the open file */
	bool label;       /* not marked as a function */
	bool weak;
	bool dwarf; /* a subprogram; symbols at the same address know its name better */
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
