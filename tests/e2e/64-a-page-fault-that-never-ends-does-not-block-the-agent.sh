#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The stack of a waiting thread has no pages: another process should supply them (userfaultfd) and never does. Reading that
# stack blocks in the kernel. The waits of other programs are still exact, the stack is counted as not read, and the agent
# stops on SIGTERM.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq
need_workload lazy_memory
need_workload stuck

readonly WAIT_S=12 OFF_CPU='{"profile_event_type": "off-cpu"}'

# The wait starts before the agent, so that only the walk over open waits can find it.
"$workloads/lazy_memory" >"$work/lazy.log" 2>&1 &
lazy_pid=$!
started_pids+=("$lazy_pid")
has_begun() { grep -q ready "$work/lazy.log" || has_ended "$lazy_pid"; }
expect_within 10s has_begun
grep -q ready "$work/lazy.log" || skip "the kernel refuses userfaultfd: $(cat "$work/lazy.log")"

start_server
start_agent --batch_interval 1s --off_cpu.disabled=false
next_second
from=$second
"$workloads/stuck" sleep "$WAIT_S" >"$work/slept" &
sleeper=$!
started_pids+=("$sleeper")
wait "$sleeper"
to=$(($(now_s) + 1))
wait_for_coverage $((to + 1))
wait_for_name sleep_long stuck "$from" "$to" "$OFF_CPU"
fetch_profile "$work/stuck.json" stuck "$from" "$to" \
	"{\"profile_event_type\": \"off-cpu\", \"tag_filter\": \"process_id = $sleeper\"}"
slept_us=$(cat "$work/slept")
expect_near "the wait of the other program, in microseconds" "$(value_of "$work/stuck.json" sleep_long)" "$slept_us" \
	$((slept_us / 100))

# The stack has only the innermost user frame, which comes from the registers.
fetch_profile "$work/lazy.json" lazy_memory "$from" "$to" "$OFF_CPU"
expect_at_least "microseconds that the thread without pages waits" "$(total_of "$work/lazy.json")" $(((WAIT_S - 3) * 1000000))
expect_at_least "stacks that were not read" "$(agent_metric 'off_cpu_unread_total{reason="userfault"}')" 1
expect_equal "walks that hung" "$(agent_metric off_cpu_walks_late_total)" 0

is_alive "$agent_pid" || fail "the agent has ended"
kill -TERM "$agent_pid"
expect_within 20s has_ended "$agent_pid"
wait "$agent_pid" || fail "the agent ended with status $?"
