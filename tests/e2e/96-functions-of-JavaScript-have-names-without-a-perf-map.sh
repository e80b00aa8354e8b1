#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Stacks of Node.js have the functions of JavaScript, without an option of Node.js: of known shares, in deep recursion, called
# by V8's built-in functions, in workers, and inlined by V8 into each other. The shares are those that Node's own profiler finds
# in the same program.
#
# All programs but one run without inlining, so that each function is known to have its own frame. To check another
# version: HEARTH_NODE=/path/to/node.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/function_nodes.sh"
need_root
need_tools curl jq

script=$e2e_root/tests/workloads/javascript_stacks.js
node=$(readlink -f "$(command -v "${HEARTH_NODE:-node}")") || skip "needs ${HEARTH_NODE:-node}"
case $("$node" -p process.versions.v8) in
10.2.* | 11.3.* | 12.4.* | 13.6.*) ;;
*) skip "needs Node.js 18, 20, 22 or 24, found $("$node" --version)" ;;
esac
without_inlining=(--no-turbo-inlining)
! "$node" --v8-options | grep -q maglev-inlining || without_inlining+=(--no-maglev-inlining)

# start_script NAME PROGRAM FLAGS...: a process has the name of the file that it executes, also if that is a symbolic link.
start_script() {
	ln -s "$node" "$work/js_$1"
	start_background "js_$1" "$work/js_$1" "${@:3}" "$script" "$2" "$work/end"
	pids[$1]=$background_pid
}

# line_share FILE LABEL TOTAL: percent of TOTAL whose stacks have the label.
line_share() { awk -v value="$(value_of "$1" "$2")" -v total="$3" 'BEGIN { printf "%.2f\n", 100 * value / total }'; }

