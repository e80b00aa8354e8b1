#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program without frame pointers copies its code to anonymous memory at the same addresses, as programs do to have code in
# huge pages. Another one makes the copy elsewhere and moves it with mremap(). The kernel no longer knows a file behind that
# code. The stacks are still the exact sequence of functions, up to _start.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/known_stacks.sh"

sample_programs unwound:copied unwound:moved

for mode in copied moved; do
	expect_stacks "unwound:$mode" --leaf leaf_a --leaf leaf_b --share 70 --stacks \
		"leaf_[ab];both_leaves;(descend_by_pointer;descend\*2;){133}descend_by_pointer;descend;run_deep;run_$mode;main;libc;_start"
done
