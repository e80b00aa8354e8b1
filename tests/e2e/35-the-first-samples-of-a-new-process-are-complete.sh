#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Programs without frame pointers that run for about three ticks: each of their stacks reaches _start, although the BPF
# programs knew nothing of the process at its first tick.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

readonly RUNS=60 MILLISECONDS=40 DEPTH=50

# complete_and_all FILE: prints two times in short_lived_work: on stacks with the full recursion and _start, and in total.
complete_and_all() {
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
# A program that outlives them shows when later batches have arrived.
start_workload shares 60
wait_for_coverage "$((to + 1))"
wait_for_name short_lived_work short_no_fp "$from" "$to"

fetch_profile "$work/short.json" short_no_fp "$from" "$to"
read -r complete all < <(complete_and_all "$work/short.json")
printf 'in short_lived_work: %d us, of these with the full recursion and _start: %d us\n' "$all" "$complete"
expect_near "CPU time of short_lived_work, in microseconds" "$all" $((RUNS * MILLISECONDS * 1000)) \
	$((RUNS * MILLISECONDS * 100))
expect_equal "microseconds in complete stacks" "$complete" "$all"
