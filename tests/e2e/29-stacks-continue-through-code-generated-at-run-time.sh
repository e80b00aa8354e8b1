#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program calls machine code that it generated at run time, with frame pointers but without call frame information. Its
# callers and callees have call frame information and no frame pointers. Stacks are complete. If generated code has zero in the frame pointer register, the stack is marked as
# incomplete, because its callers are unknown. The first function of a context (makecontext()) is a complete end of a stack.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/known_stacks.sh"

sample_programs unwound:jit unwound:zero unwound:context

expect_stacks unwound:jit --leaf leaf_a --leaf leaf_b --share 70 \
	--stacks "leaf_[ab];both_leaves;\[anonymous\]\*2;run_jit;main;libc;_start"

expect_stacks unwound:zero --leaf leaf_a --leaf leaf_b --share 70 --cut no-unwind-row \
	--stacks "leaf_[ab];both_leaves;\[anonymous\]"

expect_stacks unwound:context --leaf leaf_a --leaf leaf_b --share 70 --end libc \
	--stacks "leaf_[ab];both_leaves;coroutine;libc"
