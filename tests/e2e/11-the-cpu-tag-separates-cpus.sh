#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# With on_cpu.cpu, samples have their CPU: a program bound to one CPU has samples of that CPU only.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq taskset
[ "$(nproc)" -ge 2 ] || skip "needs two CPUs"

start_server
start_agent --on_cpu.cpu 1
need_workload shares
start_background pinned-0 taskset -c 0 "$workloads/in_library" 60
start_background pinned-1 taskset -c 1 "$workloads/shares" 60
next_second
from=$((second + 2))
to=$((from + 5))
wait_for_coverage $((to + 1))

on_cpu() { query_profile "$1" "$from" "$to" "{\"tag_filter\": \"cpu = $2\"}" >"$work/cpu.json" && total_of "$work/cpu.json"; }
fetch_profile "$work/shares.json" shares "$from" "$to"
expect_equal "time of shares on CPU 0" "$(on_cpu shares 0)" 0
expect_equal "time of shares on CPU 1" "$(on_cpu shares 1)" "$(total_of "$work/shares.json")"
expect_equal "time of in_library on CPU 1" "$(on_cpu in_library 1)" 0
expect_at_least "time of in_library on CPU 0" "$(on_cpu in_library 0)" 1000000

# When grouped by CPU, the CPU is the second level, and threads are the third.
fetch_profile "$work/grouped.json" shares "$from" "$to" '{"group_by": "cpu"}'
expect_equal "groups" "$(children_of "$work/grouped.json" shares)" "[g] cpu=1"
expect_equal "below the group" "$(children_of "$work/grouped.json" "[g] cpu=1" | tr '\n' ' ')" \
	"[t] flush [t] ingest [t] parse [t] render "
