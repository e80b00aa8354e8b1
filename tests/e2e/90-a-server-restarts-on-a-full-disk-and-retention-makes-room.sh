#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The disk is full of samples. A restart with retention_size removes the oldest days before it opens the databases, and
# the server then stores the batches that it refused before.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq mount

mkdir -p "$work/small"
mount -t tmpfs -o size=48m tmpfs "$work/small" 2>/dev/null || skip "tmpfs cannot be mounted here"
at_exit+=("umount -l '$work/small'")
server_data=$work/small/data

start_server
start_agent
from=$(now_s)
start_workload shares 120
shares_pid=$workload_pid
expect_within 30s has_samples shares "$from" $((from + 600))

# Four earlier days of 4 MiB each: copies of this day's file, with unused bytes at the end.
stop_server
today=$(find "$server_data" -name 'segments-*.db' | sort | tail -n 1)
for age in 1 2 3 4; do
	old=$server_data/segments-$(date -u -d "$age days ago" +%F).db
	cp "$today" "$old"
	dd if=/dev/zero bs=1M count=4 >>"$old" 2>/dev/null
done
start_server

fill() { dd if=/dev/zero bs=64k >>"$work/small/filler" 2>/dev/null || true; }
say "filling the disk"
fill
next_second
full_since=$second
cpu_when_full=$(cpu_time_us "$shares_pid")
batch_is_refused() { fill && [ "$(server_metric 'ingest_batches_total{outcome="no_space"}')" -ge 1 ]; }
expect_within 60s batch_is_refused
request GET /readyz
expect_equal "status of readyz on a full disk" "$status" 503
grep -F retention_size <<<"$body" >/dev/null || fail "readyz does not name retention_size: $body"

say "restarting with a limit"
space_since=$(($(now_s) + 1))
[ $space_since -gt $((full_since + 12)) ] || space_since=$((full_since + 12))
sleep_until $space_since
cpu_when_space=$(cpu_time_us "$shares_pid")
stop_server
fill
start_server --retention_size 4MiB
expect_equal "day files" "$(find "$server_data" -name 'segments-*.db' | wc -l)" 1
grep -F 'removed the samples of 4 days' "$work/server.log" >/dev/null || fail "the removal is not logged"
wait_for_coverage "$space_since"

# The agent kept the batches: no sample is lost.
fetch_profile "$work/between.json" shares "$full_since" $((space_since - 1)) "{\"tag_filter\": \"process_id = $shares_pid\"}"
cpu=$((cpu_when_space - cpu_when_full))
expect_near "CPU time while the disk was full, in microseconds" "$(total_of "$work/between.json")" $cpu \
	"$(cpu_tolerance $cpu $((space_since - full_since)))"

# An answer for a range with removed days says why it has no samples of them.
query_profile shares $((from - 3 * 86400)) $((from + 600)) | jq -r .DESCRIPTION >"$work/description"
grep -F retention_size "$work/description" >/dev/null || fail "the answer does not explain: $(cat "$work/description")"
