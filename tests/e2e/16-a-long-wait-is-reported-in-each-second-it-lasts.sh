#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The agent reports a long wait in parts while it lasts: each second of the wait is in the profile of that second, the
# sum is exact, and the end of the wait counts nothing twice. off_cpu.min_blocking_time leaves out shorter waits. Waits
# before execve() belong to the old program, waits after it to the new one. HEARTH_E2E_LONG_WAIT_S=180 waits for three
# minutes.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

readonly WAIT_S=${HEARTH_E2E_LONG_WAIT_S:-17} OFF_CPU='{"profile_event_type": "off-cpu"}'

# Each batch has the parts of waits that go on: batches of one second would hide parts that end at second boundaries.
agent_batch_interval=5s

start_server
start_agent --off_cpu.disabled=false --off_cpu.min_blocking_time 5ms --off_cpu.regex '^(stuck|off_cpu_waits)$'
need_workload stuck
next_second
from=$second
"$workloads/stuck" sleep "$WAIT_S" >"$work/slept" &
started_pids+=($!)
sleeper=$!
"$workloads/off_cpu_waits" 5 >"$work/truth"
"$workloads/stuck" exec 3 >"$work/exec" &
executor=$!
started_pids+=("$executor")
wait "$executor" "$sleeper"
to=$(($(now_s) + 1))
wait_for_coverage $((to + 1))
sleeper_is="\"tag_filter\": \"process_id = $sleeper\""
wait_for_name sleep_long stuck "$from" "$to" "{\"profile_event_type\": \"off-cpu\", $sleeper_is}"
fetch_profile "$work/all.json" stuck "$from" "$to" "{\"profile_event_type\": \"off-cpu\", $sleeper_is}"
slept_us=$(cat "$work/slept")
expect_near "the whole wait, in microseconds" "$(value_of "$work/all.json" sleep_long)" "$slept_us" $((slept_us / 500))

# Every second except the first and the last has one second of the wait.
second_of() {
	query_profile stuck "$1" "$1" "{\"profile_event_type\": \"off-cpu\", $sleeper_is}" >"$work/second.json"
	value_of "$work/second.json" sleep_long
}
odd=0
for ((second = from + 2; second < from + WAIT_S - 2; second++)); do
	value=$(second_of $second)
	[ "$value" -ge 900000 ] && [ "$value" -le 2000000 ] || odd=$((odd + 1))
done
# Parts reported with a batch begin where it was closed: a second may have no part, and the next one two.
expect_at_most "seconds with too little or too much of the wait" $odd $((WAIT_S / 4))

# ---- off_cpu.min_blocking_time of 5 ms: no sleep of 1 ms is reported, all longer waits are
wait_for_name wait_for_pipe off_cpu_waits "$from" "$to" "$OFF_CPU"
fetch_profile "$work/waits.json" off_cpu_waits "$from" "$to" "$OFF_CPU"
expect_at_least "waits dropped as too short" "$(agent_metric 'off_cpu_dropped_total{reason="too-short"}')" 300
expect_no_label "$work/waits.json" "[l] usleep"
pipe_us=$(awk '$1 == "wait_for_pipe" { print $3 }' "$work/truth")
expect_near "time of longer waits" "$(value_of "$work/waits.json" wait_for_pipe)" "$pipe_us" $((pipe_us / 20))

say "ends of waits that the agent did not see: $(agent_metric off_cpu_unseen_ends_total)"

# ---- execve() in the middle of a process: 3 s for each program
fetch_profile "$work/exec.json" stuck "$from" "$to" "{\"profile_event_type\": \"off-cpu\", \"tag_filter\": \"process_id = $executor\"}"
expect_near "time before execve()" "$(value_of "$work/exec.json" become_another)" 3000000 60000
expect_near "time after execve()" "$(value_of "$work/exec.json" sleep_long)" 3000000 60000

# ---- off_cpu.regex: no other program is reported, not even in Total
query_profile bash "$from" "$to" "$OFF_CPU" >"$work/other.json"
expect_equal "waits of other programs" "$(total_of "$work/other.json")" 0
fetch_profile "$work/total.json" Total "$from" "$to" "$OFF_CPU"
expect_equal "services in Total" "$(children_of "$work/total.json" Total | tr '\n' ' ')" "[p] off_cpu_waits [p] stuck "
