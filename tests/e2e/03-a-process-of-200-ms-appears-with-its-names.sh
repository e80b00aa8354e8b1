#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Processes that have ended before the agent looks at /proc appear in the profile with the names of their functions.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

readonly RUNS=20

start_server
start_agent
need_workload short

next_second
from=$second
pids=()
for ((run = 0; run < RUNS; run++)); do
	"$workloads/short" 200 &
	pids+=($!)
	wait $!
done
next_second
to=$second
# A program that outlives them shows when later batches have arrived.
start_workload shares 60
wait_for_coverage "$((to + 1))"
wait_for_name short_lived_work short "$from" "$to"

fetch_profile "$work/short.json" short "$from" "$to"
expect_near "CPU time of all runs, in microseconds" "$(total_of "$work/short.json")" $((RUNS * 200000)) $((RUNS * 20000))
expect_near "share of short_lived_work" "$(share_of "$work/short.json" short_lived_work)" 100 4
expect_no_label "$work/short.json" "[unknown]"

# Check each run: 200 ms are 20 ticks, too many to miss all by chance.
named=0
for pid in "${pids[@]}"; do
	query_profile short "$from" "$to" "{\"tag_filter\": \"process_id = $pid\"}" >"$work/one.json"
	[ "$(value_of "$work/one.json" short_lived_work)" = 0 ] || named=$((named + 1))
done
expect_equal "runs with a named function" $named $RUNS
