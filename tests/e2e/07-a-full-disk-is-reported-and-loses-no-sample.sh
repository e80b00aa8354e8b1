#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The data folder is full: the server reports it, keeps answering, and stores all waiting batches once there is space.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq mount

mkdir -p "$work/small"
mount -t tmpfs -o size=24m tmpfs "$work/small" 2>/dev/null || skip "tmpfs cannot be mounted here"
at_exit+=("umount -l '$work/small'")
server_data=$work/small/data

start_server
start_agent
from=$(now_s)
start_workload shares 120
shares_pid=$workload_pid
expect_within 30s has_samples shares "$from" $((from + 600))

# A failed upload of debuginfo frees its space again, and later batches could use it: fill that space too.
fill() { dd if=/dev/zero bs=64k >>"$work/small/filler" 2>/dev/null || true; }
say "filling the disk"
fill
next_second
full_since=$second
cpu_when_full=$(cpu_time_us "$shares_pid")

not_ready() { fill && [ "$(curl -s -m 5 -o "$work/ready" -w '%{http_code}' "$server_url/readyz")" = 503 ]; }
reports_the_reason() { grep -iE 'no space|disk|full' "$work/server.log" "$work/ready" >/dev/null; }
expect_within 60s not_ready
expect_within 10s reports_the_reason
say "readyz: $(head -c 200 "$work/ready")"

# Wait until the server has refused a batch for lack of space.
batch_is_refused() { fill && [ "$(server_metric 'ingest_batches_total{outcome="no_space"}')" -ge 1 ]; }
expect_within 60s batch_is_refused
space_since=$(($(now_s) + 1))
[ $space_since -gt $((full_since + 12)) ] || space_since=$((full_since + 12))
sleep_until $space_since
cpu_when_space=$(cpu_time_us "$shares_pid")
is_alive "$server_pid" || fail "the server did not survive a full disk"
is_alive "$agent_pid" || fail "the agent did not survive the server's full disk"

# Stored data can still be queried.
fetch_profile "$work/while_full.json" shares "$from" "$full_since"

say "freeing space"
rm "$work/small/filler"
expect_within 60s server_is_ready
wait_for_coverage "$space_since"

# The agent kept the batches: no sample is lost.
fetch_profile "$work/between.json" shares "$full_since" $((space_since - 1)) "{\"tag_filter\": \"process_id = $shares_pid\"}"
cpu=$((cpu_when_space - cpu_when_full))
expect_near "CPU time while the disk was full, in microseconds" "$(total_of "$work/between.json")" $cpu \
	"$(cpu_tolerance $cpu $((space_since - full_since)))"
