/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rules of unwind tables: what a state of the call frame interpreter becomes, and the set of an
 * executable's distinct ones, numbered in the order of their appearance.
 */

#include "agent/unwind/cfi_program.h"
#include "bpf/abi/unwind_table.h"
#include "common/vec.h"

/* A row holds the number in 16 bits. */
#define UNWIND_MAX_RULES 65536u

/* Numbers that every set has. Where a 65537th rule would be needed, RULE_UNSUPPORTED stands in. */
#define UNWIND_RULE_NONE        0
#define UNWIND_RULE_UNSUPPORTED 1

/* How states of one executable's frames become rules. */
struct unwind_dialect {
	const struct cfi_machine *machine;
	/* The machine's kept register is followed: it is the base of a CFA of this executable. */
	bool follows_kept;
};

struct abi_unwind_rule unwind_rule_of(const struct unwind_dialect *dialect,
				      const struct cfi_state *state, uint64_t ra_column,
				      bool is_signal_frame);

/* Whether the CFA's base is the machine's kept register. */
bool unwind_rule_needs_kept(const struct unwind_dialect *dialect,
			    const struct abi_unwind_rule *rule);

VEC_DEFINE(unwind_rule_vec, struct abi_unwind_rule);

struct unwind_rule_set {
	struct unwind_rule_vec rules;
	uint16_t
		*slots; /* open addressing over @rules; 0 is empty, as rule 0 is never looked for */
	size_t n_slots; /* a power of two */
};

int unwind_rule_set_init(struct unwind_rule_set *set);
void unwind_rule_set_release(struct unwind_rule_set *set);

/* The number of @rule, adding it if new. 0 or -ENOMEM. */
int unwind_rule_set_intern(struct unwind_rule_set *set, const struct abi_unwind_rule *rule,
			   uint16_t *ret_number);