# profiler_share NAME: percent of the samples of Node's profiler that have the function, of those with shares().
profiler_share() {
	jq -r --arg name "$1" '
		(reduce .nodes[] as $n ({}; .[$n.id | tostring] = $n)) as $byId
		| (reduce .nodes[] as $n ({}; reduce ($n.children // [])[] as $c (.; .[$c | tostring] = $n.id))) as $parent
		| def names($id): if $id == null then [] else [$byId[$id | tostring].callFrame.functionName] + names($parent[$id | tostring]) end;
		[.nodes[] | { names: names(.id), count: .hitCount } | select(.names | index("shares"))] as $all
		| ([$all[].count] | add) as $total
		| ([$all[] | select(.names | index($name)) | .count] | add // 0) as $with
		| "\(100 * $with / $total) \($total)"' "$work"/profiler_shares/*.cpuprofile
}

# profiler_lines FIRST LAST FROM TO: percent of the samples of Node's profiler in the lines from FROM to TO, of those in the lines
# from FIRST to LAST, and the number of these. This profiler has no frames of inlined functions, but their lines.
profiler_lines() {
	jq -r --argjson first "$1" --argjson last "$2" --argjson from "$3" --argjson to "$4" '
		[.nodes[] | select(.callFrame.url | endswith("javascript_stacks.js")) | .positionTicks[]?
			| select(.line >= $first and .line <= $last)] as $all
		| ([$all[].ticks] | add) as $total
		| ([$all[] | select(.line >= $from and .line <= $to) | .ticks] | add // 0) as $with
		| "\(100 * $with / $total) \($total)"' "$work"/profiler_inlined/*.cpuprofile
}

# self_in_lines FILE FIRST LAST FROM TO: percent of the time in the lines from FROM to TO, of that in the lines from FIRST to LAST.
self_in_lines() {
	jq -r '.result[] | select(.self_value > 0) | "\(.self_value)\t\(.profile_location_str)"' "$1" |
		sed -nE 's/^([0-9]+)\t.* \(javascript_stacks\.js:([0-9]+)\)$/\1 \2/p' |
		awk -v first="$2" -v last="$3" -v from="$4" -v to="$5" '
			$2 >= first && $2 <= last { total += $1; if ($2 >= from && $2 <= to) with += $1 }
			END { printf "%.2f\n", total ? 100 * with / total : 0 }'
}

# expect_near_sample WHAT PERCENT EXPECTED POINTS SAMPLES: within POINTS and 3.5 standard deviations of the number of samples.
expect_near_sample() {
	expect_near "$1" "$2" "$3" "$(awk -v p="$3" -v points="$4" -v n="$5" 'BEGIN { printf "%.2f\n", points + 3.5 * sqrt(p * (100 - p) / n) }')"
}

readonly FREQUENCY=997 LEAST_CPU_US=2500000

start_server
start_agent --on_cpu.frequency $FREQUENCY --budget.memory 256MiB
declare -A pids cpu_before
start_script shares shares "${without_inlining[@]}" --cpu-prof --cpu-prof-dir="$work/profiler_shares"
start_script calls calls "${without_inlining[@]}"
start_script threads threads "${without_inlining[@]}"
start_script inlined inlined --cpu-prof --cpu-prof-dir="$work/profiler_inlined"
start_script unprofiled inlined

# is_named SERVICE: in the last 3 seconds. Until the unwind rows of node are loaded, a few MiB, stacks are cut.
is_named() {
	query_profile "$1" "$(($(now_s) - 3))" "$(now_s)" >"$work/named.json"
	labels_of "$work/named.json" | grep -F ' (javascript_stacks.js:' >/dev/null &&
		awk -v cut="$(percent_cut "$work/named.json")" 'BEGIN { exit cut > 0.5 }'
}

for program in js_shares js_calls js_threads js_inlined js_unprofiled; do
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
for program in shares calls threads inlined unprofiled; do
	fetch_profile "$work/$program.json" js_$program "$from" $((second - 1))
	expect_exact_sums "$work/$program.json"
	expect_complete "$work/$program.json"
done

profile=$work/shares.json
in_shares=$(function_total "$profile" shares)
expect_at_least "percent of shares()" "$(function_share "$profile" shares)" 80
for function in sixty:60 thirty:30 ten:10; do
	expect_share "$profile" "${function%:*}" "${function#*:}" 2 "$in_shares"
	read -r share samples < <(profiler_share "${function%:*}")
	expect_near_sample "percent of ${function%:*}() by Node's profiler" "$share" "${function#*:}" 2 "$samples"
	expect_callers "$profile" "${function%:*}" '^shares<\(script\)<'
done

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

# The loops are inlined into round(), and step() into the loops. round() calls them in the lines 173 to 175.
for program in inlined unprofiled; do
	profile=$work/$program.json
	in_round=$(function_total "$profile" round)
	expect_at_least "percent of round()" "$(function_share "$profile" round)" 75
	for function in six:60:173 three:30:174 one:10:175; do
		IFS=: read -r name percent line <<<"$function"
		expect_share "$profile" "$name" "$percent" 2 "$in_round"
		expect_callers "$profile" "$name" '^round<inlined<'
		expect_near_sample "percent in line $line" "$(line_share "$profile" "round (javascript_stacks.js:$line)" "$in_round")" \
			"$percent" 2 $((in_round * FREQUENCY / 1000000))
	done
	expect_callers "$profile" step '^(six|three|one)<round<inlined<'
	expect_label "$profile" 'step (javascript_stacks.js:143)'
	expect_label "$profile" 'six (javascript_stacks.js:150)'
done
# Node's profiler in the same process finds the same shares of lines: of step(), and of the loops in six(), three() and one(). It
# charges an instruction at which a position begins to the position before (V8's SourcePositionTable::GetSourceLineNumber()), and
# covers the time before V8 optimized the code too, which moves up to 6 % here. Without lines of inlined functions, step() has 0 %.
profile=$work/inlined.json
for lines in 141:145 148:154 156:162 164:170; do
	read -r share samples < <(profiler_lines 141 170 "${lines%:*}" "${lines#*:}")
	expect_near_sample "percent of the lines $lines" "$(self_in_lines "$profile" 141 170 "${lines%:*}" "${lines#*:}")" "$share" 8 "$samples"
done

expect_at_least "frames of functions" "$(agent_metric 'byte_code_frames_total{runtime="v8"}')" 1000
