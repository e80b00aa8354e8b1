#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Programs without frame pointers run for a while, then load a library and work in it for a few ticks. These stacks reach
# _start too, although the agent had not yet processed the library's mmap event.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

readonly RUNS=40 MILLISECONDS=80

# complete_and_all FILE: prints two times in work_of_late: on stacks with work_in_library and _start, and in total.
complete_and_all() {
	jq -r '
		(.result | map({key: .node_id, value: .}) | from_entries) as $nodes
		| [.result[] | select(.profile_location_str | endswith("work_of_late"))
			| {value: .total_value, path: [recurse($nodes[.parent_node_id] // empty; . != null) | .profile_location_str]}]
		| [([.[] | select((.path | index("work_in_library")) != null and (.path | index("_start")) != null) | .value] | add // 0),
		   ([.[].value] | add // 0)]
		| @tsv' "$1"
}

start_server
start_agent
need_workload late_library

next_second
from=$second
for ((run = 0; run < RUNS; run++)); do
	"$workloads/late_library" "$workloads/liblate.so" $MILLISECONDS
done
next_second
to=$second
start_workload shares 60
wait_for_coverage "$((to + 1))"
wait_for_name work_in_library late_library "$from" "$to"

fetch_profile "$work/late.json" late_library "$from" "$to"
read -r complete all < <(complete_and_all "$work/late.json")
printf 'in work_of_late: %d us, of these below work_in_library and _start: %d us\n' "$all" "$complete"
expect_near "CPU time of work_of_late, in microseconds" "$all" $((RUNS * MILLISECONDS * 500)) \
	$((RUNS * MILLISECONDS * 75))
expect_at_least "complete stacks, in thousandths of the time" $((1000 * complete / all)) 990
