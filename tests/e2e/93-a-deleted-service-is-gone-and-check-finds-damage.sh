#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `hearth delete` removes the samples of one service and of no other. `hearth-symbolizer --check` refuses a folder in use, finds
# no fault in the folder of a stopped server, and names a damaged segment. A server with the files of an earlier version refuses
# to delete.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq python3

hearth() { "$HEARTH_BUILD/bin/hearth" "$@"; }
check() { "$HEARTH_BUILD/bin/hearth-symbolizer" --config=/dev/null --data "$server_data" --check >"$work/check.log" 2>&1; }

start_server
start_agent
need_workload shares
workload_pids=()
for name in doomed kept; do
	cp "$workloads/shares" "$work/$name"
	start_background "workload-$name" "$work/$name" 60
	workload_pids+=("$background_pid")
done
next_second
from=$second
has() { has_samples "$1" "$from" "$((from + 60))"; }
expect_within 20s has doomed
expect_within 20s has kept
for pid in "${workload_pids[@]}"; do
	end_process "$pid"
done
stop_agent

say "deleting"
status=0
hearth delete --server "$server_url" --service doomed </dev/null >"$work/delete.log" 2>&1 || status=$?
expect_equal "the status without an answer" "$status" 2
grep -F -- --yes "$work/delete.log" >/dev/null || fail "$(cat "$work/delete.log")"
has doomed || fail "samples were deleted without an answer"
hearth delete --server "$server_url" --service doomed --yes >"$work/delete.log" 2>&1 || fail "$(cat "$work/delete.log")"
! has doomed || fail "the deleted service has samples"
has kept || fail "another service has lost its samples"
curl -sS -m 10 "$server_url/v1/services?last=1h" >"$work/services.json"
expect_equal "the deleted service in the list" "$(jq '[.services[] | select(.name == "doomed")] | length' "$work/services.json")" 0
status=0
hearth delete --server "$server_url" --service doomed --yes >"$work/delete.log" 2>&1 || status=$?
expect_equal "the status of a service without samples" "$status" 3
request DELETE /v1/services
expect_equal "the status without a service" "$status" 400

say "checking"
! check || fail "a folder in use was checked"
grep -F 'stop it' "$work/check.log" >/dev/null || fail "$(cat "$work/check.log")"
stop_server
check || fail "$(cat "$work/check.log")"
python3 - "$server_data" <<'END'
import glob, sqlite3, sys
file = sqlite3.connect(glob.glob(sys.argv[1] + "/segments-*.db")[0])
file.execute("UPDATE content SET bytes = zeroblob(length(bytes)) WHERE id = (SELECT min(id) FROM content)")
file.commit()
END
! check || fail "a damaged segment was not found"
grep -E "segments-.*is damaged; .*restore" "$work/check.log" >/dev/null || fail "$(cat "$work/check.log")"

say "with the files of an earlier version"
server_data=$work/rows
start_server --store sqlite
request DELETE '/v1/services?service=kept'
expect_equal "the status with hearth.db" "$status" 501
stop_server
check || fail "$(cat "$work/check.log")"
