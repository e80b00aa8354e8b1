/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack is a text: "k" a frame of the kernel, "n" a native frame, "L" a call of the loop, "r" a
 * frame of Ruby, "R" one that ends its call, "p" and "P" those of PHP, "e" and "E"
 * those of Perl. In the expected order each
 * frame has its number among those of its letter, without regard to case.
 */
#include "agent/sample/frame_order.h"

#include "common/frame.h"
#include "tests/support/unit.h"

static uint32_t kind_of(char letter)
{
	switch (letter) {
	case 'k':
		return FRAME_KERNEL;
	case 'L':
		return FRAME_NATIVE | ABI_FRAME_IS_LOOP;
	case 'r':
		return FRAME_RUBY;
	case 'p':
		return FRAME_PHP;
	case 'P':
		return FRAME_PHP | ABI_FRAME_ENDS_CALL;
	case 'e':
		return FRAME_PERL;
	case 'E':
		return FRAME_PERL | ABI_FRAME_ENDS_CALL;
	case 'R':
		return FRAME_RUBY | ABI_FRAME_ENDS_CALL;
	default:
		return FRAME_NATIVE;
	}
}

/* Writes "r0R1L0..." */
static void find_order(const char *stack, uint8_t cut, uint8_t more_flags, char *to, size_t size)
{
	struct abi_frame frames[ABI_MAX_FRAMES] = {};
	uint16_t order[ABI_MAX_FRAMES];
	struct abi_sample sample = { .cut = cut, .more_flags = more_flags };
	size_t n_frames = strlen(stack);

	for (size_t i = 0; i < n_frames; i++)
		frames[i].kind = kind_of(stack[i]);
	sample.n_kernel_frames = (uint16_t)strspn(stack, "k");
	sample.n_user_frames = (uint16_t)(n_frames - sample.n_kernel_frames);
	frame_order_find(&sample, frames, order);
	*to = '\0';
	for (size_t i = 0; i < n_frames; i++) {
		unsigned int number = 0;

		assert_true(order[i] < n_frames);
		for (size_t k = 0; k < order[i]; k++)
			number += (stack[k] | 0x20) == (stack[order[i]] | 0x20);
		(void)snprintf(to + strlen(to), size - strlen(to), "%c%u", stack[order[i]], number);
	}
}

struct order_case {
	const char *stack, *expected;
	uint8_t cut, more_flags;
};

static void expect_orders(const struct order_case *cases, size_t n_cases)
{
	char text[256];

	for (size_t i = 0; i < n_cases; i++) {
		find_order(cases[i].stack, cases[i].cut, cases[i].more_flags, text, sizeof(text));
		assert_string_equal(text, cases[i].expected);
	}
}

static void each_call_of_the_loop_gets_its_frames(void **state)
{
	static const struct order_case cases[] = {
		{ "LnLnrRrR", "r0R1L0n0r2R3L1n1", 0, ABI_SAMPLE_LISTED },
		{ "kknLnR", "k0k1n0R0L0n1", 0, ABI_SAMPLE_LISTED },
		{ "nLnLnRR", "n0R0L0n1R1L1n2", 0, ABI_SAMPLE_LISTED },
		{ "nLnLnpPP", "n0p0P1L0n1P2L1n2", 0, ABI_SAMPLE_LISTED },
		{ "nLnLneEE", "n0e0E1L0n1E2L1n2", 0, ABI_SAMPLE_LISTED },
		/* no frame of Ruby, no call of the loop, nothing */
		{ "nLn", "n0L0n1", 0, ABI_SAMPLE_LISTED },
		{ "nnR", "R0n0n1", 0, ABI_SAMPLE_LISTED },
		{ "", "", 0, ABI_SAMPLE_LISTED },
		/* without the flag the order is that of the record */
		{ "LnR", "L0n0R0", 0, 0 },
	};

	(void)state;
	expect_orders(cases, ARRAY_SIZE(cases));
}

static void a_call_that_is_about_to_return_has_no_frame(void **state)
{
	static const struct order_case cases[] = {
		{ "LnLnrR", "L0n0r0R1L1n1", 0, ABI_SAMPLE_LISTED },
		{ "LnLnLR", "L0n0L1n1R0L2", 0, ABI_SAMPLE_LISTED },
	};

	(void)state;
	expect_orders(cases, ARRAY_SIZE(cases));
}

static void frames_of_a_call_that_has_not_begun_are_innermost(void **state)
{
	static const struct order_case cases[] = {
		{ "knLnRrR", "k0R0n0r1R2L0n1", 0, ABI_SAMPLE_LISTED },
		{ "nLnRRR", "R0R1n0R2L0n1", 0, ABI_SAMPLE_LISTED },
	};

	(void)state;
	expect_orders(cases, ARRAY_SIZE(cases));
}

static void cut_stacks_are_put_in_order_from_the_innermost_frame(void **state)
{
	static const struct order_case cases[] = {
		{ "LnLRRrR", "R0L0n0R1L1r2R3", STACK_CUT_BAD_FRAME, ABI_SAMPLE_LISTED },
		/* code of a JIT compiler in the frame of the loop */
		{ "nnpPP", "n0n1p0P1P2", STACK_CUT_NO_ROW, ABI_SAMPLE_LISTED },
		{ "LnLnLnrRr", "r0R1L0n0r2L1n1L2n2", STACK_CUT_DEPTH,
		  ABI_SAMPLE_LISTED | ABI_SAMPLE_LIST_CUT },
		{ "LnLnR", "R0L0n0L1n1", 0, ABI_SAMPLE_LISTED | ABI_SAMPLE_LIST_CUT },
	};

	(void)state;
	expect_orders(cases, ARRAY_SIZE(cases));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_of_the_loop_gets_its_frames),
		cmocka_unit_test(a_call_that_is_about_to_return_has_no_frame),
		cmocka_unit_test(frames_of_a_call_that_has_not_begun_are_innermost),
		cmocka_unit_test(cut_stacks_are_put_in_order_from_the_innermost_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
