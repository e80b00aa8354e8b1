/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/host_bpf/stack_comparison.h"

#include "tests/support/unit.h"

/* Runs a program instruction by instruction. At each instruction, its stack must be complete. */

static bool is_at_breakpoint(const struct target *target, uint64_t pc)
{
	uint8_t instruction = 0;

	return target_read((void *)target, pc, &instruction, 1) == 0 && instruction == 0xcc;
}

static void the_stack_matches_libdw_at_every_instruction(void **state)
{
	char *const arguments[] = { (char *)STEPPED_PROGRAM, NULL };
	struct stack_comparison comparison;
	struct target target;

	(void)state;
	assert_ok(target_start(arguments, &target));
	assert_int_equal(target_run_to_trap(&target), 1);
	stack_comparison_begin(&comparison, &target);
	do {
		stack_comparison_run(&comparison);
		assert_int_equal(target_step(&comparison.target), 1);
	} while (!is_at_breakpoint(&comparison.target, comparison.input.registers.pc));
	stack_comparison_assert_equal(&comparison);
	assert_true(comparison.n_stacks > 20000);
	stack_comparison_end(&comparison);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stack_matches_libdw_at_every_instruction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
