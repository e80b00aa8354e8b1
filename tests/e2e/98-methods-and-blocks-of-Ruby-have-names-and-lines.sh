#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Stacks of Ruby have the methods and blocks of the script, by name and line, between the functions in C that call them: of
# known shares, in deep recursion, in blocks, fibers and threads. The shares are those that the script measures itself.
#
# To check another version: HEARTH_RUBY_ROOT=/path/to/chroot, the root folder of a system with ruby.
# HEARTH_RUBY_OPTIONS=--yjit runs all programs with YJIT.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/function_nodes.sh"
need_root
need_tools curl jq

root=${HEARTH_RUBY_ROOT:-}
[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
[ -e "$root/usr/bin/ruby" ] || skip "needs ruby"
ruby=$(in_root readlink -f /usr/bin/ruby)
case $(in_root ruby -e 'print RUBY_VERSION') in
2.7.* | 3.[0-4].*) ;;
*) skip "needs Ruby 2.7 or 3.0 to 3.4, found $(in_root ruby --version)" ;;
esac
read -ra options <<<"${HEARTH_RUBY_OPTIONS:-}"
folder=$work/ruby
script=$folder/ruby_stacks.rb
mkdir -p "$root$folder"
[ -z "$root" ] || at_exit+=("rm -rf -- '$root$work'")

cp "$e2e_root/tests/workloads/ruby_stacks.rb" "$root$script"

# start_script NAME PROGRAM OPTION...: a process has the name of the file that it executes, also if that is a symbolic link.
start_script() {
	ln -s "$ruby" "$root$folder/rb_$1"
	local command=("$folder/rb_$1" "${@:3}" "$script" "$2" "$folder/end_$1")
	[ -z "$root" ] || command=(chroot "$root" "${command[@]}")
	start_background "rb_$1" "${command[@]}"
	pids[$1]=$background_pid
}

readonly FREQUENCY=997 LEAST_CPU_US=3000000

start_server
# Only these programs need unwind rows in the maps.
start_agent --on_cpu.frequency $FREQUENCY --on_cpu.regex '^rb_' --off_cpu.disabled=false --off_cpu.regex '^rb_'
declare -A pids cpu_before
for program in shares calls threads; do
	start_script $program $program "${options[@]}"
done
# A Ruby without YJIT prints a warning.
[ -n "$(in_root ruby --yjit -e '' 2>&1)" ] || start_script yjit shares --yjit
is_named() {
	query_profile "$1" "$(($(now_s) - 2))" "$(now_s)" >"$work/named.json"
	labels_of "$work/named.json" | grep -F ' (ruby_stacks.rb:' >/dev/null &&
		awk -v cut="$(percent_cut "$work/named.json")" 'BEGIN { exit cut > 0.5 }'
}
for program in "${!pids[@]}"; do
	expect_within 60s is_named rb_$program
done
next_second
from=$second
for program in "${!pids[@]}"; do
	cpu_before[$program]=$(cpu_time_us "${pids[$program]}")
done
expect_within 90s have_run
next_second
wait_for_coverage "$second"
wait_for_native_name rb_ary_sort rb_calls
for program in "${!pids[@]}"; do
	: >"$root$folder/end_$program"
	expect_within 30s has_ended "${pids[$program]}"
done
for program in "${!pids[@]}"; do
	fetch_profile "$work/$program.json" rb_$program "$from" $((second - 1))
	expect_exact_sums "$work/$program.json"
	expect_complete "$work/$program.json"
done

# measured PROGRAM PART: percent of the time that the script has measured for all of its parts.
measured() {
	awk -v part="$2" '{ all += $2 } $1 == part { own = $2 } END { printf "%.2f\n", 100 * own / all }' \
		"$root$folder/end_$1.times"
}

# line_of TEXT: number of the only line of the script with this text.
line_of() {
	grep -cF -- "$1" "$root$script" | grep -qx 1 || fail "not one line of the script has '$1'"
	grep -nF -- "$1" "$root$script" | cut -d: -f1
}

# expect_shares NAME PERCENT: the stacks of the program `shares` that runs as rb_NAME. The parts have PERCENT of the time at
# least; the rest is that of the clock and of File.exist?, which takes the same time when code of YJIT needs less for the parts.
expect_shares() {
	local profile=$work/$1.json parts=0 function
	for function in sixty thirty ten; do
		parts=$((parts + $(function_total "$profile" $function)))
	done
	expect_at_least "percent of <main>" "$(function_share "$profile" '<main>')" 99
	expect_at_least "percent of sixty, thirty and ten" "$(awk -v a=$parts -v t="$(total_of "$profile")" 'BEGIN { print 100 * a / t }')" "$2"
	for function in sixty:60 thirty:30 ten:10; do
		expect_share "$profile" "${function%:*}" "${function#*:}" 2 $parts
		expect_near "percent of ${function%:*} by the clock" "$(measured "$1" "${function%:*}")" "${function#*:}" 2
		expect_callers "$profile" "${function%:*}" '^block in shares<measured<shares<<main><'
	done
	expect_label "$profile" "sixty (ruby_stacks.rb:$(line_of 'spin(600)'))"
	expect_label "$profile" "thirty (ruby_stacks.rb:$(line_of 'spin(300)'))"
	expect_callers "$profile" spin '^(sixty|thirty|ten)<block in shares<'
	expect_label "$profile" "shares (ruby_stacks.rb:$(line_of 'measured(:thirty)'))"
	expect_label "$profile" "measured (ruby_stacks.rb:$(line_of 'result = yield'))"
	expect_label "$profile" "<main> (ruby_stacks.rb:$(line_of 'send($program)'))"
	labels_of "$profile" | grep -o 'spin (ruby_stacks.rb:[0-9]*)' | sort -u >"$work/lines_$1"
}

