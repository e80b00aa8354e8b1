#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The kernel needs some time to free the memory of an exiting process (exit_mm()). This time belongs to the process, with
# kernel frames only. Its stacks are not counted as cut, because there is no user stack any more.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

readonly PROCESSES=20 MIB=512

start_server
start_agent
need_workload memory_back

next_second
from=$second
true_us=$("$workloads/memory_back" $PROCESSES $MIB)
next_second
to=$second
start_workload shares 60
wait_for_coverage "$((to + 1))"
wait_for_name ends_with_much_memory memory_back "$from" "$to"

fetch_profile "$work/profile.json" memory_back "$from" "$to"
all=$(total_of "$work/profile.json")
# Kernel frames directly below the process, without user frames.
alone=$(jq -r '
	([.result[] | select(.parent_node_id == "") | .node_id]) as $processes
	| [.result[] | select((.profile_location_str | startswith("[k] ")) and ([.parent_node_id] | inside($processes)))
		| .total_value] | add // 0' "$work/profile.json")
printf 'CPU time %d us, sampled %d us, of these in the kernel alone %d us\n' "$true_us" "$all" "$alone"
expect_near "sampled, in microseconds" "$all" "$true_us" $((true_us / 10 + 50000))
# Some tenth of the time: allocating the pages takes longer than freeing them. No such stack is marked as truncated.

expect_at_least "in the kernel alone, in percent" $((100 * alone / all)) 3
expect_no_label "$work/profile.json" "[truncated"
