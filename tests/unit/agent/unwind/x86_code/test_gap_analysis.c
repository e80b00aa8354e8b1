/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/x86_code/gap_analysis.h"

#include "tests/support/unit.h"

#define TEXT UINT64_C(0x401000)

static struct gap_analysis *begin(const uint8_t *code, size_t size)
{
	const struct code_range range = { .bytes = { code, size }, .vaddr = TEXT };
	struct gap_analysis *gap = NULL;

	assert_ok(gap_analysis_new(&gap));
	assert_ok(gap_analysis_begin(gap, &range));
	return gap;
}

static struct abi_unwind_rule rule_at(struct gap_analysis *gap, uint64_t offset)
{
	const struct unwind_builder_row *rows;
	struct abi_unwind_rule rule = {};
	size_t count;

	assert_ok(gap_analysis_rows(gap, &rows, &count));
	assert_true(count == 0 || rows[0].start == TEXT);
	for (size_t i = 0; i < count && rows[i].start <= TEXT + offset; i++)
		rule = rows[i].rule;
	return rule;
}

static void assert_depth(struct gap_analysis *gap, uint64_t offset, int32_t cfa_offset)
{
	struct abi_unwind_rule rule = rule_at(gap, offset);

	assert_int_equal(rule.cfa, UNWIND_CFA_SP);
	assert_int_equal(rule.cfa_offset, cfa_offset);
}

static void assert_nothing(struct gap_analysis *gap, uint64_t offset)
{
	assert_int_equal(rule_at(gap, offset).cfa, UNWIND_CFA_NONE);
}

/* At its end the stack pointer would be above the return address. */
static void the_middle_of_a_function_with_a_frame_is_rejected(void **state)
{
	static const uint8_t code[] = {
		0x31, 0xc0, 0xc3,             /* 0: a function */
		0x53,                         /* 3: another function, to which nothing refers */
		0x48, 0x83, 0xec, 0x20,       /* sub $32 */
		0x48, 0x8d, 0x40, 0x01,       /* 8 */
		0x48, 0x8d, 0x40, 0x01,       /* c */
		0x48, 0x8d, 0x40, 0x01,       /* 10: the first multiple of 16 */
		0x75, 0xfa,                   /* jne 10 */
		0x48, 0x83, 0xc4, 0x20, 0x5b, /* add $32; pop */
		0xc3,
	};
	struct gap_analysis *gap = begin(code, sizeof(code));

	(void)state;
	assert_int_equal(gap_analysis_try(gap, TEXT), 1);
	assert_int_equal(gap_analysis_try(gap, TEXT + 0x10), 0);
	assert_ok(gap_analysis_complete(gap));
	assert_depth(gap, 0, 8);
	assert_nothing(gap, 3);
	assert_nothing(gap, 8);
	assert_nothing(gap, 0x10);
	assert_nothing(gap, sizeof(code) - 1);
	/* At its first instruction it is a function. */
	assert_int_equal(gap_analysis_try(gap, TEXT + 3), 1);
	assert_depth(gap, 0x10, 48);
	(void)gap_analysis_free(gap);
}

static void a_function_that_contradicts_another_one_is_rejected(void **state)
{
	static const uint8_t code[] = {
		0x53,             /* 0: push */
		0x31, 0xc0,       /* 1 */
		0x5b, 0xc3,       /* 3: pop; ret */
		0x90, 0x50, 0x50, /* 6: two pushes */
		0xeb, 0xf7,       /* 8: jmp 1 */
		0x50,             /* a: one */
		0xeb, 0xf4,       /* jmp 1 */
	};
	struct gap_analysis *gap = begin(code, sizeof(code));

	(void)state;
	assert_int_equal(gap_analysis_try(gap, TEXT), 1);
	assert_int_equal(gap_analysis_try(gap, TEXT + 6), 0);
	assert_int_equal(gap_analysis_try(gap, TEXT + 0xa), 1);
	assert_depth(gap, 1, 16);
	assert_depth(gap, 0xb, 16);
	assert_nothing(gap, 7);
	(void)gap_analysis_free(gap);
}

/*
 * V8's builtins push arguments below a return address and jump to another builtin, which begins
 * with a frame as if it was called. That one returns with another stack pointer, and so contradicts
 * nothing.
 */
static void a_frame_next_to_another_return_address_contradicts_the_path_to_it(void **state)
{
	static const uint8_t code[] = {
		0x74, 0x04, /* 0: je 6 */
		0x50, 0x50, /* 2: an argument, and a return address */
		0xeb, 0x0a, /* 4: jmp 10 */
		0xc3,       /* 6 */
		0x90, 0x90, 0x90, 0x90, 0x90,
		0x90, 0x90, 0x90, 0x90, 0x55, /* 10: push rbp; mov rsp,rbp */
		0x48, 0x89, 0xe5, 0xc9, 0x59, /* 14: leave; pop rcx */
		0x49, 0x8d, 0x67, 0x08,       /* 16: lea 8(%r15),%rsp */
		0x51, 0xc3,                   /* 1a: push rcx; ret */
	};
	struct gap_analysis *gap = begin(code, sizeof(code));

	(void)state;
	assert_int_equal(gap_analysis_try(gap, TEXT), 0);
	assert_nothing(gap, 3);
	assert_nothing(gap, 0x10);
	assert_nothing(gap, 0x14);
	(void)gap_analysis_free(gap);
}

