#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Kernels before 6.18 have no task work for BPF. There the agent itself reads the missing page: a stack that
# is dropped every two seconds is cut once each time and then complete. With absent_pages "leave" it is never complete.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq pgrep

readonly WINDOW_S=6
readonly DROP_EVERY_MS=2000
readonly ROOT=on_a_stack_in_a_file

# Another agent would complete the stacks in the thread's context, which makes the pages present for our agent too.
is_alone() { [ "$(pgrep -c -x hearth-agent)" -le "$1" ]; }
wait_until 120s is_alone 0 || skip "another agent runs on this host"
start_server

# measure NAME ROOT_IS_EXPECTED: sets $complete, the share of absent_stack's time with the outermost frame.
measure() {
	local from to
	# With the first samples the agent looks up the program.
	next_second
	from=$((second + 3))
	to=$((from + WINDOW_S - 1))
	wait_for_coverage $((to + 1))
	wait_for_name at_the_bottom absent_stack "$from" "$to"
	[ -z "$2" ] || wait_for_name $ROOT absent_stack "$from" "$to"
	fetch_profile "$work/$1.json" absent_stack "$from" "$to"
	expect_at_least "time with $1, in ms" $(($(total_of "$work/$1.json") / 1000)) $((WINDOW_S * 50))
	complete=$(share_of "$work/$1.json" $ROOT)
	is_alone 1 || skip "another agent began to run on this host (share $complete)"
}

start_agent --unwind.absent_pages touch
start_workload absent_stack 200 $DROP_EVERY_MS
measure touch named
expect_at_least "share with the outermost frame, in percent" "$complete" 85
expect_at_least "pages touched" "$(agent_metric 'absent_pages_total{outcome="touched"}')" 2
expect_equal "stacks deferred" "$(agent_metric stacks_deferred_total)" 0

stop_agent
rm -f "$agent_metrics"
start_agent --unwind.absent_pages leave
measure leave ''
expect_at_most "share with the outermost frame if pages are left, in percent" "$complete" 5
expect_equal "pages touched" "$(agent_metric absent_pages_total)" 0
expect_at_least "stacks cut" "$(agent_metric 'stacks_cut_total{reason="read-fault"}')" $((WINDOW_S * 5))
