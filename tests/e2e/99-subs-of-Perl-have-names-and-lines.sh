#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Stacks of Perl have the subs of the script, by name and line, between the functions in C that call them: of known shares, in
# deep recursion, in comparisons of sort, methods, closures, tied variables, destructors, string evals and threads. Labels are
# those that caller() finds, and the shares of parts those that the script measures itself.
#
# To check another version: HEARTH_PERL_ROOT=/path/to/chroot, the root folder of a system with perl.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/function_nodes.sh"
need_root
need_tools curl jq

root=${HEARTH_PERL_ROOT:-}
[ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
[ -e "$root/usr/bin/perl" ] || skip "needs perl"
perl=$(in_root readlink -f /usr/bin/perl)
case $(in_root perl -e 'print $^V') in
v5.28.* | v5.3[02468].* | v5.40.*) ;;
*) skip "needs Perl 5.28 to 5.40, found $(in_root perl -e 'print $^V')" ;;
esac
folder=$work/perl
script=$folder/perl_stacks.pl
mkdir -p "$root$folder"
[ -z "$root" ] || at_exit+=("rm -rf -- '$root$work'")
cp "$e2e_root/tests/workloads/perl_stacks.pl" "$root$script"

programs=(shares calls short)
! in_root perl -Mthreads -e 1 2>"$work/no_threads" || programs+=(threads)

# A process has the name of the file that it executes, also if that is a symbolic link.
start_script() {
	ln -s "$perl" "$root$folder/pl_$1"
	local command=("$folder/pl_$1" "$script" "$1" "$folder/end_$1")
	[ -z "$root" ] || command=(chroot "$root" "${command[@]}")
	start_background "pl_$1" "${command[@]}"
	pids[$1]=$background_pid
}

readonly FREQUENCY=997 LEAST_CPU_US=2500000

start_server
# Only these programs need unwind rows in the maps.
start_agent --on_cpu.frequency $FREQUENCY --on_cpu.regex '^pl_'
declare -A pids cpu_before
for program in "${programs[@]}"; do
	start_script "$program"
done
is_named() {
	query_profile "$1" "$(($(now_s) - 2))" "$(now_s)" >"$work/named.json"
	labels_of "$work/named.json" | grep -F ' (perl_stacks.pl:' >/dev/null &&
		awk -v cut="$(percent_cut "$work/named.json")" 'BEGIN { exit cut > 0.5 }'
}
for program in "${programs[@]}"; do
	expect_within 60s is_named "pl_$program"
done
next_second
from=$second
for program in "${!pids[@]}"; do
	cpu_before[$program]=$(cpu_time_us "${pids[$program]}")
done
expect_within 90s have_run
next_second
wait_for_coverage "$second"
wait_for_native_name Perl_runops_standard pl_shares
for program in "${!pids[@]}"; do
	: >"$root$folder/end_$program"
	expect_within 30s has_ended "${pids[$program]}"
done
for program in "${programs[@]}"; do
	fetch_profile "$work/$program.json" "pl_$program" "$from" $((second - 1))
	expect_exact_sums "$work/$program.json"
	expect_complete "$work/$program.json"
done

# measured PROGRAM PART: percent of the time that the script has measured for all of its parts.
measured() {
	awk -v part="$2" '{ all += $2 } $1 == part { own = $2 } END { printf "%.2f\n", 100 * own / all }' \
		"$root$folder/end_$1.times"
}

