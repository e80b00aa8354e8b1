#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Stacks of CPython have the functions of the script, by name and line: of known shares, in deep recursion, called from C,
# in generators and in threads. The functions and lines are those that the module faulthandler finds in the same process.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests on the other CPUs at the same time.
. "$(dirname "$0")/function_nodes.sh"
need_root
need_tools curl jq

script=$e2e_root/tests/workloads/python_stacks.py
python=$(readlink -f "$(command -v /usr/bin/python3)") || skip "needs /usr/bin/python3"
[ "${python##*/}" = python3.11 ] || skip "needs Python 3.11 as /usr/bin/python3, found ${python##*/}"

# A process has the name of the file that it executes, also if that is a symbolic link.
start_script() {
	ln -s "$python" "$work/py_$1"
	start_background "py_$1" "$work/py_$1" "$script" "$@"
	pids[$1]=$background_pid
}

# expect_callers FILE NAME PATTERN: all callers of the function match.
expect_callers() {
	local wrong
	wrong=$(callers_of "$1" "$2" | grep -vE "$3" | head -n 3 || true)
	[ -z "$wrong" ] || fail "callers of $2 are not $3: $wrong"
	[ -n "$(callers_of "$1" "$2")" ] || fail "no function $2"
}

readonly FREQUENCY=997 LEAST_CPU_US=2500000

start_server
start_agent --on_cpu.frequency $FREQUENCY
declare -A pids cpu_before
start_script shares "$work/faulthandler.txt"
start_script calls
start_script threads

for program in py_shares py_calls py_threads; do
	is_named() { labels_of <(query_profile "$@") | grep -F '(python_stacks.py:' >/dev/null; }
	expect_within 40s is_named $program "$(($(now_s) - 1))" "$(($(now_s) + 60))"
done
next_second
from=$second
for program in "${!pids[@]}"; do
	cpu_before[$program]=$(cpu_time_us "${pids[$program]}")
done
expect_within 60s have_run
next_second
wait_for_coverage "$second"
for program in "${!pids[@]}"; do
	end_process "${pids[$program]}"
done
for program in shares calls threads; do
	fetch_profile "$work/$program.json" py_$program "$from" $((second - 1))
	expect_exact_sums "$work/$program.json"
	expect_complete "$work/$program.json"
done

profile=$work/shares.json
# The rest is the thread of faulthandler, whose share depends on the host.
main_thread=$(value_of "$profile" '[p] py_shares')
expect_share "$profile" sixty 60 1 "$main_thread"
expect_share "$profile" thirty 30 1 "$main_thread"
expect_share "$profile" ten 10 1 "$main_thread"
expect_at_least "percent of <module> in the main thread" \
	"$(awk -v a="$(function_total "$profile" '<module>')" -v b="$main_thread" 'BEGIN { printf "%.2f\n", 100 * a / b }')" 99

# Compare with faulthandler: a line that one of both has in at least 5 % of the stacks, the other has too.
grep -oE 'line [0-9]+ in .*' "$work/faulthandler.txt" | sed -E 's/line ([0-9]+) in (.*)/\2 (python_stacks.py:\1)/' |
	sort | uniq -c | sort -rn >"$work/faulthandler.lines"
n_stacks=$(grep -c 'most recent call first' "$work/faulthandler.txt")
expect_at_least "stacks that faulthandler found" "$n_stacks" 200
while read -r count label; do
	[ $((count * 20)) -lt "$n_stacks" ] || expect_label "$profile" "$label"
done <"$work/faulthandler.lines"
total=$(total_of "$profile")
labels_of "$profile" | grep -F '(python_stacks.py:' | while read -r label; do
	[ $(($(value_of "$profile" "$label") * 20)) -lt "$total" ] || grep -F " $label" "$work/faulthandler.lines" >/dev/null ||
		fail "faulthandler did not find '$label'"
done
say "lines that faulthandler found: $(wc -l <"$work/faulthandler.lines"), of Hearth: $(labels_of "$profile" | grep -cF '(python_stacks.py:')"

profile=$work/calls.json
eval_loop='_PyEval_EvalFrameDefault'
# Functions of C are between a Python function and the loop that it calls. Some have names, some do not.
c='[^<]+(<[^<]+)*'
expect_callers "$profile" descend "^(descend<){0,199}calls<<module><$eval_loop<"
expect_callers "$profile" Callbacks.key "^$eval_loop<$c<Callbacks.by_sorted<calls<<module><$eval_loop<"
expect_callers "$profile" 'Callbacks.by_reduce.<locals>.<lambda>' \
	"^$eval_loop<$c<Callbacks.by_reduce<calls<<module><$eval_loop<"
# The call that makes the generator runs in the loop of consume().
expect_callers "$profile" generate "^($eval_loop<$c<)?consume<calls<<module><$eval_loop<"
deepest=$(callers_of "$profile" work | awk -F'<' '{ n = 0; for (i = 1; i <= NF; i++) n += $i == "descend"; print n }' | sort -n | tail -n 1)
expect_equal "levels of descend() below work()" "$deepest" 200
# The 200 calls of descend() take time in addition to the equal parts: 28 % by process_time() where memory is mapped slowly.
expect_near "percent of descend()" "$(function_share "$profile" descend)" 27 6
others=0
for function in Callbacks.by_sorted Callbacks.by_reduce consume; do
	others=$((others + $(function_total "$profile" $function)))
done
for function in Callbacks.by_sorted Callbacks.by_reduce consume; do
	expect_share "$profile" $function 33.33 1 "$others"
done

profile=$work/threads.json
expect_callers "$profile" first_thread "^_PyEval_EvalFrameDefault<"
expect_at_least "percent of first_thread()" "$(function_share "$profile" first_thread)" 20
expect_at_least "percent of second_thread()" "$(function_share "$profile" second_thread)" 20
expect_at_least "percent of both threads" "$(awk -v a="$(function_share "$profile" first_thread)" \
	-v b="$(function_share "$profile" second_thread)" 'BEGIN { print a + b }')" 97
