#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two threads take each other's locks and deadlock. While the deadlock lasts, both stacks are shown complete, with all of
# the elapsed time; also by an agent that starts after the deadlock. A stack that was cut at the start of its wait,
# because a page of it was not resident, becomes complete once the agent has walked the open waits.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

# waits_of PID: the query's further fields. Another test may run programs of the same names.
waits_of() { printf '{"profile_event_type": "off-cpu", "tag_filter": "process_id = %d"}' "$1"; }

# expect_stuck WHAT FROM TO: both threads waited in pthread_mutex_lock() all of the time.
expect_stuck() {
	local what=$1 from=$2 to=$3 function seconds waits
	waits=$(waits_of "$workload_pid")
	seconds=$((to - from + 1))
	wait_for_name lock_second_then_first stuck "$from" "$to" "$waits"
	wait_for_name '[k] futex_wait' stuck "$from" "$to" "$waits"
	fetch_profile "$work/stuck.json" stuck "$from" "$to" "$waits"
	is_alive "$workload_pid" || fail "the program ended"
	for function in lock_first_then_second lock_second_then_first; do
		# A wait is reported at the end of each second: the first or last second may be missing or extra.
		expect_near "$what: $function" "$(value_of "$work/stuck.json" $function)" $((seconds * 1000000)) 1100000
		expect_label "$work/stuck.json" take_locks
	done
	expect_label "$work/stuck.json" "[t] first"
	expect_label "$work/stuck.json" "[t] second"
	expect_label "$work/stuck.json" "[k] futex_wait"
}

start_server
start_agent --off_cpu.disabled=false
need_workload absent_stack
"$workloads/absent_stack" 60 0 >/dev/null &
absent_pid=$!
started_pids+=("$absent_pid")
start_workload stuck deadlock
is_stuck() { grep -q stuck "$work/workload-stuck.log"; }
expect_within 20s is_stuck
next_second
from=$((second + 1))
sleep_until $((from + 8))
wait_for_coverage $((from + 9))
expect_stuck "agent started before the deadlock" $from $((from + 7))
wait_for_name on_a_stack_in_a_file absent_stack $from $((from + 7)) "$(waits_of "$absent_pid")"
fetch_profile "$work/absent.json" absent_stack $from $((from + 7)) "$(waits_of "$absent_pid")"
expect_near "time of a stack that was cut at first" "$(value_of "$work/absent.json" on_a_stack_in_a_file)" 8000000 1100000
expect_exact_sums "$work/absent.json"
# Kernel frames are those at the context switch: all waits have __schedule.
expect_equal "time below __schedule" "$(value_of "$work/absent.json" '[k] __schedule')" \
	"$(total_of "$work/absent.json")"
expect_at_least "open waits" "$(agent_metric off_cpu_open_waits)" 3

# ---- an agent that starts later
stop_agent
rm -f "$agent_metrics"
start_agent --off_cpu.disabled=false
next_second
from=$((second + 2))
sleep_until $((from + 6))
wait_for_coverage $((from + 7))
expect_stuck "agent started after the deadlock" $from $((from + 5))
