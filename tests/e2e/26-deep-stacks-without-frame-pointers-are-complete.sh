#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Programs compiled with -O2 -fomit-frame-pointer: 400 levels of recursion with frames of several sizes, two functions that
# call each other, and an aligned frame of variable size. Each stack is the exact sequence of functions, up to _start.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/known_stacks.sh"

sample_programs unwound:deep unwound:mutual unwound:realigned

end='main;libc;_start'
expect_stacks unwound:deep --leaf leaf_a --leaf leaf_b --share 70 --stacks \
	"leaf_[ab];both_leaves;(descend_by_pointer;descend\*2;){133}descend_by_pointer;descend;run_deep;$end"
expect_stacks unwound:mutual --leaf leaf_a --leaf leaf_b --share 70 \
	--stacks "leaf_[ab];both_leaves;(is_even;is_odd;){50}is_even;run_mutual;$end"
expect_stacks unwound:realigned --leaf leaf_a --leaf leaf_b --share 70 \
	--stacks "leaf_[ab];both_leaves;realigned;run_realigned;$end"
