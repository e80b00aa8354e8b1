#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The fallbacks for old kernels, forced on this one: tail calls walk 16 frames each, and hash maps are preallocated. Stacks
# of 400 levels without frame pointers are as complete as with bpf_loop().
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/known_stacks.sh"

agent_arguments=(--unwind.table_size=64MiB --kernel.without bpf-loop,hash-on-demand)
sample_programs unwound:deep unwound:mutual

grep -q 'lacks bpf-loop' "$work/agent.log" || fail "the agent does not log that it runs without bpf_loop()"
end='main;libc;_start'
expect_stacks unwound:deep --leaf leaf_a --leaf leaf_b --share 70 --stacks \
	"leaf_[ab];both_leaves;(descend_by_pointer;descend\*2;){133}descend_by_pointer;descend;run_deep;$end"
expect_stacks unwound:mutual --leaf leaf_a --leaf leaf_b --share 70 \
	--stacks "leaf_[ab];both_leaves;(is_even;is_odd;){50}is_even;run_mutual;$end"
