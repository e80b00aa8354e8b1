#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A stripped program is sampled first. After its debug file is uploaded, its profile has names and inlined functions.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq readelf

readonly FREQUENCY=397

start_server
start_agent --on_cpu.frequency $FREQUENCY

start_workload inlined 60
pid=$workload_pid
next_second
from=$((second + 1))
to=$((from + 5))
wait_for_coverage $((to + 1))
mine="{\"tag_filter\": \"process_id = $pid\"}"

fetch_profile "$work/before.json" inlined "$from" "$to" "$mine"
expect_no_label "$work/before.json" work_round
expect_no_label "$work/before.json" step_a

build_id=$(readelf -n "$workloads/inlined.debug" 2>/dev/null | sed -n 's/.*Build ID: //p')
table_status() { request GET "/v1/debuginfo/$build_id/status" && jq -r .table.status "$work/body"; }
say "before the upload: $(table_status)"
request PUT "/v1/debuginfo/$build_id" -T "$workloads/inlined.debug"
expect_equal "status of the upload" "$status" 200
wait_for_name step_a inlined "$from" "$to"

fetch_profile "$work/after.json" inlined "$from" "$to" "$mine"
expect_equal "total of the same time range" "$(total_of "$work/after.json")" "$(total_of "$work/before.json")"
samples=$(($(total_of "$work/after.json") * FREQUENCY / 1000000))
for step in step_a:70 step_b:20 step_c:10; do
	expect_near "share of ${step%:*}" "$(share_of "$work/after.json" ${step%:*})" ${step#*:} \
		"$(awk -v p=${step#*:} -v n=$samples 'BEGIN { printf "%.2f", 2 + 3.5 * sqrt(p * (100 - p) / n) }')"
done
expect_near "share of wrap_c" "$(share_of "$work/after.json" wrap_c)" "$(share_of "$work/after.json" step_c)" 0.5
expect_equal "callees of wrap_c" "$(children_of "$work/after.json" wrap_c | tr '\n' ' ')" "step_c "
expect_equal "callees of step_a" "$(children_of "$work/after.json" step_a | tr '\n' ' ')" "spin "
for caller in step_a step_b wrap_c; do
	children_of "$work/after.json" work_round | grep -xF $caller >/dev/null || fail "$caller is not called by work_round"
done

# Without inlined functions, all of the time belongs to the function that has the code.
fetch_profile "$work/plain.json" inlined "$from" "$to" "{\"tag_filter\": \"process_id = $pid\", \"inlines\": false}"
expect_no_label "$work/plain.json" step_a
expect_near "share of work_round without inlines" "$(share_of "$work/plain.json" work_round)" 99 2
expect_equal "total without inlines" "$(total_of "$work/plain.json")" "$(total_of "$work/after.json")"

# /v1/top, /v1/flame and the commands show inlined functions too.
top=$(curl -sS -m 20 "$server_url/v1/top?service=inlined&since=$from&until=$((to + 1))&sort=total&limit=20" |
	jq -r '.functions[].function')
grep -xF step_b <<<"$top" >/dev/null || fail "step_b is not among the functions: $top"
top=$(curl -sS -m 20 "$server_url/v1/top?service=inlined&since=$from&until=$((to + 1))&limit=20&inlines=0" |
	jq -r '.functions[].function')
! grep -xF step_b <<<"$top" || fail "step_b is among the functions without inlines"
"$hearth" flame --server "$server_url" --service inlined --since "$from" --until "$((to + 1))" >"$work/flame.txt"
grep -F step_a "$work/flame.txt" >/dev/null || fail "the flame graph in the terminal has no step_a"
"$hearth" flame --server "$server_url" --service inlined --since "$from" --until "$((to + 1))" --no-inlines >"$work/flame.txt"
! grep -F step_a "$work/flame.txt" || fail "the flame graph without inlines has step_a"

request GET "/v1/debuginfo/$build_id/status"
expect_equal "status of the table" "$(jq -r .table.status "$work/body")" ready
jq -e '.table.sources | contains(["dwarf", "lines"])' "$work/body" >/dev/null || fail "the table has no lines: $(cat "$work/body")"

# /v1/symbolize: the inline chain of an address, with files and lines.
address=$(readelf -sW "$workloads/inlined.debug" | awk '$8 == "work_round" { print $2; exit }')
jq -nc --arg id "$build_id" --arg at "$address" \
	'{ build_id: $id, addresses: [range(0; 256) | . + ($at | ltrimstr("0x") | explode
		| reduce .[] as $c (0; . * 16 + (if $c > 96 then $c - 87 else $c - 48 end)))] }' >"$work/question.json"
request POST /v1/symbolize --data-binary "@$work/question.json"
jq -e '[.frames[] | select([.inlined_into[].function] == ["step_c", "wrap_c", "work_round"])
	| select((.file | endswith("spin.h")) and .line > 0 and (.inlined_into | all(.line > 0)))] | length > 0' \
	"$work/body" >/dev/null || fail "no chain of spin in step_c in wrap_c in work_round: $(head -c 600 "$work/body")"
