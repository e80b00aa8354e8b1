#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Total shows the whole host in three levels. on_cpu.regex selects the processes with stacks; it does not change times.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

start_server
readonly WINDOW_S=5

start_agent --on_cpu.frequency 397 --on_cpu.regex '^shares$'
start_workload shares 60
start_workload in_library 60
start_workload rename_threads 60
next_second
from=$((second + 2))
to=$((from + WINDOW_S - 1))
wait_for_coverage $((to + 1))

fetch_profile "$work/total.json" Total "$from" "$to"
expect_exact_sums "$work/total.json"
expect_label "$work/total.json" "[p] shares"
expect_label "$work/total.json" "[p] in_library"
expect_label "$work/total.json" "[t] ingest"
expect_label "$work/total.json" "[t] second-name"
# The main thread renamed itself to MainThread: the process keeps the name that it was started with.
expect_label "$work/total.json" "[p] rename_threads"
expect_no_label "$work/total.json" "MainThread"
expect_no_label "$work/total.json" work_a
expect_no_label "$work/total.json" library_work

depth=$(jq '.result as $n | INDEX($n[]; .node_id) as $by
	| [$n[] | [recurse($by[.parent_node_id] // empty)] | length] | max' "$work/total.json")
expect_equal "levels of Total" "$depth" 3

# in_library has no thread but the main thread: its time is the self value of [p].
expect_equal "self value of [p] in_library" \
	"$(jq '.result[] | select(.profile_location_str == "[p] in_library") | .self_value' "$work/total.json")" \
	"$(value_of "$work/total.json" "[p] in_library")"

# All CPUs are busy: Total is the wall time multiplied by the number of CPUs.
expect_near "Total, in microseconds" "$(total_of "$work/total.json")" $((WINDOW_S * 1000000 * $(nproc))) $((WINDOW_S * 100000 * $(nproc)))

# Total and the service's profile agree on one process.
wait_for_name work_a shares "$from" "$to"
fetch_profile "$work/shares.json" shares "$from" "$to"
# A root is rounded to the next microsecond. In a tree, values are rounded so that they add up to the root exactly: a node may
# be one microsecond less or more than its own rounded value.
expect_near "shares in Total and by itself" "$(value_of "$work/total.json" "[p] shares")" "$(total_of "$work/shares.json")" 1
expect_label "$work/shares.json" work_a

# The agent took no stacks of in_library: the result is empty, with a description, and it is not listed as a service.
query_profile in_library "$from" "$to" >"$work/left_out.json"
expect_equal "result for a process without stacks" "$(jq -c '.OPT_STATUS, (.result | length)' "$work/left_out.json" | tr '\n' ' ')" \
	'"SUCCESS" 0 '
[ "$(jq -r .DESCRIPTION "$work/left_out.json")" != "" ] || fail "an empty result has no description"
request GET "/v1/services?last=5m"
expect_equal "status of the list of services" "$status" 200
[[ $body == *'"shares"'* ]] || fail "shares is not listed: $body"
[[ $body != *'"Total"'* ]] || fail "Total is listed as a service"
