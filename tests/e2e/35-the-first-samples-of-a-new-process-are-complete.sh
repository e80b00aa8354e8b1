#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Programs without frame pointers that live for three ticks or so: each of their stacks reaches _start, though none of
# them was known to the kernel side when its first tick came.
#
# This test needs one CPU.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

readonly RUNS=60 MILLISECONDS=40 DEPTH=50

# whole_and_all FILE: of the time in short_lived_work, what lies below _start and all of the descent; and all of it
whole_and_all() {
	jq -r --argjson depth "$DEPTH" '
		(.result | map({key: .node_id, value: .}) | from_entries) as $nodes
		| [.result[] | select(.profile_location_str == "short_lived_work")
			| {value: .total_value, path: [recurse($nodes[.parent_node_id] // empty; . != null) | .profile_location_str]}]
		| [([.[] | select((.path | map(select(. == "short_lived_descent")) | length) == $depth
				  and (.path | index("_start")) != null) | .value] | add // 0),
		   ([.[].value] | add // 0)]
		| @tsv' "$1"
}

start_server
start_agent
need_workload short_no_fp

next_second
from=$second
for ((run = 0; run < RUNS; run++)); do
	"$workloads/short_no_fp" $MILLISECONDS $DEPTH || true
done
next_second
to=$second
# Something that outlives them, so that later batches are known to have come.
start_workload shares 60
wait_for_coverage "$((to + 1))"
wait_for_name short_lived_work short_no_fp "$from" "$to"

fetch_profile "$work/short.json" short_no_fp "$from" "$to"
read -r whole all < <(whole_and_all "$work/short.json")
printf 'in short_lived_work: %d us, of these below all of the descent and _start: %d us\n' "$all" "$whole"
expect_near "CPU time of short_lived_work, in microseconds" "$all" $((RUNS * MILLISECONDS * 1000)) \
	$((RUNS * MILLISECONDS * 100))
expect_equal "microseconds in whole stacks" "$whole" "$all"
