#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Machine code that a program made, without call frame information but with frame pointers, between functions that have
# the former and not the latter.
. "$(dirname "$0")/known_stacks.sh"

sample_programs unwound:jit

expect_stacks unwound:jit --leaf leaf_a --leaf leaf_b --share 70 \
	--stacks "leaf_[ab];both_leaves;\[anonymous\]\*2;run_jit;main;libc;_start"
