/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs as bytes and their rows as text: every instruction of DWARF 5 §6.4.2, and the extensions
 * that are in use. All run on [0x1000, 0x1100) after a CIE with CFA = sp + 8, and the return
 * address at CFA - 8.
 */
#include "agent/unwind/cfi/cfi_program.h"

#include <elf.h>

#include "tests/unit/agent/unwind/frame_writer.h"

#define START 0x1000
#define END   0x1100

struct row_printer {
	const struct cfi_context *context;
	bool is_signal_frame;
	char text[1024];
	size_t length;
};

static int print_row(void *argument, uint64_t address, const struct cfi_state *state)
{
	struct row_printer *printer = argument;
	struct unwind_dialect dialect = { .machine = printer->context->machine };
	struct abi_unwind_rule rule = unwind_rule_of(&dialect, state, printer->context->ra_column,
						     printer->is_signal_frame);
	char text[128];

	printer->length += (size_t)snprintf(
		printer->text + printer->length, sizeof(printer->text) - printer->length,
		"%lx %s\n", (unsigned long)address, rule_text(&rule, text, sizeof(text)));
	assert_true(printer->length < sizeof(printer->text));
	return 0;
}

static struct cfi_context context_of(uint16_t elf_machine)
{
	const struct cfi_machine *machine = cfi_machine_of(elf_machine);

	assert_non_null(machine);
	return (struct cfi_context){
		.machine = machine,
		.code_align = elf_machine == EM_AARCH64 ? 4 : 1,
		.data_align = -8,
		.ra_column = machine->ra,
	};
}

static int run(uint16_t elf_machine, const struct instructions *instructions,
	       struct row_printer *printer)
{
	static const struct instructions arm64_initial = INSTRUCTIONS(0x0c, 31, 0);
	struct cfi_context context = context_of(elf_machine);
	struct cfi_program program = {
		.instructions = instructions_view(instructions),
		.instructions_vaddr = 0x500,
		.start = START,
		.end = END,
	};
	struct cfi_state initial;

	assert_ok(cfi_run_initial(
		&context,
		instructions_view(elf_machine == EM_AARCH64 ? &arm64_initial : &x86_initial),
		&initial));
	*printer = (struct row_printer){ .context = &context };
	return cfi_run(&context, &program, &initial, print_row, printer);
}

struct program_case {
	struct instructions instructions;
	const char *rows;
};

static void check_rows(uint16_t elf_machine, const struct program_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct row_printer printer;

		assert_ok(run(elf_machine, &cases[i].instructions, &printer));
		assert_string_equal(printer.text, cases[i].rows);
	}
}

static void locations_advance_by_every_instruction(void **state)
{
	static const struct program_case cases[] = {
		{ INSTRUCTIONS(0), "1000 sp+8 same c-8\n" },
		/* advance_loc 1 */
		{ INSTRUCTIONS(0x41, 0x0e, 16), "1000 sp+8 same c-8\n1001 sp+16 same c-8\n" },
		/* advance_loc1 0x80 */
		{ INSTRUCTIONS(0x02, 0x80, 0x0e, 16), "1000 sp+8 same c-8\n1080 sp+16 same c-8\n" },
		/* advance_loc2 0x00ff */
		{ INSTRUCTIONS(0x03, 0xff, 0, 0x0e, 16),
		  "1000 sp+8 same c-8\n10ff sp+16 same c-8\n" },
		/* advance_loc4 2, advance_loc8 3 */
		{ INSTRUCTIONS(0x04, 2, 0, 0, 0, 0x0e, 16, 0x1d, 3, 0, 0, 0, 0, 0, 0, 0, 0x0e, 24),
		  "1000 sp+8 same c-8\n1002 sp+16 same c-8\n1005 sp+24 same c-8\n" },
		/* set_loc 0x1010 */
		{ INSTRUCTIONS(0x01, 0x10, 0x10, 0, 0, 0, 0, 0, 0, 0x0e, 16),
		  "1000 sp+8 same c-8\n1010 sp+16 same c-8\n" },
		/* A distance of 0: the later instruction is valid from the start. */
		{ INSTRUCTIONS(0x0e, 16, 0x40, 0x0e, 24), "1000 sp+24 same c-8\n" },
	};

	(void)state;
	check_rows(EM_X86_64, cases, ARRAY_SIZE(cases));
}

