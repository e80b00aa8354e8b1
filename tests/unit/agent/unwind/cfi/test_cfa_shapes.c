/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/cfi/cfa_shapes.h"

#include "tests/unit/agent/unwind/frame_writer.h"

static void expressions_of_known_shapes_are_recognised(void **state)
{
	static const struct {
		struct instructions expression;
		struct cfa_shape shape;
	} cases[] = {
		/* breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus */
		{ INSTRUCTIONS(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22),
		  { CFA_SHAPE_PLT, 0, 11, 0 } },
		{ INSTRUCTIONS(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22),
		  { CFA_SHAPE_PLT, 0, 10, 0 } },
		/* breg7 8; breg9 0; lit8; mul; plus; deref; plus_uconst 8 */
		{ INSTRUCTIONS(0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8),
		  { CFA_SHAPE_INDEXED, 9, 8, 0 } },
		/* breg6 -8; deref */
		{ INSTRUCTIONS(0x76, 0x78, 0x06), { CFA_SHAPE_DEREF, 6, -8, 0 } },
		/* breg7 120; deref; plus_uconst 8 */
		{ INSTRUCTIONS(0x77, 0xf8, 0x00, 0x06, 0x23, 8), { CFA_SHAPE_DEREF, 7, 120, 8 } },
		/* the same: breg7 112; lit8; plus; deref; const1u 8; plus */
		{ INSTRUCTIONS(0x77, 0xf0, 0x00, 0x38, 0x22, 0x06, 0x08, 8, 0x22),
		  { CFA_SHAPE_DEREF, 7, 120, 8 } },
		/* lit8; breg7 0; plus */
		{ INSTRUCTIONS(0x38, 0x77, 0, 0x22), { CFA_SHAPE_REGISTER, 7, 8, 0 } },
		/* breg6 0; lit16; minus */
		{ INSTRUCTIONS(0x76, 0, 0x40, 0x1c), { CFA_SHAPE_REGISTER, 6, -16, 0 } },
		/* bregx 33 -1 */
		{ INSTRUCTIONS(0x92, 33, 0x7f), { CFA_SHAPE_REGISTER, 33, -1, 0 } },
		/* breg7 0; const2s -300; plus; nop; deref; consts -8; plus */
		{ INSTRUCTIONS(0x77, 0, 0x0b, 0xd4, 0xfe, 0x22, 0x96, 0x06, 0x11, 0x78, 0x22),
		  { CFA_SHAPE_DEREF, 7, -300, -8 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfa_shape shape = cfa_shape_of(instructions_view(&cases[i].expression));

		assert_int_equal(shape.kind, cases[i].shape.kind);
		assert_int_equal(shape.reg, cases[i].shape.reg);
		assert_int_equal(shape.offset, cases[i].shape.offset);
		assert_int_equal(shape.addend, cases[i].shape.addend);
	}
}

static void other_expressions_are_unknown_and_never_guessed(void **state)
{
	static const struct instructions cases[] = {
		INSTRUCTIONS(0x06),                   /* deref of nothing */
		INSTRUCTIONS(0x22),                   /* plus of nothing */
		INSTRUCTIONS(0x38),                   /* a constant is no address */
		INSTRUCTIONS(0x77, 0, 0x06, 0x06),    /* two levels of memory */
		INSTRUCTIONS(0x77, 0, 0x76, 0, 0x22), /* a sum of registers */
		INSTRUCTIONS(0x38, 0x77, 0, 0x1c),    /* 8 - rsp */
		INSTRUCTIONS(0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06), /* *(rsp + 8 + r9 * 8) */
		INSTRUCTIONS(0x77, 0x78, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23,
			     8), /* *(rsp - 8 + r9 * 8) + 8 */
		INSTRUCTIONS(0x76, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23,
			     8), /* *(rbp + 8 + r9 * 8) + 8 */
		INSTRUCTIONS(0x77, 8, 0x79, 0, 0x34, 0x1e, 0x22, 0x06, 0x23,
			     8), /* *(rsp + 8 + r9 * 4) + 8 */
		INSTRUCTIONS(0x77, 8, 0x80, 0, 0x38, 0x1e, 0x22, 0x06, 0x23,
			     8),                   /* *(rsp + 8 + rip * 8) + 8 */
		INSTRUCTIONS(0x92, 0x80, 0x02, 0), /* register 256 */
		INSTRUCTIONS(0x77, 0, 0x10, 0x80, 0x80, 0x80, 0x80, 0x10, 0x22), /* + 2^32 */
		INSTRUCTIONS(0x77, 0x80),                      /* ends within a number */
		INSTRUCTIONS(0x77, 0, 0x30, 0x30, 0x30, 0x30), /* more terms than any shape has */
		INSTRUCTIONS(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x50, 0x2a, 0x33, 0x24,
			     0x22), /* PLT with a register */
		INSTRUCTIONS(0xff),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(cfa_shape_of(instructions_view(&cases[i])).kind,
				 CFA_SHAPE_UNKNOWN);
	assert_int_equal(cfa_shape_of((struct bytes_view){}).kind, CFA_SHAPE_UNKNOWN);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions_of_known_shapes_are_recognised),
		cmocka_unit_test(other_expressions_are_unknown_and_never_guessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
