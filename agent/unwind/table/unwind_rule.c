/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule is exact or unsupported. A state that would need rounding, guessing or another register
 * becomes UNWIND_CFA_UNSUPPORTED. If only the frame pointer cannot be found, it becomes
 * UNWIND_SAVED_UNDEFINED.
 */
#include "agent/unwind/table/unwind_rule.h"

#include <elf.h>

/*
 * In glibc's __restore_rt, rsp points to the ucontext, which has the interrupted rsp and rip at
 * these offsets.
 */
#define RESTORE_RT_RSP_OFFSET 160
#define RESTORE_RT_RIP_OFFSET 168

static bool is_at_register(const struct cfi_rule *rule, uint8_t reg, int64_t value)
{
	return rule->where == CFI_AT_REGISTER && rule->base == reg && rule->value == value;
}

static bool is_restore_rt(const struct cfi_machine *machine, const struct cfi_state *state)
{
	const struct cfa_shape *shape = &state->cfa_shape;

	return machine->elf_machine == EM_X86_64 && state->cfa_is_shape &&
	       shape->kind == CFA_SHAPE_DEREF && shape->reg == machine->sp &&
	       shape->offset == RESTORE_RT_RSP_OFFSET && shape->addend == 0 &&
	       is_at_register(&state->ra, machine->sp, RESTORE_RT_RIP_OFFSET);
}

/* The stack pointer has no rule other than to be the CFA. */
static bool sp_is_cfa(const struct cfi_state *state)
{
	return state->sp.where <= CFI_SAME ||
	       (state->sp.where == CFI_IS_CFA && state->sp.value == 0);
}

/*
 * The augmentation "S" marks a frame that the kernel made. On x86-64 some hand-written code has it
 * too, with a plain CFA; a frame of the kernel has the interrupted stack pointer in memory. On
 * arm64 the kernel's vDSO describes its frame record, which has the link register instead of the
 * interrupted pc.
 */
static bool is_kernel_signal_frame(const struct cfi_machine *machine, const struct cfi_state *state,
				   bool is_signal_frame)
{
	if (is_restore_rt(machine, state))
		return true;
	if (!is_signal_frame)
		return false;
	return machine->elf_machine == EM_AARCH64 || state->cfa_is_shape || !sp_is_cfa(state);
}

static bool fits(int64_t value)
{
	return value == (int32_t)value;
}

static bool set_cfa_by_register(const struct cfi_machine *machine, uint64_t reg, int64_t offset,
				struct abi_unwind_rule *rule)
{
	if (!fits(offset) || reg > UINT8_MAX)
		return false;
	rule->cfa_offset = (int32_t)offset;
	rule->cfa = UNWIND_CFA_REGISTER;
	if (reg == machine->sp)
		rule->cfa = UNWIND_CFA_SP;
	else if (reg == machine->fp)
		rule->cfa = UNWIND_CFA_FP;
	else
		rule->cfa_register = (uint8_t)reg;
	return true;
}

static bool set_cfa_by_deref(const struct cfi_machine *machine, const struct cfa_shape *shape,
			     struct abi_unwind_rule *rule)
{
	if ((shape->reg != machine->sp && shape->reg != machine->fp) ||
	    shape->addend != (int8_t)shape->addend)
		return false;
	rule->cfa = shape->reg == machine->sp ? UNWIND_CFA_DEREF_SP : UNWIND_CFA_DEREF_FP;
	rule->cfa_offset = shape->offset;
	rule->cfa_addend = (int8_t)shape->addend;
	return true;
}

static bool set_cfa(const struct cfi_machine *machine, const struct cfi_state *state,
		    struct abi_unwind_rule *rule)
{
	const struct cfa_shape *shape = &state->cfa_shape;

	if (!state->has_cfa)
		return false;
	if (!state->cfa_is_shape)
		return set_cfa_by_register(machine, state->cfa_register, state->cfa_offset, rule);
	switch (shape->kind) {
	case CFA_SHAPE_REGISTER:
		return set_cfa_by_register(machine, shape->reg, shape->offset, rule);
	case CFA_SHAPE_DEREF:
		return set_cfa_by_deref(machine, shape, rule);
	case CFA_SHAPE_PLT:
		rule->cfa = UNWIND_CFA_PLT;
		rule->cfa_offset = shape->offset;
		return machine->elf_machine == EM_X86_64;
	case CFA_SHAPE_INDEXED:
		rule->cfa = UNWIND_CFA_DEREF_INDEXED;
		rule->cfa_offset = shape->offset;
		rule->cfa_register = shape->reg;
		return machine->elf_machine == EM_X86_64;
	default:
		return false;
	}
}

struct saved {
	uint8_t where; /* enum unwind_saved */
	int32_t offset;
};

/*
 * If the CFA is computed from the register, an offset from the register is an offset from the CFA
 * as well.
 */