/* A callee may remove its arguments from the stack. */
static void the_frame_pointer_is_trusted_before_the_stack_pointer(void **state)
{
	static const uint8_t code[] = {
		0x55,                   /* 0: push rbp; mov rsp,rbp */
		0x48, 0x89, 0xe5, 0x50, /* 4: an argument */
		0xff, 0xd0,             /* 5: call *rax */
		0xc9, 0xc3,             /* 7: leave; ret */
	};
	struct gap_analysis *gap = begin(code, sizeof(code));

	(void)state;
	assert_int_equal(gap_analysis_try(gap, TEXT), 1);
	assert_depth(gap, 0, 8);
	assert_depth(gap, 1, 16);
	assert_int_equal(rule_at(gap, 7).cfa, UNWIND_CFA_FP);
	assert_int_equal(rule_at(gap, 7).cfa_offset, 16);
	assert_depth(gap, 8, 8);
	(void)gap_analysis_free(gap);
}

/* Its frames are not at the stack pointer: it never returns by it. */
static void code_that_never_returns_is_rejected(void **state)
{
	static const uint8_t code[] = {
		0x48, 0x83, 0xc5, 0x08, /* 0: add $8,%rbp */
		0xff, 0x65, 0x00,       /* jmp *(%rbp) */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x90, 0x90, 0x31, 0xc0, 0xeb, 0xfe, /* 10: an endless loop */
	};
	struct gap_analysis *gap = begin(code, sizeof(code));

	(void)state;
	assert_int_equal(gap_analysis_try(gap, TEXT), 0);
	assert_int_equal(gap_analysis_try(gap, TEXT + 0x10), 0);
	assert_ok(gap_analysis_complete(gap));
	assert_nothing(gap, 0);
	assert_nothing(gap, 0x10);
	(void)gap_analysis_free(gap);
}

/*
 * The code after such a call does not belong to its function. If it is accepted, then as a
 * function.
 */
static void code_after_a_call_that_never_returns_does_not_affect_its_function(void **state)
{
	static const uint8_t code[] = {
		0x53,                         /* 0: push */
		0x85, 0xff,                   /* 1: test */
		0x75, 0x02,                   /* 3: jne 7 */
		0x5b, 0xc3,                   /* 5: pop; ret */
		0xff, 0xd0,                   /* 7: call *%rax */
		0x0f, 0x1f, 0x80, 0, 0, 0, 0, /* 9: padding */
		0x31, 0xc0, 0xc3,             /* 10 */
	};
	struct gap_analysis *gap = begin(code, sizeof(code));

	(void)state;
	assert_int_equal(gap_analysis_try(gap, TEXT), 1);
	assert_depth(gap, 7, 16);
	assert_ok(gap_analysis_complete(gap));
	assert_depth(gap, 5, 16);
	assert_depth(gap, 6, 8);
	assert_depth(gap, 0x10, 8);
	(void)gap_analysis_free(gap);
}

static void an_aligned_stack_without_a_copy_of_its_pointer_has_no_rows(void **state)
{
	static const uint8_t code[] = {
		0x48, 0x89, 0xe1,       /* 0: mov %rsp,%rcx */
		0x48, 0x83, 0xe4, 0xe0, /* 3: and $-32,%rsp */
		0x31, 0xc9,             /* 7: xor %ecx,%ecx */
		0x90,                   /* 9 */
		0xc3,
	};
	struct gap_analysis *gap = begin(code, sizeof(code));

	(void)state;
	assert_int_equal(gap_analysis_try(gap, TEXT), 0);
	assert_nothing(gap, 7);
	(void)gap_analysis_free(gap);
}

static void too_large_a_piece_is_refused(void **state)
{
	static uint8_t code[GAP_ANALYSIS_MAX_BYTES + 1];
	const struct code_range range = { .bytes = { code, sizeof(code) }, .vaddr = TEXT };
	scoped(gap_analysis_freep) struct gap_analysis *gap = NULL;

	(void)state;
	assert_ok(gap_analysis_new(&gap));
	assert_errno(gap_analysis_begin(gap, &range), -E2BIG);
}

static void random_code_does_no_harm(void **state)
{
	uint64_t seed = 0x2545f4914f6cdd1d;
	uint8_t code[512];

	(void)state;
	for (size_t round = 0; round < 5000; round++) {
		const struct unwind_builder_row *rows;
		struct gap_analysis *gap;
		size_t count;

		for (size_t i = 0; i < sizeof(code); i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			code[i] = (uint8_t)(seed >> 40);
		}
		gap = begin(code, sizeof(code));
		for (size_t at = 0; at < sizeof(code); at += 7)
			assert_ok(gap_analysis_try(gap, TEXT + at));
		assert_ok(gap_analysis_complete(gap));
		assert_ok(gap_analysis_rows(gap, &rows, &count));
		assert_int_equal(rows[0].start, TEXT);
		for (size_t i = 1; i < count; i++)
			assert_true(rows[i].start > rows[i - 1].start &&
				    rows[i].start - TEXT < sizeof(code));
		(void)gap_analysis_free(gap);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_middle_of_a_function_with_a_frame_is_rejected),
		cmocka_unit_test(a_function_that_contradicts_another_one_is_rejected),
		cmocka_unit_test(a_frame_next_to_another_return_address_contradicts_the_path_to_it),
		cmocka_unit_test(the_frame_pointer_is_trusted_before_the_stack_pointer),
		cmocka_unit_test(code_that_never_returns_is_rejected),
		cmocka_unit_test(code_after_a_call_that_never_returns_does_not_affect_its_function),
		cmocka_unit_test(an_aligned_stack_without_a_copy_of_its_pointer_has_no_rows),
		cmocka_unit_test(too_large_a_piece_is_refused),
		cmocka_unit_test(random_code_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
