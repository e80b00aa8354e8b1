#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `hearth ps` and `--by` show, for each process, host, thread and label, the time that the HTTP API and Total have. `hearth
# doctor` reports no failure beside a running agent; it fails with a remedy when the agent or the server is not running.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

# ask STATUS ARGUMENT...: runs hearth for the time range of the test, expects STATUS; output in $work/out and $work/err.
ask() {
	local expected=$1
	shift
	run "$expected" "$@" --server "$server_url" --since "$from" --until "$to"
}

# run STATUS ARGUMENT...: the same without the time range
run() {
	local expected=$1 status=0
	shift
	"$hearth" "$@" >"$work/out" 2>"$work/err" || status=$?
	[ "$status" = "$expected" ] || fail "hearth $* ended with status $status, expected $expected: $(cat "$work/out" "$work/err")"
}

# says PATTERN: the last command printed PATTERN on stderr.
says() { grep -qE -- "$1" "$work/err" || fail "no '$1' in: $(cat "$work/err")"; }

# finding CHECK: "STATUS MESSAGE -> FIX" of the first finding of `doctor --json`.
finding() { jq -r --arg check "$1" 'first(.checks[] | select(.check == $check)) | "\(.status) \(.message) -> \(.fix)"' "$work/out"; }

start_server
start_agent --host.labels rack=r7 --off_cpu.disabled=false
# Another test may run "shares" on this host at the same time, so this one needs a name of its own.
need_workload shares
cp "$workloads/shares" "$work/listed"
start_background workload-listed "$work/listed" 60
shares_pid=$background_pid
next_second
from=$((second + 1))
to=$((from + 3))
wait_for_coverage $((to + 1))
fetch_profile "$work/total.json" Total "$from" "$to"
fetch_profile "$work/shares.json" listed "$from" "$to"
total_us=$(total_of "$work/total.json")

# ---- ps
ask 0 ps --json --rows 0
expect_equal "time of all processes" "$(jq .total "$work/out")" "$total_us"
expect_near "sum of the times of all processes" "$(jq '[.processes[].value] | add' "$work/out")" "$total_us" "$(jq .count "$work/out")"
expect_equal "processes are in descending order" "$(jq -c '[.processes[].value] == ([.processes[].value] | sort | reverse)' "$work/out")" true
shares=$(jq -c --argjson pid "$shares_pid" '.processes[] | select(.pid == $pid)' "$work/out")
expect_near "time of shares" "$(jq .value <<<"$shares")" "$(total_of "$work/shares.json")" 1
expect_equal "name, host and threads of shares" "$(jq -r '"\(.name) \(.host) \(.threads)"' <<<"$shares")" "listed e2e-host 4"
first_pid=$(jq '.processes[0].pid' "$work/out")
ask 0 ps --rows 1 --width 80
expect_equal "process of the first row" "$(sed -n 2p "$work/out" | awk '{ print $1 }')" "$first_pid"
grep -q 'more with .*; --rows 0 lists them' "$work/out" || fail "the number of other processes is missing: $(cat "$work/out")"
ask 0 ps --rows 0 --width 80
# mawk counts bytes, and the ellipsis has three: replace it.
expect_at_most "longest line" "$(sed 's/…/./g' "$work/out" | awk '{ if (length($0) > max) max = length($0) } END { print max }')" 80
ask 0 ps listed --by process --json
expect_equal "process of the service" "$(jq -c '[.processes[].pid]' "$work/out")" "[$shares_pid]"

# ---- by
ask 0 top --by host --json
expect_equal "one host with all of the time" "$(jq -c '[.groups[] | [.name, .value]]' "$work/out")" "[[\"e2e-host\",$total_us]]"
ask 0 top --by host
expect_equal "share of the host" "$(sed -n 2p "$work/out" | grep -o '[0-9.]* %')" "100.0 %"
ask 0 top --by rack
grep -q '^r7 ' "$work/out" || fail "no row for the label: $(cat "$work/out")"
ask 0 top listed --by thread --json
expect_equal "threads of shares" "$(jq -r '[.groups[].name] | sort | join(" ")' "$work/out")" "flush ingest parse render"
ask 0 flame listed --by host --rows 3
grep -q '\[g\] host=e2e-host' "$work/out" || fail "no branch for the host: $(cat "$work/out")"
ask 2 top --by hots
says "--by: unknown tag 'hots' .*did you mean 'host'"

# ---- waits
ask 0 top listed --event off-cpu --json
expect_equal "self values in the scheduler" "$(jq '[.functions[] | select(.self_value > 0 and (.function | test("^\\[k\\] (__schedule|schedule)")))] | length' "$work/out")" 0

# ---- doctor beside a running agent
run 0 doctor --server "$server_url" --json
expect_equal "failures" "$(jq .failed "$work/out")" 0
expect_equal "host of the batches" "$(finding batches | grep -c "^ok 'e2e-host' sent the last one")" 1
run 0 doctor --server "$server_url"
grep -qE '^ok +BTF ' "$work/out" || fail "no line about BTF: $(cat "$work/out")"

# ---- doctor without a server: one failure with a remedy; no other check depends on the server
run 1 doctor --server http://127.0.0.1:1 --json
expect_equal "checks that fail" "$(jq -r '[.checks[] | select(.status == "fail") | .check] | join(" ")' "$work/out")" server
finding server | grep -q -- '-> .*--server URL' || fail "no fix: $(finding server)"

# ---- usage errors
run 2 flam
says "did you mean 'flame'"
run 2 upload -P 0 x
run 2 services nginx
says "'nginx' is one argument too many"
run 2 hosts --server ftp://127.0.0.1
says 'http://HOST:20416'
run 1 hosts --server http://127.0.0.1:1
says 'is hearth-symbolizer running there'
ask 2 ps --filter 'host ='
ask 3 flame listed --event mem-alloc
says 'only others \(.*off-cpu.*agents collect on-cpu, off-cpu and run-queue'

# ---- a server with tokens: no token, a wrong token, a token without the scope
stop_agent
stop_server
printf 'tokens:\n' >"$work/tokens.yaml"
for scope in read ingest; do
	printf '  - name: %s\n    sha256: %s\n    scopes: [%s]\n' $scope "$(printf 'secret-%s' $scope | sha256sum | cut -d' ' -f1)" $scope
done >>"$work/tokens.yaml"
chmod 600 "$work/tokens.yaml"
start_server --tokens "$work/tokens.yaml"
run 1 hosts --server "$server_url"
says 'wants a token: .*--token-file FILE or HEARTH_TOKEN'
run 1 hosts --server "$server_url" --token nonsense
says 'wants a token'
run 1 hosts --server "$server_url" --token secret-ingest
says 'the token may not do this: .*read.*--token-file'
run 0 hosts --server "$server_url" --token secret-read
run 1 doctor --server "$server_url" --json
finding token | grep -q '^fail the server wants a token.*--token-file' || fail "wrong finding for the token: $(finding token)"
run 1 doctor --server "$server_url" --json --token secret-ingest
finding token | grep -q '^fail .*scope read' || fail "wrong finding for the scope: $(finding token)"
# The status depends on whether another agent runs on this host.
"$hearth" doctor --server "$server_url" --token secret-read --json >"$work/out" || true
finding token | grep -q '^ok has the scope read' || fail "wrong finding for the token: $(finding token)"