static bool saved_at_register(const struct cfi_machine *machine, const struct cfi_rule *rule,
			      const struct abi_unwind_rule *cfa, struct saved *ret_saved)
{
	int64_t from_cfa = rule->value - cfa->cfa_offset;
	bool is_fp = rule->base == machine->fp;
	bool is_sp = rule->base == machine->sp;

	if (((is_fp && cfa->cfa == UNWIND_CFA_FP) || (is_sp && cfa->cfa == UNWIND_CFA_SP)) &&
	    fits(from_cfa)) {
		*ret_saved = (struct saved){ UNWIND_SAVED_CFA, (int32_t)from_cfa };
		return true;
	}
	*ret_saved = (struct saved){ UNWIND_SAVED_FP_DEREF, (int32_t)rule->value };
	return is_fp && fits(rule->value);
}

/* False: the value is at an address that a row cannot express. @cfa: the rule with its CFA set. */
static bool saved_by(const struct cfi_machine *machine, const struct cfi_rule *rule,
		     const struct abi_unwind_rule *cfa, struct saved *ret_saved)
{
	switch (rule->where) {
	case CFI_UNSPECIFIED:
	case CFI_SAME:
		*ret_saved = (struct saved){ UNWIND_SAVED_SAME, 0 };
		return true;
	case CFI_UNDEFINED:
		*ret_saved = (struct saved){ UNWIND_SAVED_UNDEFINED, 0 };
		return true;
	case CFI_AT_CFA:
		*ret_saved = (struct saved){ UNWIND_SAVED_CFA, (int32_t)rule->value };
		return fits(rule->value);
	case CFI_IN_REGISTER:
		*ret_saved = (struct saved){ UNWIND_SAVED_REGISTER, (int32_t)rule->value };
		return rule->value >= 0 && rule->value <= UINT8_MAX;
	case CFI_AT_REGISTER:
		return saved_at_register(machine, rule, cfa, ret_saved);
	default:
		return false;
	}
}

/*
 * x86-64 has no register for the return address. If the CIE has an unusual return address column,
 * that register holds it.
 */
static struct cfi_rule return_address_rule(const struct cfi_machine *machine,
					   const struct cfi_state *state, uint64_t ra_column)
{
	struct cfi_rule rule = state->ra;

	if (rule.where != CFI_UNSPECIFIED && rule.where != CFI_SAME)
		return rule;
	if (ra_column != machine->ra)
		return (struct cfi_rule){ .where = CFI_IN_REGISTER,
					  .value = (int64_t)MIN(ra_column, 1000u) };
	if (machine->elf_machine == EM_X86_64)
		return (struct cfi_rule){ .where = CFI_EXPRESSION };
	return rule;
}

static bool set_return_address(struct saved ra, struct saved fp, struct abi_unwind_rule *rule)
{
	rule->ra = ra.where;
	rule->ra_offset = (int16_t)ra.offset;
	if (rule->ra_offset == ra.offset)
		return true;
	if (ra.where != UNWIND_SAVED_CFA)
		return false;
	rule->ra = UNWIND_SAVED_BESIDE_FP;
	rule->ra_offset = 0;
	if (fp.where == UNWIND_SAVED_CFA)
		return (int64_t)ra.offset == (int64_t)fp.offset + 8;
	/*
	 * If the frame pointer is not saved, its offset in the rule is free for the return address.
	 */
	rule->fp_offset = (int32_t)((int64_t)ra.offset - 8);
	return (fp.where == UNWIND_SAVED_SAME || fp.where == UNWIND_SAVED_UNDEFINED) &&
	       fits((int64_t)ra.offset - 8);
}

static int16_t kept_offset(const struct unwind_dialect *dialect, const struct cfi_state *state)
{
	const struct cfi_rule *kept = &state->kept;

	if (!dialect->follows_kept)
		return UNWIND_RBX_LOST;
	if (kept->where == CFI_UNSPECIFIED || kept->where == CFI_SAME)
		return 0;
	if (kept->where != CFI_AT_CFA || kept->value != (int16_t)kept->value || kept->value == 0)
		return UNWIND_RBX_LOST;
	return (int16_t)kept->value;
}

struct abi_unwind_rule unwind_rule_of(const struct unwind_dialect *dialect,
				      const struct cfi_state *state, uint64_t ra_column,
				      bool is_signal_frame)
{
	static const struct abi_unwind_rule unsupported = { .cfa = UNWIND_CFA_UNSUPPORTED };
	const struct cfi_machine *machine = dialect->machine;
	struct cfi_rule ra_rule = return_address_rule(machine, state, ra_column);
	struct abi_unwind_rule rule = {};
	struct saved fp, ra;

	if (is_kernel_signal_frame(machine, state, is_signal_frame))
		return (struct abi_unwind_rule){ .cfa = UNWIND_CFA_SIGNAL };
	if (ra_rule.where == CFI_UNDEFINED)
		return (struct abi_unwind_rule){ .cfa = UNWIND_CFA_END };
	if (!sp_is_cfa(state) || !set_cfa(machine, state, &rule) ||
	    !saved_by(machine, &ra_rule, &rule, &ra))
		return unsupported;
	if (!saved_by(machine, &state->fp, &rule, &fp))
		fp = (struct saved){ UNWIND_SAVED_UNDEFINED, 0 };
	rule.fp = fp.where;
	rule.fp_offset = fp.offset;
	rule.rbx_offset = kept_offset(dialect, state);
	return set_return_address(ra, fp, &rule) ? rule : unsupported;
}