static void the_cfa_is_defined_by_every_instruction(void **state)
{
	static const struct program_case cases[] = {
		/* def_cfa rbp 16 */
		{ INSTRUCTIONS(0x0c, 6, 16), "1000 fp+16 same c-8\n" },
		/* def_cfa_sf rbp -2 */
		{ INSTRUCTIONS(0x12, 6, 0x7e), "1000 fp+16 same c-8\n" },
		/* def_cfa_register rbp */
		{ INSTRUCTIONS(0x0d, 6), "1000 fp+8 same c-8\n" },
		/* def_cfa_offset 272 */
		{ INSTRUCTIONS(0x0e, 0x90, 2), "1000 sp+272 same c-8\n" },
		/* def_cfa_offset_sf -3 */
		{ INSTRUCTIONS(0x13, 0x7d), "1000 sp+24 same c-8\n" },
		/* def_cfa r10 0 */
		{ INSTRUCTIONS(0x0c, 10, 0), "1000 r10+0 same c-8\n" },
		/* def_cfa_expression: breg6 -8; deref */
		{ INSTRUCTIONS(0x0f, 3, 0x76, 0x78, 0x06), "1000 *(fp-8)+0 same c-8\n" },
		/* def_cfa_expression: breg7 16; deref; plus_uconst 8 */
		{ INSTRUCTIONS(0x0f, 5, 0x77, 16, 0x06, 0x23, 8), "1000 *(sp+16)+8 same c-8\n" },
		/* an expression that is only a register: breg6 16 */
		{ INSTRUCTIONS(0x0f, 2, 0x76, 16), "1000 fp+16 same c-8\n" },
		/* the shape of the PLT */
		{ INSTRUCTIONS(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
			       0x22),
		  "1000 plt 11 same c-8\n" },
		/* no known shape: breg9 0; deref */
		{ INSTRUCTIONS(0x0f, 3, 0x79, 0, 0x06), "1000 unsupported\n" },
		/* a register after an expression has the offset from before it */
		{ INSTRUCTIONS(0x0f, 3, 0x76, 0x78, 0x06, 0x0e, 32, 0x41, 0x0d, 7),
		  "1000 *(fp-8)+0 same c-8\n1001 sp+32 same c-8\n" },
		/* an offset of 2^35, a register 300 */
		{ INSTRUCTIONS(0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 1), "1000 unsupported\n" },
		{ INSTRUCTIONS(0x0d, 0xac, 2), "1000 unsupported\n" },
		/* an addend that does not fit into a rule */
		{ INSTRUCTIONS(0x0f, 6, 0x77, 16, 0x06, 0x23, 0x80, 1), "1000 unsupported\n" },
	};

	(void)state;
	check_rows(EM_X86_64, cases, ARRAY_SIZE(cases));
}

