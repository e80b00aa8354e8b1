# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Functions for tests of programs in languages with scripts or a virtual machine: shares and callers of named functions. A
# test sets $FREQUENCY, $LEAST_CPU_US, and for each program ${pids[NAME]} and ${cpu_before[NAME]}.
. "$(dirname "$0")/lib.sh"
need_tools jq python3

# in_root COMMAND...: runs COMMAND in the root folder $root, which has another version of the runtime; if $root is empty, in
# that of this host.
in_root() { if [ -n "$root" ]; then chroot "$root" "$@"; else "$@"; fi; }

# The loop of CPython's interpreter; [l]: a function of a library.
readonly eval_loop='(\[l\] )?_PyEval_EvalFrameDefault'

# function_total FILE NAME: total of the function at all of its lines, without calls below itself.
function_total() { python3 -B "$e2e_root/tests/e2e/function_nodes.py" total "$1" "$2"; }

# function_share FILE NAME [TOTAL]: percent of TOTAL, by default of the whole profile.
function_share() {
	awk -v value="$(function_total "$1" "$2")" -v total="${3:-$(total_of "$1")}" \
		'BEGIN { printf "%.2f\n", total ? 100 * value / total : 0 }'
}

# expect_share FILE NAME PERCENT POINTS [TOTAL]: within POINTS and 3.5 standard deviations of the number of samples. One CPU
# second of the kernel's accounting is $FREQUENCY samples.
expect_share() {
	local total=${5:-$(total_of "$1")} samples tolerance
	samples=$((total * FREQUENCY / 1000000))
	tolerance=$(awk -v p="$3" -v points="$4" -v n="$samples" 'BEGIN { printf "%.2f\n", points + 3.5 * sqrt(p * (100 - p) / n) }')
	expect_near "${1##*/}: percent of $2" "$(function_share "$1" "$2" "$total")" "$3" "$tolerance"
}

# callers_of FILE NAME: for each node of the function, the names of its callers, without lines: "a<b<c", each line once.
callers_of() { python3 -B "$e2e_root/tests/e2e/function_nodes.py" callers "$1" "$2"; }

# expect_callers FILE NAME PATTERN: all callers of the function match. The mark of functions of libraries, [l], is left out.
expect_callers() {
	local status=0
	callers_of "$1" "$2" | sed 's/\[l\] //g' >"$work/callers"
	grep -vE "$3" "$work/callers" >"$work/wrong" || status=$?
	[ $status -le 1 ] || fail "grep does not accept $3"
	[ ! -s "$work/wrong" ] || fail "callers of $2 are not $3: $(head -n 3 "$work/wrong")"
	[ -s "$work/callers" ] || fail "no function $2"
}

# wait_for_native_name NAME SERVICE: waits until the server has the symbols of the runtime, which may arrive after the names of
# functions in scripts. The process still runs, so that the agent can read them.
wait_for_native_name() {
	has_native_name() { labels_of <(query_profile "$2" "$from" "$(now_s)") | grep -E "^(\[l\] )?$1\$" >/dev/null; }
	expect_within 60s has_native_name "$@"
}

# percent_cut FILE: percent of the time whose stacks are cut.
percent_cut() {
	local truncated
	truncated=$(jq '[.result[]? | select(.profile_location_str | startswith("[truncated")) | .total_value] | add // 0' "$1")
	awk -v a="$truncated" -v t="$(total_of "$1")" 'BEGIN { printf "%.2f\n", t ? 100 * a / t : 0 }'
}

expect_complete() { expect_at_most "${1##*/}: percent of stacks that are cut" "$(percent_cut "$1")" 1; }

have_run() {
	local program
	for program in "${!pids[@]}"; do
		[ "$(cpu_time_us "${pids[$program]}")" -ge $((cpu_before[$program] + LEAST_CPU_US)) ] || return 1
	done
}
