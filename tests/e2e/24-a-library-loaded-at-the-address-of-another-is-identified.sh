#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Several times a second a program unloads one library and loads another library at the same address. It calls library A only
# from below_a(), and library B only from below_b(). So no stack through below_a() may have a frame of library B, or the reverse.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq
need_workload swap_libraries

start_server
start_agent --on_cpu.frequency 397
start_workload swap_libraries 60 "$workloads/libturn_a.so" "$workloads/libturn_b.so"
for name in "[l] work_of_a" "[l] work_of_b" below_a below_b; do
	wait_for_name "$name" swap_libraries "$(now_s)" $(($(now_s) + 60))
done

next_second
from=$second
sleep_until $((from + 4))
is_alive "$workload_pid" || fail "the workload ended: its libraries were not loaded at the same address"
wait_for_coverage $((from + 4))
fetch_profile "$work/turns.json" swap_libraries "$from" $((from + 3))

# below LABEL: all labels below it, at any depth.
below() {
	jq -r --arg wanted "$1" '
		.result as $nodes | INDEX($nodes[]; .node_id) as $by_id
		| $nodes[] | select([$by_id[.parent_node_id] // empty | recurse($by_id[.parent_node_id] // empty)
			| .profile_location_str] | index([$wanted])) | .profile_location_str' "$work/turns.json" | sort -u
}

for turn in a:b b:a; do
	say "below below_${turn%:*}: $(below "below_${turn%:*}" | tr '\n' ' ')"
	below "below_${turn%:*}" | grep -qxF "[l] work_of_${turn%:*}" || fail "no work_of_${turn%:*}"
	! below "below_${turn%:*}" | grep -xF "[l] work_of_${turn#*:}" || fail "work_of_${turn#*:} is below the caller of the other library"
done
share=$(awk -v a="$(share_of "$work/turns.json" "[l] work_of_a")" -v b="$(share_of "$work/turns.json" "[l] work_of_b")" 'BEGIN { print a + b }')
expect_at_least "percent with a named function" "$share" 95