static void registers_are_found_by_every_instruction(void **state)
{
	static const struct program_case cases[] = {
		/* offset rbp 2 */
		{ INSTRUCTIONS(0x86, 2), "1000 sp+8 c-16 c-8\n" },
		/* offset_extended, offset_extended_sf, GNU_negative_offset_extended */
		{ INSTRUCTIONS(0x05, 6, 3), "1000 sp+8 c-24 c-8\n" },
		{ INSTRUCTIONS(0x11, 6, 0x7f), "1000 sp+8 c+8 c-8\n" },
		{ INSTRUCTIONS(0x2f, 6, 2), "1000 sp+8 c+16 c-8\n" },
		/* offset rbp 2^14: does not fit into 16 bits */
		{ INSTRUCTIONS(0x86, 0x80, 0x80, 1), "1000 sp+8 c-131072 c-8\n" },
		/* register rbp in rbx; rip in rdi (vfork) */
		{ INSTRUCTIONS(0x09, 6, 3), "1000 sp+8 r3 c-8\n" },
		{ INSTRUCTIONS(0x09, 16, 5), "1000 sp+8 same r5\n" },
		/* undefined rbp, same_value rbp */
		{ INSTRUCTIONS(0x07, 6), "1000 sp+8 lost c-8\n" },
		{ INSTRUCTIONS(0x86, 2, 0x41, 0x08, 6),
		  "1000 sp+8 c-16 c-8\n1001 sp+8 same c-8\n" },
		/* undefined rip: the outermost frame */
		{ INSTRUCTIONS(0x07, 16), "1000 end\n" },
		/* same_value rip: no register holds it */
		{ INSTRUCTIONS(0x08, 16), "1000 unsupported\n" },
		/* restore, restore_extended: the rule of the CIE */
		{ INSTRUCTIONS(0x86, 2, 0x41, 0xc6, 0x42, 0x86, 2, 0x43, 0x06, 6),
		  "1000 sp+8 c-16 c-8\n1001 sp+8 same c-8\n1003 sp+8 c-16 c-8\n1006 sp+8 same "
		  "c-8\n" },
		{ INSTRUCTIONS(0x07, 16, 0x41, 0xd0), "1000 end\n1001 sp+8 same c-8\n" },
		/* expression rbp: breg6 0, if the CFA has another base, and if it has the same */
		{ INSTRUCTIONS(0x0c, 10, 0, 0x10, 6, 2, 0x76, 0), "1000 r10+0 *(fp+0) c-8\n" },
		{ INSTRUCTIONS(0x0c, 6, 16, 0x10, 6, 2, 0x76, 0), "1000 fp+16 c-16 c-8\n" },
		{ INSTRUCTIONS(0x0e, 32, 0x10, 6, 2, 0x77, 8), "1000 sp+32 c-24 c-8\n" },
		/*
		 * if a row cannot express the rule of rbp, only rbp is lost: expression breg9 0,
		 * val_expression, val_offset, _sf
		 */
		{ INSTRUCTIONS(0x10, 6, 2, 0x79, 0), "1000 sp+8 lost c-8\n" },
		{ INSTRUCTIONS(0x16, 6, 2, 0x76, 0), "1000 sp+8 lost c-8\n" },
		{ INSTRUCTIONS(0x14, 6, 2), "1000 sp+8 lost c-8\n" },
		{ INSTRUCTIONS(0x15, 6, 2), "1000 sp+8 lost c-8\n" },
		/* if it cannot express the rule of rip, the row is unsupported */
		{ INSTRUCTIONS(0x16, 16, 2, 0x76, 0), "1000 unsupported\n" },
		/*
		 * so it is if the stack pointer is not the CFA: val_offset rsp 1, offset rsp;
		 * val_offset 0 is the CFA
		 */
		{ INSTRUCTIONS(0x14, 7, 1), "1000 unsupported\n" },
		{ INSTRUCTIONS(0x87, 1), "1000 unsupported\n" },
		{ INSTRUCTIONS(0x14, 7, 0), "1000 sp+8 same c-8\n" },
		/* other registers are ignored: offset rbx, expression r12, register 1000 */
		{ INSTRUCTIONS(0x83, 2, 0x10, 12, 2, 0x76, 0, 0x05, 0xe8, 7, 1, 0x2e, 16),
		  "1000 sp+8 same c-8\n" },
	};

	(void)state;
	check_rows(EM_X86_64, cases, ARRAY_SIZE(cases));
}

static void states_are_remembered_and_restored(void **state)
{
	static const struct program_case cases[] = {
		/* remember; leave; ret; restore: the CFA is restored too */
		{ INSTRUCTIONS(0x0c, 6, 16, 0x86, 2, 0x44, 0x0a, 0x0c, 7, 8, 0xc6, 0x41, 0x0b),
		  "1000 fp+16 c-16 c-8\n1004 sp+8 same c-8\n1005 fp+16 c-16 c-8\n" },
		/* nested */
		{ INSTRUCTIONS(0x0a, 0x0e, 16, 0x0a, 0x0e, 24, 0x41, 0x0b, 0x41, 0x0b),
		  "1000 sp+24 same c-8\n1001 sp+16 same c-8\n1002 sp+8 same c-8\n" },
	};
	struct instructions deep = { .size = 2 * CFI_MAX_REMEMBERED };
	struct row_printer printer;

	(void)state;
	check_rows(EM_X86_64, cases, ARRAY_SIZE(cases));
	memset(deep.bytes, 0x0a, CFI_MAX_REMEMBERED);
	memset(deep.bytes + CFI_MAX_REMEMBERED, 0x0b, CFI_MAX_REMEMBERED);
	assert_ok(run(EM_X86_64, &deep, &printer));
	assert_string_equal(printer.text, "1000 sp+8 same c-8\n");
	deep.bytes[CFI_MAX_REMEMBERED] = 0x0a;
	assert_errno(run(EM_X86_64, &deep, &printer), -EBADMSG);
}

static void arm64_programs_follow_the_link_register(void **state)
{
	static const struct program_case cases[] = {
		/* a leaf: all values are in their registers */
		{ INSTRUCTIONS(0), "1000 sp+0 same same\n" },
		/* stp x29, x30, [sp, -32]!, signed: paciasp, then the prologue of gcc */
		{ INSTRUCTIONS(0x41, 0x2d, 0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3),
		  "1000 sp+0 same same\n1004 sp+0 same same\n1008 sp+32 c-32 c-24\n" },
		/* mov x29, sp */
		{ INSTRUCTIONS(0x0e, 16, 0x9d, 2, 0x9e, 1, 0x41, 0x0d, 29),
		  "1000 sp+16 c-16 c-8\n1004 fp+16 c-16 c-8\n" },
		/* undefined x30 (_start) */
		{ INSTRUCTIONS(0x07, 30), "1000 end\n" },
	};

	(void)state;
	check_rows(EM_AARCH64, cases, ARRAY_SIZE(cases));
}

