/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The rules of an unwind table: converts a state of the call frame interpreter to a rule, and keeps
 * the set of an executable's distinct rules, numbered in the order in which they are added.
 */

#include "agent/unwind/cfi/cfi_program.h"
#include "bpf/abi/unwind_table.h"
#include "common/vec.h"

/* A row holds the number of its rule in 16 bits. */
#define UNWIND_MAX_RULES 65536u

/* Rules that every set has. UNWIND_RULE_UNSUPPORTED is also used when the set is full. */
#define UNWIND_RULE_NONE        0
#define UNWIND_RULE_UNSUPPORTED 1

/* How the states of one executable are converted to rules. */
struct unwind_dialect {
	const struct cfi_machine *machine;
	/*
	 * The machine's kept register is followed, because a CFA of this executable is computed
	 * from it.
	 */
	bool follows_kept;
};

struct abi_unwind_rule unwind_rule_of(const struct unwind_dialect *dialect,
				      const struct cfi_state *state, uint64_t ra_column,
				      bool is_signal_frame);

/* Whether the CFA is computed from the machine's kept register. */
bool unwind_rule_needs_kept(const struct unwind_dialect *dialect,
			    const struct abi_unwind_rule *rule);

VEC_DEFINE(unwind_rule_vec, struct abi_unwind_rule);

struct unwind_rule_set {
	struct unwind_rule_vec rules;
	uint16_t
		/*
		 * open addressing: numbers of rules; 0: free, because rule 0 is never searched for
		 */
		*slots;
	size_t n_slots; /* a power of two */
};

int unwind_rule_set_init(struct unwind_rule_set *set);
void unwind_rule_set_release(struct unwind_rule_set *set);

/* The number of @rule, which is added if it is new. 0 or -ENOMEM. */
int unwind_rule_set_intern(struct unwind_rule_set *set, const struct abi_unwind_rule *rule,
			   uint16_t *ret_number);
