#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A process with thousands of executable mappings, as JIT compilers create: the mappings do not fit into one chunk of the
# BPF maps, and the stacks are complete anyway.

#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/known_stacks.sh"

sample_programs unwound:mappings

expect_stacks unwound:mappings --leaf leaf_a --leaf leaf_b --share 70 \
	--stacks "leaf_[ab];both_leaves;\[anonymous\]\*2;run_jit;run_with_mappings;main;libc;_start"
for metric in mappings_dropped_total mappings_truncated_total publish_failures_total; do
	expect_equal "$metric" "$(agent_metric $metric)" 0
done
