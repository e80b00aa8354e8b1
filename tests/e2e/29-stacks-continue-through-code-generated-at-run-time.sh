#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Machine code that a program made, without call frame information but with frame pointers, between functions that have
# the former and not the latter. Code that has a zero where others have the frame pointer is not the end of a stack: what
# is above it is not known, and the stack says so. A function that a context was made for is one.
#
# This test needs one CPU.
. "$(dirname "$0")/known_stacks.sh"

sample_programs unwound:jit unwound:zero unwound:context

expect_stacks unwound:jit --leaf leaf_a --leaf leaf_b --share 70 \
	--stacks "leaf_[ab];both_leaves;\[anonymous\]\*2;run_jit;main;libc;_start"

expect_stacks unwound:zero --leaf leaf_a --leaf leaf_b --share 70 --cut no-unwind-row \
	--stacks "leaf_[ab];both_leaves;\[anonymous\]"

expect_stacks unwound:context --leaf leaf_a --leaf leaf_b --share 70 --end libc \
	--stacks "leaf_[ab];both_leaves;coroutine;libc"
