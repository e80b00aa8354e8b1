#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Stacks of PHP have the functions of scripts: of known shares, which the script measures too, in deep recursion, methods,
# closures that internal functions call, generators, destructors and code of eval(), with the lines that debug_backtrace()
# finds, and below internal functions. To check the PHP of another root folder: HEARTH_PHP_ROOT=/folder.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/function_nodes.sh"
need_root
need_tools curl jq

root=${HEARTH_PHP_ROOT:-}
files=${root:+$root/tmp/hearth-php}
files=${files:-$work}
rm -rf -- "${root:+$files}" && mkdir -p "$files"
php=$(in_root sh -c 'readlink -f "$(command -v php)"') || skip "needs php"
case $(in_root "$php" -r 'echo (int) PHP_ZTS, PHP_VERSION;') in
07.4.* | 08.[0-4].*) ;;
*) skip "needs PHP 7.4 to 8.4 without thread safety, found $(in_root "$php" --version | head -n 1)" ;;
esac
script=${files#"$root"}/php_stacks.php
cp "$e2e_root/tests/workloads/php_stacks.php" "$files"

# A process has the name of the file that it executes, also if that is a symbolic link.
start_script() {
	ln -s "$php" "$files/php_$1"
	start_background "php_$1" ${root:+chroot "$root"} "${files#"$root"}/php_$1" "$script" "$1" "${script%/*}/end"
	pids[$1]=$background_pid
}

readonly FREQUENCY=997 LEAST_CPU_US=2500000

start_server
# Stacks whose unwind rows are not loaded have no functions of scripts: the budget has room for those of a busy host.
start_agent --on_cpu.frequency $FREQUENCY --budget.memory 256MiB
declare -A pids cpu_before
start_script shares
start_script calls
start_script short
start_script native

is_named() {
	query_profile "$1" "$(($(now_s) - 3))" "$(now_s)" >"$work/named.json"
	labels_of "$work/named.json" | grep -F ' (php_stacks.php:' >/dev/null &&
		awk -v cut="$(percent_cut "$work/named.json")" 'BEGIN { exit cut > 0.5 }'
}

for program in php_shares php_calls php_short php_native; do
	expect_within 60s is_named $program
done
next_second
from=$second
for program in "${!pids[@]}"; do
	cpu_before[$program]=$(cpu_time_us "${pids[$program]}")
done
expect_within 90s have_run
next_second
wait_for_coverage "$second"
wait_for_native_name execute_ex php_shares
: >"$files/end"
for program in "${!pids[@]}"; do
	expect_within 30s has_ended "${pids[$program]}"
done
for program in shares calls short native; do
	fetch_profile "$work/$program.json" php_$program "$from" $((second - 1))
	expect_exact_sums "$work/$program.json"
	expect_complete "$work/$program.json"
done

profile=$work/shares.json
in_shares=$(function_total "$profile" shares)
expect_at_least "percent of shares()" "$(function_share "$profile" shares)" 95
for function in sixty:60 thirty:30 ten:10; do
	expect_share "$profile" "${function%:*}" "${function#*:}" 2 "$in_shares"
	measured=$(awk -v name="${function%:*}" '$1 == name { print $2 }' "$work/php_shares.log")
	expect_near "percent of ${function%:*}() by getrusage()" "$measured" "${function#*:}" 3
	expect_callers "$profile" "${function%:*}" '^shares<\{main\}<execute_ex<'
done

# line_of TEXT: number of the first line of the script with the text.
line_of() { grep -nF -m 1 -- "$1" "$script_here" | cut -d: -f1; }
script_here=$e2e_root/tests/workloads/php_stacks.php
for line in $(($(line_of 'function sixty(') + 3)) $(($(line_of 'function sixty(') + 4)); do
	expect_label "$profile" "sixty (php_stacks.php:$line)"
done
expect_label "$profile" "{main} (php_stacks.php:$(wc -l <"$script_here"))"

# Each label that debug_backtrace() found is in the profile, and the other way round: but for 0.5 % of the time, the lines of
# functions that call another one are those of the call.
profile=$work/calls.json
tr '<' '\n' <"$work/php_calls.log" | sort -u >"$work/known.labels"
expect_at_least "labels that debug_backtrace() found" "$(wc -l <"$work/known.labels")" 16
while read -r label; do
	[[ $label = *'eval()'* ]] || expect_label "$profile" "$label"
done <"$work/known.labels"
total=$(total_of "$profile")
labels_of "$profile" | grep -F '(php_stacks.php' | grep -v '^spin ' | while read -r label; do
	[ $(($(value_of "$profile" "$label") * 200)) -lt "$total" ] || grep -xF -- "$label" "$work/known.labels" >/dev/null ||
		fail "the script is not known to be at '$label'"
done

# c: functions of PHP, which may have no names.
c='[^<]+(<[^<]+)*'
expect_callers "$profile" descend '^(descend<){0,49}calls<\{main\}<execute_ex<'
deepest=$(callers_of "$profile" spin | awk -F'<' '{ n = 0; for (i = 1; i <= NF; i++) n += $i == "descend"; print n }' | sort -n | tail -n 1)
expect_equal "levels of descend() below spin()" "$deepest" 50

# share_of_paths FUNCTION PATTERN: percent of the function's time whose callers match.
share_of_paths() {
	jq -r --arg name "$1 (" --arg pattern "$2" '
		.result as $nodes | INDEX($nodes[]; .node_id) as $by_id
		| def above: [$by_id[.parent_node_id] // empty | recurse($by_id[.parent_node_id] // empty)
			| .profile_location_str | sub(" \\(php_stacks.*"; "")];
		[$nodes[] | select(.profile_location_str | startswith($name))
			| { value: .total_value, matches: (above | join("<") | test($pattern)) }] as $all
		| 100 * ([$all[] | select(.matches) | .value] | add // 0) / ([$all[].value] | add)' "$profile"
}
for path in 'Shop::price=^Shop::total<calls<\{main\}<execute_ex<' \
	"Shop::{closure}=^execute_ex<zend_call_function<$c<Shop::sorted<calls<\\{main\\}<execute_ex<" \
	"numbers=^(execute_ex<zend_generator_resume<($c<)?)?consume<calls<\\{main\\}<execute_ex<" \
	"Temporary::__destruct=^execute_ex<zend_call_function<$c<calls<\\{main\\}<execute_ex<"; do
	expect_at_least "percent of ${path%%=*}() with the right callers" "$(share_of_paths "${path%%=*}" "${path#*=}")" 99
done

# Each of them calls spin() with the same number of rounds in sum, Shop::sorted() with a few more.
parts=0
for function in descend Shop::total consume Temporary::__destruct evaluates; do
	parts=$((parts + $(function_total "$profile" $function)))
done
for function in descend Shop::total consume Temporary::__destruct evaluates; do
	expect_share "$profile" "$function" 20 4 "$parts"
done

# Samples between a function and its call of the loop are frequent here. {main} is executed by the outermost call.
profile=$work/short.json
for function in compare objects; do
	expect_at_least "percent of $function()" "$(function_share "$profile" $function)" 5
	expect_callers "$profile" $function "^($c<)?short<\\{main\\}<execute_ex<"
done
expect_callers "$profile" '{main}' "^execute_ex<zend_execute<"
expect_at_least "percent of {main}" "$(function_share "$profile" '{main}')" 99.5

profile=$work/native.json
expect_label "$profile" "hashes (php_stacks.php:$(line_of 'return md5(')"')'
expect_at_least "percent of md5() below hashes()" "$(function_share "$profile" hashes)" 95
expect_callers "$profile" hashes '^native<\{main\}<execute_ex<'

expect_at_least "frames of functions" "$(agent_metric 'byte_code_frames_total{runtime="php"}')" 1000
# A page that is not resident cannot be read while the sample is taken: a few stacks of tens of thousands of frames.
expect_at_most "stacks with frames that could not be read" "$(agent_metric 'byte_code_stacks_lost_total{runtime="php",reason="unreadable"}')" \
	$((3 + $(agent_metric 'byte_code_frames_total{runtime="php"}') / 10000))
