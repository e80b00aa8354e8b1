#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The agent does not walk the stacks of 32-bit programs: read as a 64-bit stack, the callers would be wrong. The profile
# shows the innermost frame, its file, and the reason.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq
need_workload program_32
# A kernel without support for 32-bit programs cannot run this one: find out whether it can.
"$workloads/program_32" &
probe_pid=$!
pause 0.3
is_alive $probe_pid || skip "this kernel does not run 32-bit programs"
end_process $probe_pid

start_server
start_agent
start_background program_32 "$workloads/program_32"
next_second
from=$((second + 1))
to=$((from + 8))
wait_for_coverage $((to + 1))
fetch_profile "$work/profile.json" program_32 "$from" "$to"

expect_label "$work/profile.json" "[truncated: 32-bit]"
expect_label "$work/profile.json" "[$workloads/program_32]"
expect_at_least "share of stacks with the reason, in percent" "$(share_of "$work/profile.json" '[truncated: 32-bit]' | cut -d. -f1)" 99
expect_at_least "share of the file, in percent" "$(share_of "$work/profile.json" "[$workloads/program_32]" | cut -d. -f1)" 99
# Each stack has two levels: the reason and the innermost frame.
expect_equal "user frames below others" "$(jq '[.result[] | select(.profile_location_str | startswith("[unknown]"))] | length' \
	"$work/profile.json")" 0
expect_at_least "stacks counted as cut" "$(agent_metric 'stacks_cut_total{reason="32-bit"}')" 50
