# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The checks of functions of Python scripts (45, 49). The test sets:
#
#   root      the folder of a Debian system that has the interpreter; empty for this host
#   python    the interpreter, as a path in $root
#   levels    of recursion that the script has in this version
#   between   regular expression for the native frames between a Python function and the one that calls it
#   class     prefix of the names of the methods of the class Callbacks
#   thread    regular expression for the callers of the function of a thread, up to the method run()
#   lambda    name of the lambda expression in by_reduce()
#   dump      file to which the module faulthandler writes stacks; empty before 3.11, in which faulthandler, which does not
#             take the lock of the interpreter, may read a frame that was just freed
script=$work/python_stacks.py
mkdir -p "$root$work"
[ -z "$root" ] || at_exit+=("rm -rf -- '$root$work'")
cp "$e2e_root/tests/workloads/python_stacks.py" "$root$script"

# A process has the name of the file that it executes, also if that is a symbolic link.
start_script() {
	ln -s "$python" "$root$work/py_$1"
	start_background "py_$1" ${root:+chroot "$root"} "$work/py_$1" "$script" "$@"
	pids[$1]=$background_pid
}

readonly FREQUENCY=997 LEAST_CPU_US=2500000

start_server
start_agent --on_cpu.frequency $FREQUENCY
declare -A pids cpu_before
start_script shares ${dump:+"$dump"}
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
wait_for_native_name _PyEval_EvalFrameDefault py_shares
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

# lines_of FUNCTION FIRST LAST: labels of lines of the script, counted from the line with "def".
lines_of() {
	awk -v name="$1" -v first="$2" -v last="$3" '$0 ~ "^def " name "\\(" { start = NR }
		END { for (i = first; i <= last; i++) printf "1 %s (python_stacks.py:%d)\n", name, start + i }' "$root$script"
}

# A line that the script is known to have in at least 5 % of the stacks, the profile has too, and the other way round.
if [ -n "$dump" ]; then
	grep -oE 'line [0-9]+ in .*' "$root$dump" | sed -E 's/line ([0-9]+) in (.*)/\2 (python_stacks.py:\1)/' |
		sort | uniq -c | sort -rn >"$work/known.lines"
	n_stacks=$(grep -c 'most recent call first' "$root$dump")
	expect_at_least "stacks that faulthandler found" "$n_stacks" 200
else
	n_stacks=1
	{
		lines_of sixty 2 3
		lines_of thirty 2 3
		lines_of ten 2 3
		lines_of shares 2 4
		printf '1 <module> (python_stacks.py:%d)\n' "$(wc -l <"$root$script")"
	} >"$work/known.lines"
fi
while read -r count label; do
	[ $((count * 20)) -lt "$n_stacks" ] || expect_label "$profile" "$label"
done <"$work/known.lines"
total=$(total_of "$profile")
labels_of "$profile" | grep -F '(python_stacks.py:' | while read -r label; do
	[ $(($(value_of "$profile" "$label") * 20)) -lt "$total" ] || grep -F " $label" "$work/known.lines" >/dev/null ||
		fail "the script is not known to be at '$label'"
done
say "lines that are known: $(wc -l <"$work/known.lines"), of Hearth: $(labels_of "$profile" | grep -cF '(python_stacks.py:')"

profile=$work/calls.json
# Functions of C are between a Python function and the loop that it calls. Some have names, some do not.
c='[^<]+(<[^<]+)*'
expect_callers "$profile" descend "^(${between}descend<){0,$((levels - 1))}${between}calls<${between}<module><$eval_loop<"
expect_callers "$profile" ${class}key "^$eval_loop<$c<${class}by_sorted<${between}calls<${between}<module><$eval_loop<"
expect_callers "$profile" "$lambda" \
	"^$eval_loop<$c<${class}by_reduce<${between}calls<${between}<module><$eval_loop<"
# The call that makes the generator runs in the loop of consume().
expect_callers "$profile" generate "^($eval_loop<$c<)?consume<${between}calls<${between}<module><$eval_loop<"
# If a call of the loop got the function of its caller, the outermost call would be left without one.
callers_of "$profile" '<module>' >"$work/callers"
[ -s "$work/callers" ] || fail "no function <module>"
! grep -E "$eval_loop<.*$eval_loop<" "$work/callers" || fail "the outermost call of the loop does not execute <module>"
deepest=$(callers_of "$profile" work | awk -F'<' '{ n = 0; for (i = 1; i <= NF; i++) n += $i == "descend"; print n }' | sort -n | tail -n 1)
expect_equal "levels of descend() below work()" "$deepest" "$levels"
# The calls of descend() take time in addition to the equal parts: 28 % by process_time() where memory is mapped slowly.
expect_near "percent of descend()" "$(function_share "$profile" descend)" 27 6
others=0
for function in ${class}by_sorted ${class}by_reduce consume; do
	others=$((others + $(function_total "$profile" $function)))
done
for function in ${class}by_sorted ${class}by_reduce consume; do
	expect_share "$profile" $function 33.33 1 "$others"
done

profile=$work/threads.json
expect_callers "$profile" first_thread "^$thread"
expect_at_least "percent of first_thread()" "$(function_share "$profile" first_thread)" 20
expect_at_least "percent of second_thread()" "$(function_share "$profile" second_thread)" 20
expect_at_least "percent of both threads" "$(awk -v a="$(function_share "$profile" first_thread)" \
	-v b="$(function_share "$profile" second_thread)" 'BEGIN { print a + b }')" 97
