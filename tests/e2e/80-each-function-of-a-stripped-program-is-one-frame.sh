#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Functions of a stripped program are frames, named by the file and the start address of the function, in /v1/flame, /v1/top
# and the commands. ProfileTracing has one frame for the file by default. Uploaded debuginfo replaces both.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq nm readelf

# start_of FUNCTION: the function's label without symbols, computed from the symbols that were stripped.
start_of() { nm "$workloads/stripped.debug" | awk -v name="$1" '$3 == name { sub(/^0+/, "", $1); print "stripped+0x" $1 }'; }

# flame FILE [PARAMETERS]: filters by time range and process, because another program may have the same name.
flame() {
	curl -sS -m 30 -G --data-urlencode "filter=process_id = $pid" -o "$work/$1" \
		"$server_url/v1/flame?service=stripped&since=$from&until=$((to + 1))&format=nodes${2:-}"
}

has_function_starts() {
	flame flame.json && labels_of "$work/flame.json" | grep -xF -- "$work_a" >/dev/null && has_kernel_names "$work/flame.json"
}

# expect_same_labels FILE OTHER: both profiles have the same set of labels
expect_same_labels() { diff <(labels_of "$work/$1") <(labels_of "$work/$2") || fail "the labels of $1 are not those of $2"; }

start_server
start_agent --on_cpu.frequency 397
start_workload stripped 200
pid=$workload_pid
next_second
from=$((second + 1))
to=$((from + 5))
wait_for_coverage $((to + 1))

work_a=$(start_of work_a) work_b=$(start_of work_b) work_c=$(start_of work_c) work_round=$(start_of work_round)
expect_within 150s has_function_starts
end_process "$pid"

# ---- the shares are those of a program with names (test 01)
expect_near "share of $work_a" "$(share_of "$work/flame.json" "$work_a")" 70 5
expect_near "share of $work_b" "$(share_of "$work/flame.json" "$work_b")" 20 4
expect_near "share of $work_c" "$(share_of "$work/flame.json" "$work_c")" 10 3
expect_equal "callees of $work_round" "$(children_of "$work/flame.json" "$work_round" | sort)" \
	"$(printf '%s\n' "$work_a" "$work_b" "$work_c" | sort)"
expect_no_label "$work/flame.json" "[$workloads/stripped]"
expect_near "share that counts as unresolved" "$(jq '100 * .stats.unsymbolized_stripped / .stats.total' "$work/flame.json")" 99 2

# ---- the API and the commands
row=$(curl -sS -m 30 -G --data-urlencode "filter=process_id = $pid" \
	"$server_url/v1/top?service=stripped&since=$from&until=$((to + 1))&limit=1" | jq -r '.functions[0] | "\(.function) \(.type)"')
expect_equal "first function and its type" "$row" "$work_a ?"
"$hearth" flame stripped --server "$server_url" --since "$from" --until "$((to + 1))" >"$work/flame.txt"
grep -F -- "$work_a" "$work/flame.txt" >/dev/null || fail "the flame graph in the terminal lacks $work_a: $(cat "$work/flame.txt")"

mine="\"tag_filter\": \"process_id = $pid\""
fetch_profile "$work/tracing.json" stripped "$from" "$to" "{$mine}"
expect_label "$work/tracing.json" "[$workloads/stripped]"
expect_no_label "$work/tracing.json" "stripped+0x"
expect_equal "total of ProfileTracing" "$(total_of "$work/tracing.json")" "$(total_of "$work/flame.json")"
fetch_profile "$work/starts.json" stripped "$from" "$to" "{$mine, \"function_starts\": true}"
expect_same_labels starts.json flame.json
flame files.json "&function_starts=0"
expect_same_labels files.json tracing.json

# ---- uploaded debuginfo replaces the labels
build_id=$(readelf -n "$workloads/stripped.debug" 2>/dev/null | sed -n 's/.*Build ID: //p')
request PUT "/v1/debuginfo/$build_id" -T "$workloads/stripped.debug"
expect_equal "status of the upload" "$status" 200
wait_for_name work_a stripped "$from" "$to"
flame named.json
expect_near "share of work_a" "$(share_of "$work/named.json" work_a)" "$(share_of "$work/flame.json" "$work_a")" 0.01
expect_no_label "$work/named.json" "stripped+0x"