static void rows_end_with_the_range(void **state)
{
	static const struct program_case cases[] = {
		/*
		 * advance to the last byte, then to the end: what follows is ignored, even if it is
		 * malformed
		 */
		{ INSTRUCTIONS(0x02, 0xff, 0x0e, 16, 0x41, 0x0e, 24, 0x3f),
		  "1000 sp+8 same c-8\n10ff sp+16 same c-8\n" },
		/* beyond the last address */
		{ INSTRUCTIONS(0x1d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
		  "1000 sp+8 same c-8\n" },
	};

	(void)state;
	check_rows(EM_X86_64, cases, ARRAY_SIZE(cases));
}

static void malformed_programs_are_errors(void **state)
{
	static const struct instructions cases[] = {
		INSTRUCTIONS(0x3f),                                     /* unknown */
		INSTRUCTIONS(0x2d),                                     /* arm64's */
		INSTRUCTIONS(0x0b),                                     /* nothing to restore */
		INSTRUCTIONS(0x41, 0x01, 0x00, 0x10, 0, 0, 0, 0, 0, 0), /* back to 0x1000 */
		INSTRUCTIONS(0x0c, 6),                                  /* cut */
		INSTRUCTIONS(0x86, 0x80),
		INSTRUCTIONS(0x04, 1, 0, 0),
		INSTRUCTIONS(0x0f, 4, 0x76, 0x78, 0x06),
		INSTRUCTIONS(0x10, 6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1),
	};
	struct cfi_context context = context_of(EM_X86_64);
	static const struct instructions advancing_cie = INSTRUCTIONS(0x41);
	struct cfi_state initial;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct row_printer printer;

		assert_errno(run(EM_X86_64, &cases[i], &printer), -EBADMSG);
	}
	assert_errno(cfi_run_initial(&context, instructions_view(&advancing_cie), &initial),
		     -EBADMSG);
}

static void frames_of_the_kernel_are_signal_frames(void **state)
{
	/* glibc: def_cfa_expression breg7 160; deref; expression rip: breg7 168; and rbp and rsp */
	static const struct instructions restore_rt =
		INSTRUCTIONS(0x0f, 4, 0x77, 0xa0, 1, 0x06, 0x10, 16, 3, 0x77, 0xa8, 1, 0x10, 6, 3,
			     0x77, 0xf8, 0, 0x10, 7, 3, 0x77, 0xa0, 1);
	static const struct instructions plain = INSTRUCTIONS(0x0e, 16);
	static const struct instructions sp_in_memory = INSTRUCTIONS(0x87, 4);
	static const struct {
		uint16_t machine;
		const struct instructions *instructions;
		bool is_signal_frame;
		const char *rule;
	} cases[] = {
		{ EM_X86_64, &restore_rt, true, "signal" },
		{ EM_X86_64, &restore_rt, false, "signal" },
		{ EM_X86_64, &plain, true, "sp+16 same c-8" },
		{ EM_X86_64, &sp_in_memory, true, "signal" },
		{ EM_X86_64, &sp_in_memory, false, "unsupported" },
		{ EM_AARCH64, &plain, true, "signal" },
		{ EM_AARCH64, &plain, false, "sp+16 same same" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_context context = context_of(cases[i].machine);
		struct row_printer printer = { .context = &context,
					       .is_signal_frame = cases[i].is_signal_frame };
		struct cfi_program program = { .instructions =
						       instructions_view(cases[i].instructions),
					       .start = START,
					       .end = END };
		struct cfi_state initial = { .has_cfa = true, .cfa_register = context.machine->sp };
		char expected[64];

		if (cases[i].machine == EM_X86_64)
			assert_ok(cfi_run_initial(&context, instructions_view(&x86_initial),
						  &initial));
		assert_ok(cfi_run(&context, &program, &initial, print_row, &printer));
		(void)snprintf(expected, sizeof(expected), "1000 %s\n", cases[i].rule);
		assert_string_equal(printer.text, expected);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(locations_advance_by_every_instruction),
		cmocka_unit_test(the_cfa_is_defined_by_every_instruction),
		cmocka_unit_test(registers_are_found_by_every_instruction),
		cmocka_unit_test(states_are_remembered_and_restored),
		cmocka_unit_test(arm64_programs_follow_the_link_register),
		cmocka_unit_test(rows_end_with_the_range),
		cmocka_unit_test(malformed_programs_are_errors),
		cmocka_unit_test(frames_of_the_kernel_are_signal_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
