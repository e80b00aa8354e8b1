#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# --backup copies the data of a running server. A server on the copy gives the same profiles of the time before, and the
# agent continues to send to it.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

start_server
start_agent
start_workload shares 120
next_second
from=$second
to=$((from + 5))
wait_for_coverage $((to + 2))
fetch_profile "$work/before.json" shares "$from" "$to"
wait_for_name work_a shares "$from" "$to"
is_complete() { fetch_profile "$work/before.json" shares "$from" "$to" && has_kernel_names "$work/before.json"; }
expect_within 120s is_complete

say "backing up"
"$HEARTH_BUILD/bin/hearth-symbolizer" --config=/dev/null --data "$server_data" --backup "$work/copy" >>"$work/backup.log" 2>&1 ||
	fail "the backup failed: $(cat "$work/backup.log")"
[ ! -e "$work/copy.partial" ] || fail "the backup is partial"

say "restoring"
stop_server
server_data=$work/copy
start_server
fetch_profile "$work/after.json" shares "$from" "$to"
diff <(jq .result "$work/before.json") <(jq .result "$work/after.json") >"$work/difference.log" || fail "the profile differs"
restored_since=$(now_s)
wait_for_coverage $((restored_since + 2))
fetch_profile "$work/later.json" shares "$restored_since" $((restored_since + 1))

if "$HEARTH_BUILD/bin/hearth-symbolizer" --config=/dev/null --data "$server_data" --backup "$work/copy" 2>"$work/refused.log"; then
	fail "a backup to an existing folder is not refused"
fi
grep -F 'choose a folder that does not exist' "$work/refused.log" >/dev/null || fail "$(cat "$work/refused.log")"