bool unwind_rule_needs_kept(const struct unwind_dialect *dialect,
			    const struct abi_unwind_rule *rule)
{
	return rule->cfa == UNWIND_CFA_REGISTER && rule->cfa_register == dialect->machine->kept;
}

/* ---- the set of rules ------------------------------------------------------------------------ */

/*
 * With at most a quarter of the slots taken, the longest run of taken slots is shorter than twenty.
 * A file that is made to have longer runs gets equal rules with several numbers, and does not slow
 * down the agent.
 */
#define FIRST_SLOTS 1024
#define MAX_PROBES  64

int unwind_rule_set_init(struct unwind_rule_set *set)
{
	static const struct abi_unwind_rule first[] = {
		[UNWIND_RULE_NONE] = { .cfa = UNWIND_CFA_NONE },
		[UNWIND_RULE_UNSUPPORTED] = { .cfa = UNWIND_CFA_UNSUPPORTED },
	};
	int r;

	*set = (struct unwind_rule_set){ .n_slots = FIRST_SLOTS };
	r = vec_reserve(&set->rules, ARRAY_SIZE(first));
	if (r < 0)
		return r;
	set->slots = calloc(set->n_slots, sizeof(*set->slots));
	if (!set->slots) {
		vec_release(&set->rules);
		return -ENOMEM;
	}
	memcpy(set->rules.items, first, sizeof(first));
	set->rules.count = ARRAY_SIZE(first);
	return 0;
}

void unwind_rule_set_release(struct unwind_rule_set *set)
{
	vec_release(&set->rules);
	free(set->slots);
	set->slots = NULL;
}

static size_t slot_of(const struct unwind_rule_set *set, const struct abi_unwind_rule *rule)
{
	uint64_t halves[2];
	uint64_t hash;

	static_assert(sizeof(halves) == sizeof(*rule), "the whole rule is hashed");
	memcpy(halves, rule, sizeof(halves));
	hash = (halves[0] ^ (halves[1] * UINT64_C(0x9e3779b97f4a7c15))) *
	       UINT64_C(0xff51afd7ed558ccd);
	hash ^= hash >> 32;
	return (size_t)(hash * UINT64_C(0xc4ceb9fe1a85ec53) >> 40) & (set->n_slots - 1);
}

/* The slot that holds @rule, or a free one; NULL: there is neither within MAX_PROBES. */
static uint16_t *find_slot(const struct unwind_rule_set *set, const struct abi_unwind_rule *rule)
{
	size_t slot = slot_of(set, rule);

	for (size_t i = 0; i < MAX_PROBES; i++) {
		uint16_t *entry = &set->slots[(slot + i) & (set->n_slots - 1)];

		if (*entry == 0 || memcmp(&set->rules.items[*entry], rule, sizeof(*rule)) == 0)
			return entry;
	}
	return NULL;
}

static int grow(struct unwind_rule_set *set)
{
	uint16_t *slots = calloc(set->n_slots * 4, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(set->slots);
	set->slots = slots;
	set->n_slots *= 4;
	for (size_t i = UNWIND_RULE_UNSUPPORTED + 1; i < set->rules.count; i++) {
		uint16_t *slot = find_slot(set, &set->rules.items[i]);

		if (slot)
			*slot = (uint16_t)i;
	}
	return 0;
}

int unwind_rule_set_intern(struct unwind_rule_set *set, const struct abi_unwind_rule *rule,
			   uint16_t *ret_number)
{
	uint16_t *slot;
	int r;

	if (rule->cfa == UNWIND_CFA_UNSUPPORTED || rule->cfa == UNWIND_CFA_NONE) {
		*ret_number =
			rule->cfa == UNWIND_CFA_NONE ? UNWIND_RULE_NONE : UNWIND_RULE_UNSUPPORTED;
		return 0;
	}
	slot = find_slot(set, rule);
	if (slot && *slot != 0) {
		*ret_number = *slot;
		return 0;
	}
	if (set->rules.count == UNWIND_MAX_RULES) {
		*ret_number = UNWIND_RULE_UNSUPPORTED;
		return 0;
	}
	if (set->rules.count * 4 >= set->n_slots) {
		r = grow(set);
		if (r < 0)
			return r;
		slot = find_slot(set, rule);
	}
	*ret_number = (uint16_t)set->rules.count;
	r = vec_push(&set->rules, *rule);
	if (r < 0)
		return r;
	if (slot)
		*slot = *ret_number;
	return 0;
}
