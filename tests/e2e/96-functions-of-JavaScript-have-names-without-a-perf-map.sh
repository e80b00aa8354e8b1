#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Stacks of Node.js have the functions of JavaScript, without an option of Node.js: of known shares, in deep recursion, called
# by V8's built-in functions, and in workers. The shares are those that Node's own profiler finds in the same program.
#
# V8 inlines functions into their callers, which hides them. Here it is told not to, so that the shares are known.
. "$(dirname "$0")/function_nodes.sh"
need_root
need_tools curl jq

script=$e2e_root/tests/workloads/javascript_stacks.js
node=$(readlink -f "$(command -v node)") || skip "needs node"
case $("$node" -p process.versions.v8) in
10.2.* | 11.3.* | 12.4.* | 13.6.*) ;;
*) skip "needs Node.js 18, 20, 22 or 24, found $("$node" --version)" ;;
esac
without_inlining=(--no-turbo-inlining)
! "$node" --v8-options | grep -q maglev-inlining || without_inlining+=(--no-maglev-inlining)

# A process has the name of the file that it executes, also if that is a symbolic link.
start_script() {
	ln -s "$node" "$work/js_$1"
	start_background "js_$1" "$work/js_$1" "${without_inlining[@]}" "${@:2}" "$script" "$1" "$work/end"
	pids[$1]=$background_pid
}

# expect_callers FILE NAME PATTERN: all callers of the function match.
expect_callers() {
	local wrong
	wrong=$(callers_of "$1" "$2" | grep -vE "$3" | head -n 3 || true)
	[ -z "$wrong" ] || fail "callers of $2 are not $3: $wrong"
	[ -n "$(callers_of "$1" "$2")" ] || fail "no function $2"
}

# profiler_share NAME: percent of the samples of Node's profiler that have the function, of those with shares().
profiler_share() {
	jq -r --arg name "$1" '
		(reduce .nodes[] as $n ({}; .[$n.id | tostring] = $n)) as $byId
		| (reduce .nodes[] as $n ({}; reduce ($n.children // [])[] as $c (.; .[$c | tostring] = $n.id))) as $parent
		| def names($id): if $id == null then [] else [$byId[$id | tostring].callFrame.functionName] + names($parent[$id | tostring]) end;
		[.nodes[] | { names: names(.id), count: .hitCount } | select(.names | index("shares"))] as $all
		| ([$all[] | select(.names | index($name)) | .count] | add // 0) as $with
		| 100 * $with / ([$all[].count] | add)' "$work"/profiler/*.cpuprofile
}

readonly FREQUENCY=997 LEAST_CPU_US=2500000

start_server
start_agent --on_cpu.frequency $FREQUENCY
declare -A pids cpu_before
start_script shares --cpu-prof --cpu-prof-dir="$work/profiler"
start_script calls
start_script threads

# is_named SERVICE: in the last 3 seconds. Until the unwind rows of node are loaded, a few MiB, stacks are cut.
is_named() {
	query_profile "$1" "$(($(now_s) - 3))" "$(now_s)" >"$work/named.json"
	labels_of "$work/named.json" | grep -F ' (javascript_stacks.js:' >/dev/null &&
		awk -v cut="$(percent_cut "$work/named.json")" 'BEGIN { exit cut > 0.5 }'
}

for program in js_shares js_calls js_threads; do
	expect_within 90s is_named $program
done
next_second
from=$second
for program in "${!pids[@]}"; do
	cpu_before[$program]=$(cpu_time_us "${pids[$program]}")
done
expect_within 90s have_run
next_second
wait_for_coverage "$second"
: >"$work/end"
for program in "${!pids[@]}"; do
	expect_within 30s has_ended "${pids[$program]}"
done
for program in shares calls threads; do
	fetch_profile "$work/$program.json" js_$program "$from" $((second - 1))
	expect_exact_sums "$work/$program.json"
	expect_complete "$work/$program.json"
done

profile=$work/shares.json
in_shares=$(function_total "$profile" shares)
expect_at_least "percent of shares()" "$(function_share "$profile" shares)" 80
for function in sixty:60 thirty:30 ten:10; do
	expect_share "$profile" "${function%:*}" "${function#*:}" 2 "$in_shares"
	expect_near "percent of ${function%:*}() by Node's profiler" "$(profiler_share "${function%:*}")" "${function#*:}" 3
	expect_callers "$profile" "${function%:*}" '^shares<\(script\)<'
done
expect_label "$profile" 'sixty (javascript_stacks.js:27)'
expect_label "$profile" 'spin (javascript_stacks.js:15)'

profile=$work/calls.json
# V8's built-in functions may be between a function and the one that it gave them, unless they were inlined.
expect_callers "$profile" tax '^([^<]+<)*total<calls<'
expect_callers "$profile" numbers '^([^<]+<)*consume<calls<'
expect_callers "$profile" throws '^catches<calls<'
deepest=$(callers_of "$profile" spin | awk -F'<' '{ n = 0; for (i = 1; i <= NF; i++) n += $i == "descend"; print n }' | sort -n | tail -n 1)
expect_equal "levels of descend() below spin()" "$deepest" 100
# Each of them calls spin() with the same number of rounds in sum.
parts=0
for function in descend cheapest total consume catches waits; do
	parts=$((parts + $(function_total "$profile" $function)))
done
for function in descend total consume catches waits; do
	expect_near "percent of $function()" "$(function_share "$profile" $function "$parts")" 16.7 4
done

profile=$work/threads.json
expect_at_least "percent of firstThread()" "$(function_share "$profile" firstThread)" 20
expect_at_least "percent of secondThread()" "$(function_share "$profile" secondThread)" 20
expect_callers "$profile" firstThread '^worker<\(script\)<'

expect_at_least "frames of functions" "$(agent_metric 'byte_code_frames_total{runtime="v8"}')" 1000