# expect_known_stacks PROGRAM: the stacks of spin() are those that caller() has found, and all of them. caller() lists no
# blocks, and the package of closures.
expect_known_stacks() {
	local unknown
	sed 's/^[^<]*<//; s/main::__ANON__/__ANON__/g' "$root$folder/end_$1.labels" | sort -u >"$work/known"
	python3 -B "$e2e_root/tests/e2e/function_nodes.py" stacks "$work/$1.json" main::spin |
		sed 's/{block} ([^<]*<//g; s/main::__ANON__/__ANON__/g' >"$work/stacks"
	while read -r stack; do
		grep -qF -- " $stack" "$work/stacks" || fail "no stack of $1: $stack"
	done <"$work/known"
	unknown=$(awk 'NR == FNR { known[$0] = 1; next } { value = $1; sub(/^[0-9]+ /, ""); all += value; if (!($0 in known)) sum += value }
		END { printf "%.2f\n", 100 * sum / all }' "$work/known" "$work/stacks")
	expect_at_most "percent of spin() in $1 with other callers than those of caller()" "$unknown" 0.5
}

# line_of TEXT: number of the only line of the script with this text.
line_of() {
	grep -cF -- "$1" "$root$script" | grep -qx 1 || fail "not one line of the script has '$1'"
	grep -nF -- "$1" "$root$script" | cut -d: -f1
}

profile=$work/shares.json
expect_known_stacks shares
parts=0
for function in sixty thirty ten; do
	parts=$((parts + $(function_total "$profile" main::$function)))
done
expect_at_least "percent of {main}" "$(function_share "$profile" '{main}')" 99
expect_at_least "percent of sixty, thirty and ten" "$(awk -v a=$parts -v t="$(total_of "$profile")" 'BEGIN { print 100 * a / t }')" 85
for function in sixty:60 thirty:30 ten:10; do
	expect_share "$profile" "main::${function%:*}" "${function#*:}" 2 $parts
	expect_near "percent of ${function%:*} by the clock" "$(measured shares "${function%:*}")" "${function#*:}" 2
done
# All lines of the loop of spin(), and of its neighbours none.
labels_of "$profile" | grep -o 'main::spin (perl_stacks.pl:[0-9]*)' | sort -u >"$work/lines"
for text in '$x = ($x * 31' '$i++;'; do
	grep -qxF "main::spin (perl_stacks.pl:$(line_of "$text"))" "$work/lines" || fail "no line of spin() with '$text'"
done
expect_at_most "lines of spin()" "$(wc -l <"$work/lines")" 6

profile=$work/calls.json
expect_known_stacks calls
in_calls='main::measured<main::calls<\{main\}<Perl_runops_standard<perl_run<'
native='[^<]+(<[^<]+)*'
expect_callers "$profile" main::descend "^(main::descend<){0,49}main::__ANON__<$in_calls"
expect_callers "$profile" '{block}' "^$native<main::(sorts_by_block|matches)<$in_calls"
expect_callers "$profile" main::compare "^\\{block\\}<Perl_runops_standard<$native<main::sorts_by_block<$in_calls"
expect_callers "$profile" main::inner "^main::by_eval<Perl_runops_standard<$native<Perl_runops_standard<$native<main::sorts_with_eval<$in_calls"
expect_callers "$profile" Temporary::DESTROY "^$native<Perl_call_sv<$native<main::destroys<$in_calls"
expect_label "$profile" '{eval} ((eval):1)'
deepest=$(callers_of "$profile" main::spin | awk -F'<' '{ n = 0; for (i = 1; i <= NF; i++) n += $i == "main::descend"; print n }' | sort -n | tail -n 1)
expect_equal "levels of descend() below spin()" "$deepest" 50
total=$(total_of "$profile")
while read -r part _; do
	case $part in
	total) function=Shop::total ;;
	*) function=main::$part ;;
	esac
	expect_share "$profile" "$function" "$(measured calls "$part")" 2 "$total"
done <"$root$folder/end_calls.times"

# share_of_callers FILE NAME PATTERN: percent of the function's time whose callers match.
share_of_callers() {
	jq -r --arg name "$2 (" --arg pattern "$3" '
		.result as $nodes | INDEX($nodes[]; .node_id) as $by_id
		| def above: [$by_id[.parent_node_id] // empty | recurse($by_id[.parent_node_id] // empty)
			| .profile_location_str | sub(" \\(perl_stacks.*"; "") | sub("^\\[l\\] "; "")];
		[$nodes[] | select(.profile_location_str | startswith($name))
			| { value: .total_value, matches: (above | join("<") | test($pattern)) }] as $all
		| 100 * ([$all[] | select(.matches) | .value] | add // 0) / ([$all[].value] | add)' "$1"
}

# Samples between a sub and its call of the loop are frequent here: such a sub is innermost.
profile=$work/short.json
for function in '{block}' main::by_length; do
	expect_at_least "percent of $function" "$(function_share "$profile" "$function")" 20
	expect_callers "$profile" "$function" "^($native<)?main::short<\\{main\\}<Perl_runops_standard<"
	expect_at_least "percent of $function in its call of the loop" \
		"$(share_of_callers "$profile" "$function" '^Perl_runops_standard<')" 90
done
expect_at_least "percent of {main}" "$(function_share "$profile" '{main}')" 99.5

if [ -n "${pids[threads]:-}" ]; then
	profile=$work/threads.json
	for thread in first_thread second_thread; do
		expect_callers "$profile" main::$thread '^__ANON__<Perl_runops_standard<Perl_call_sv<'
		expect_at_least "percent of $thread()" "$(function_share "$profile" main::$thread)" 20
	done
	expect_at_least "percent of both threads" "$(function_share "$profile" __ANON__)" 95
fi

expect_at_least "frames of Perl" "$(agent_metric 'byte_code_frames_total{runtime="perl"}')" 10000
# A page that is not resident cannot be read while the sample is taken: a few stacks of tens of thousands of frames.
few=$((3 + $(agent_metric 'byte_code_frames_total{runtime="perl"}') / 10000))
expect_at_most "stacks without an interpreter" "$(agent_metric 'byte_code_stacks_lost_total{runtime="perl",reason="no-thread"}')" $few
expect_at_most "unreadable frames" "$(agent_metric 'byte_code_stacks_lost_total{runtime="perl",reason="unreadable"}')" $few