expect_shares shares $([ ${#options[@]} = 0 ] && echo 90 || echo 80)
# All lines of the loop of spin(), and of its neighbours none.
expect_at_most "lines of spin()" "$(wc -l <"$work/lines_shares")" 6
for text in 'while i < rounds' 'x = (x * 31' 'i += 1'; do
	[ ${#options[@]} != 0 ] || grep -qxF "spin (ruby_stacks.rb:$(line_of "$text"))" "$work/lines_shares" || fail "no line of spin() with '$text'"
done
# Where code of YJIT runs itself, the method has the line where it begins.
if [ -n "${pids[yjit]:-}" ]; then
	expect_shares yjit 80
	expect_label "$work/yjit.json" "spin (ruby_stacks.rb:$(line_of 'def spin'))"
	expect_at_most "lines of spin() with YJIT" "$(wc -l <"$work/lines_yjit")" 6
fi

profile=$work/calls.json
native='([^<]+<)*'
in_calls='block in calls<measured<calls<<main><'
expect_callers "$profile" descend "^(descend<){0,49}$in_calls"
expect_callers "$profile" descend_in_blocks "^(block in descend_in_blocks<|descend_in_blocks<|$native)*$in_calls"
expect_callers "$profile" 'block in descend_in_blocks' "^$native[^<]+<descend_in_blocks<"
expect_callers "$profile" 'block in cheapest' "^${native}cheapest<$in_calls"
expect_callers "$profile" tax "^block in by_price<${native}by_price<$in_calls"
expect_callers "$profile" 'block in <class:Shop>' "^$native$in_calls"
expect_callers "$profile" method_missing "^$native$in_calls"
expect_callers "$profile" throws "^catches<$in_calls"
expect_callers "$profile" 'rescue in catches' "^catches<$in_calls"
expect_callers "$profile" 'block in short_blocks' "^${native}short_blocks<$in_calls"
expect_callers "$profile" 'block in native' "^${native}native<$in_calls"
expect_callers "$profile" calls '^<main><'
# A fiber has a stack of its own.
expect_callers "$profile" in_fiber '^block in resume<'
expect_callers "$profile" 'block (2 levels) in numbers' "^${native}block in numbers<"
for function in in_fiber 'block in numbers' '<main>'; do
	callers_of "$profile" "$function" >"$work/callers"
	! grep -E '(^|<)(calls|<main>)<' "$work/callers" || fail "$function has callers in another stack"
done
for pair in descend:50 descend_in_blocks:20; do
	deepest=$(callers_of "$profile" spin | awk -F'<' -v name="${pair%:*}" \
		'{ n = 0; for (i = 1; i <= NF; i++) n += $i == name; print n }' | sort -n | tail -n 1)
	expect_equal "levels of ${pair%:*} below spin()" "$deepest" "${pair#*:}"
done
expect_label "$profile" "rescue in catches (ruby_stacks.rb:$(($(line_of 'rescue ArgumentError') + 1)))"
labels_of "$profile" | grep -F 'rb_ary_sort' >/dev/null || fail "the function in C that native() calls has no name"

# The parts have the shares that the script has measured with the clock of its thread. eval() has a file without a name, and
# the block of consume() and resume() is not on the stack of their fibers.
total=$(total_of "$profile")
for part in descend descend_in_blocks cheapest by_price method_missing catches native short_blocks \
	discount:'block in <class:Shop>' resume:in_fiber; do
	expect_share "$profile" "${part#*:}" "$(measured calls "${part%%:*}")" 2 "$total"
done

profile=$work/threads.json
for thread in first_thread second_thread; do
	expect_callers "$profile" $thread '^block \(2 levels\) in threads<measured<block in threads<'
	expect_at_least "percent of $thread()" "$(function_share "$profile" $thread)" 20
done
expect_at_least "percent of both threads" "$(function_share "$profile" 'block in threads')" 95

# The thread that sleeps does not hold the lock of the interpreter.
profile=$work/waits.json
fetch_profile "$profile" rb_threads "$from" $((second - 1)) '{ "profile_event_type": "off-cpu" }'
expect_callers "$profile" sleeps '^block in threads<'
expect_label "$profile" "sleeps (ruby_stacks.rb:$(line_of 'sleep 0.05'))"
expect_near "percent of the time in sleeps()" \
	"$(awk -v us="$(function_total "$profile" sleeps)" -v s=$((second - from)) 'BEGIN { printf "%.2f\n", us / s / 10000 }')" 98 15

expect_at_least "frames of Ruby" "$(agent_metric 'byte_code_frames_total{runtime="ruby"}')" 10000
# A page that is not resident cannot be read while the sample is taken: a few stacks of tens of thousands of frames.
few=$((3 + $(agent_metric 'byte_code_frames_total{runtime="ruby"}') / 10000))
expect_at_most "stacks without a thread" "$(agent_metric 'byte_code_stacks_lost_total{runtime="ruby",reason="no-thread"}')" $few
expect_at_most "unreadable frames" "$(agent_metric 'byte_code_stacks_lost_total{runtime="ruby",reason="unreadable"}')" $few
