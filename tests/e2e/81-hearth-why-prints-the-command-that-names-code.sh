#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# For a program without symbols the server lists file, build-ID, share and reason. `hearth why` prints a command, and that
# command names the program's code.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq readelf

# ask ARGUMENT...: runs hearth for the time range of the test, at 80 columns; output in $work/out.
ask() {
	"$hearth" "$@" --server "$server_url" --since "$from" --until "$to" >"$work/out" 2>"$work/err" ||
		fail "hearth $* ended with status $?: $(cat "$work/err")"
}

# row FILE: writes the program's row in /v1/unresolved to $work/row.
row() {
	request GET "/v1/unresolved?service=$1&since=$from&until=$((to + 1))&limit=1000"
	[ "$status" = 200 ] || fail "/v1/unresolved: $status $body"
	jq -c --arg file "$workloads/stripped" 'first(.files[] | select(.file == $file)) // {}' "$work/body" >"$work/row"
}

# The symbols that agents send of the program have arrived and are compiled.
has_reason() {
	row stripped
	jq -e '.reason == "stripped" or .reason == "no_debuginfo"' "$work/row" >/dev/null
}

# The server may compile another symbol table, for example of libc, between two requests. The values of both answers can be
# compared only if /v1/unresolved has the same answer before and after the profile.
both_answers_use_the_same_symbols() {
	row stripped
	cp "$work/body" "$work/unresolved.json"
	query_profile stripped "$from" "$to" '{"debug": true}' >"$work/before.json"
	row stripped
	cmp -s "$work/body" "$work/unresolved.json"
}

start_server
start_agent --on_cpu.frequency 397
start_workload stripped 60
next_second
from=$((second + 1))
to=$((from + 3))
wait_for_coverage $((to + 1))
expect_within 30s has_reason

# ---- /v1/unresolved: file, build-ID, share
build_id=$(readelf -n "$workloads/stripped.debug" 2>/dev/null | sed -n 's/.*Build ID: //p')
expect_equal "build-ID" "$(jq -r .build_id "$work/row")" "$build_id"
expect_equal "service" "$(jq -r '.services[0]' "$work/row")" stripped
expect_within 30s both_answers_use_the_same_symbols
total=$(jq .debug.total "$work/before.json")
expect_equal "total" "$(jq .total "$work/body")" "$total"
expect_equal "value without names" "$(jq .unresolved "$work/body")" "$(jq .debug.unsymbolized "$work/before.json")"
expect_at_least "share without names, in percent" "$(jq '100 * .unresolved / .total' "$work/body")" 50
expect_equal "sum of the files, within a microsecond each" \
	"$(jq '([.files[].value] | add) - .unresolved | fabs <= 5' "$work/body")" true
expect_near "share of the file" "$(jq .share "$work/row")" "$(jq -n "$(jq .value "$work/row") / $total")" 0.000001
row Total
expect_equal "build-ID among all services" "$(jq -r .build_id "$work/row")" "$build_id"

# ---- status and list of debuginfo name the file and the reason
request GET "/v1/debuginfo/$build_id/status"
expect_equal "name in the status" "$(jq -r .file "$work/body")" stripped
[ "$(jq -r .table.why "$work/body")" != "" ] || fail "the status of a stripped program gives no reason: $body"

# ---- text output of profiles has the hint, JSON output does not
for command in flame top; do
	ask "$command" stripped
	grep -q "has no names" "$work/out" || fail "hearth $command does not report code without names: $(cat "$work/out")"
	grep -q "hearth why stripped" "$work/out" || fail "hearth $command does not name the next command: $(cat "$work/out")"
	ask "$command" stripped --json
	jq . "$work/out" >/dev/null || fail "hearth $command --json is not JSON"
done
ask flame stripped --folded
expect_equal "lines that are not folded stacks" "$(grep -vcE ' [0-9]+$' "$work/out")" 0

# ---- hearth why: the same rows in 80 columns, and as JSON
ask why --service stripped --width 80
grep -qF "$build_id" "$work/out" || fail "hearth why does not list the build-ID: $(cat "$work/out")"
ask why "${build_id:0:8}" --service stripped --json
expect_equal "value in JSON" "$(jq '.files[0].value' "$work/out")" "$(row stripped && jq .value "$work/row")"
ask why stripped --service stripped --width 80
expect_equal "lines longer than 80 columns" "$(grep -v -e '/' "$work/out" | grep -cE '.{81,}')" 0

# ---- the printed command works; the user replaces its placeholder path
printed=$(sed -e ':a' -e '/\\$/N; s/ *\\\n */ /; ta' "$work/out" | sed -n 's/^ *\(hearth upload .*\)/\1/p')
say "the command: $printed"
[[ $printed == *"--server $server_url"* ]] || fail "the command does not name the server: '$printed'"
[[ $printed == *" /path/to/unstripped/stripped" ]] || fail "the command does not end with the file: '$printed'"
PATH=$HEARTH_BUILD/bin:$PATH bash -c "${printed%/path/to/*}$workloads/stripped.debug" || fail "the command failed"

has_no_row() { row stripped && [ "$(cat "$work/row")" = "{}" ]; }
expect_within 30s has_no_row
# The symbols of libc may arrive later than the debuginfo.
all_has_names() { ask top stripped && ! grep -q "has no names" "$work/out"; }
expect_within 60s all_has_names
ask why stripped
grep -q "no code without names" "$work/out" || fail "hearth why does not report that all code has names: $(cat "$work/out")"
