/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of readelf is parsed for the CFA, whose register has to be known, and printed from the
 * rule for saved registers.
 */
#include "tests/unwind_check/match.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const x86_names[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi",
					 "rbp", "rsp", "r8",  "r9",  "r10", "r11",
					 "r12", "r13", "r14", "r15", "rip" };

/* The DWARF number of a register; -1: unknown. */
static long register_of(const struct cfi_machine *machine, const char *name, size_t length)
{
	long number;
	char *end;

	if (machine->elf_machine == EM_X86_64) {
		for (size_t i = 0; i < ARRAY_SIZE(x86_names); i++)
			if (strlen(x86_names[i]) == length &&
			    memcmp(x86_names[i], name, length) == 0)
				return (long)i;
		return -1;
	}
	if (length == 2 && memcmp(name, "sp", 2) == 0)
		return 31;
	if (length < 2 || name[0] != 'x')
		return -1;
	number = strtol(name + 1, &end, 10);
	return end == name + length ? number : -1;
}

/* "rsp+16" */
static bool parse_place(const struct cfi_machine *machine, const char *text, long *ret_register,
			long *ret_offset)
{
	size_t name = strcspn(text, "+-");

	*ret_register = register_of(machine, text, name);
	*ret_offset = strtol(text + name, NULL, 10);
	return *ret_register >= 0 && text[name] != '\0';
}

/* ---- one row --------------------------------------------------------------------------------- */

static long register_of_cfa(const struct cfi_machine *machine, const struct abi_unwind_rule *rule)
{
	switch (rule->cfa) {
	case UNWIND_CFA_SP:
		return machine->sp;
	case UNWIND_CFA_FP:
		return machine->fp;
	case UNWIND_CFA_REGISTER:
		return rule->cfa_register;
	default:
		return -1;
	}
}

static enum match match_cfa(const struct cfi_machine *machine, const char *expected,
			    const struct abi_unwind_rule *rule)
{
	long reg, offset;

	if (strcmp(expected, "exp") == 0)
		return rule->cfa == UNWIND_CFA_UNSUPPORTED ? MATCH_NOT_EXPRESSIBLE
		       : rule->cfa == UNWIND_CFA_NONE      ? MATCH_NOT
							   : MATCH_EXPRESSION;
	if (!parse_place(machine, expected, &reg, &offset))
		return MATCH_NOT;
	return reg == register_of_cfa(machine, rule) && offset == rule->cfa_offset ? MATCH_EQUAL
										   : MATCH_NOT;
}

static enum match match_saved(const char *expected, uint8_t where, int32_t value)
{
	char text[READELF_TOKEN_BYTES];

	switch (where) {
	case UNWIND_SAVED_SAME:
		return *expected == '\0' || strcmp(expected, "u") == 0 || strcmp(expected, "s") == 0
			       ? MATCH_EQUAL
			       : MATCH_NOT;
	case UNWIND_SAVED_CFA:
		if (strcmp(expected, "exp") == 0)
			return MATCH_EXPRESSION;
		(void)snprintf(text, sizeof(text), "c%+d", value);
		return strcmp(expected, text) == 0 ? MATCH_EQUAL : MATCH_NOT;
	case UNWIND_SAVED_REGISTER:
		(void)snprintf(text, sizeof(text), "r%d", value);
		return strcmp(expected, text) == 0 ? MATCH_EQUAL : MATCH_NOT;
	case UNWIND_SAVED_FP_DEREF:
		return strcmp(expected, "exp") == 0 ? MATCH_EXPRESSION : MATCH_NOT;
	default:
		if (strcmp(expected, "u") == 0)
			return MATCH_EQUAL;
		return strcmp(expected, "exp") == 0 || strcmp(expected, "vexp") == 0 ||
				       expected[0] == 'v'
			       ? MATCH_NOT_EXPRESSIBLE
			       : MATCH_NOT;
	}
}

enum match match_rule(const struct cfi_machine *machine, bool is_signal_frame,
		      const struct readelf_row *row, const struct abi_unwind_rule *rule)
{
	enum match cfa, fp, ra;

	switch (rule->cfa) {
	case UNWIND_CFA_NONE:
		return MATCH_NOT;
	case UNWIND_CFA_END:
		return strcmp(row->ra, "u") == 0 ? MATCH_EQUAL : MATCH_NOT;
	case UNWIND_CFA_SIGNAL:
		return is_signal_frame ? MATCH_EQUAL : MATCH_NOT;
	case UNWIND_CFA_UNSUPPORTED:
		return MATCH_NOT_EXPRESSIBLE;
	default:
		cfa = match_cfa(machine, row->cfa, rule);
		fp = match_saved(row->fp, rule->fp, rule->fp_offset);
		ra = rule->ra == UNWIND_SAVED_BESIDE_FP
			     ? match_saved(row->ra, UNWIND_SAVED_CFA, rule->fp_offset + 8)
			     : match_saved(row->ra, rule->ra, rule->ra_offset);
		fp = MAX(fp, ra);
		return MAX(cfa, fp);
	}
}

void text_of_cfa(const struct abi_unwind_rule *rule, char *ret_text, size_t size)
{
	const char *base =
		rule->cfa == UNWIND_CFA_DEREF_FP ? "DW_OP_breg6 (rbp)" : "DW_OP_breg7 (rsp)";

	if (rule->cfa == UNWIND_CFA_PLT)
		(void)snprintf(ret_text, size,
			       "(DW_OP_breg7 (rsp): 8; DW_OP_breg16 (rip): 0; DW_OP_lit15; "
			       "DW_OP_and; DW_OP_lit%d; "
			       "DW_OP_ge; DW_OP_lit3; DW_OP_shl; DW_OP_plus)",
			       rule->cfa_offset);
	else if (rule->cfa == UNWIND_CFA_DEREF_INDEXED)
		(void)snprintf(
			ret_text, size,
			"(DW_OP_breg7 (rsp): %d; DW_OP_breg%u (%s): 0; DW_OP_lit8; DW_OP_mul; "
			"DW_OP_plus; DW_OP_deref; DW_OP_plus_uconst: 8)",
			rule->cfa_offset, rule->cfa_register, x86_names[rule->cfa_register & 15]);
	else if (rule->cfa_addend != 0)
		(void)snprintf(ret_text, size, "(%s: %d; DW_OP_deref; DW_OP_plus_uconst: %d)", base,
			       rule->cfa_offset, rule->cfa_addend);
	else
		(void)snprintf(ret_text, size, "(%s: %d; DW_OP_deref)", base, rule->cfa_offset);
}

void text_of_fp(const struct abi_unwind_rule *rule, char *ret_text, size_t size)
{
	/* The table has an offset from the register of the CFA as an offset from the CFA. */
	bool is_from_cfa = rule->fp == UNWIND_SAVED_CFA;
	bool is_from_sp = is_from_cfa && rule->cfa == UNWIND_CFA_SP;

	(void)snprintf(ret_text, size, "r6 (rbp) (DW_OP_breg%s: %d)",
		       is_from_sp ? "7 (rsp)" : "6 (rbp)",
		       rule->fp_offset + (is_from_cfa ? rule->cfa_offset : 0));
}
