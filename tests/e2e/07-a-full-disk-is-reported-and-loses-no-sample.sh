#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The data folder is full: the server says so, keeps answering, and takes everything that waited once there is room.
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

# An upload of debuginfo that fails gives its room back, which later batches may fill: that room is filled as well.
fill() { dd if=/dev/zero bs=64k >>"$work/small/filler" 2>/dev/null || true; }
say "filling the disk"
fill
next_second
full_since=$second
cpu_when_full=$(cpu_time_us "$shares_pid")

not_ready() { fill && [ "$(curl -s -m 5 -o "$work/ready" -w '%{http_code}' "$server_url/readyz")" = 503 ]; }
says_why() { grep -iE 'no space|disk|full' "$work/server.log" "$work/ready" >/dev/null; }
expect_within 60s not_ready
expect_within 10s says_why
say "readyz: $(head -c 200 "$work/ready")"

# Two batches and more are turned away.
is_turned_away() { fill && [ "$(server_metric 'ingest_batches_total{outcome="no_space"}')" -ge 1 ]; }
expect_within 60s is_turned_away
room_since=$(($(now_s) + 1))
[ $room_since -gt $((full_since + 12)) ] || room_since=$((full_since + 12))
sleep_until $room_since
cpu_when_room=$(cpu_time_us "$shares_pid")
is_alive "$server_pid" || fail "the server did not survive a full disk"
is_alive "$agent_pid" || fail "the agent did not survive the server's full disk"

# What is stored can still be asked for.
fetch_profile "$work/while_full.json" shares "$from" "$full_since"

say "making room"
rm "$work/small/filler"
expect_within 60s server_is_ready
wait_for_coverage "$room_since"

# Nothing was lost in between: the agent kept it.
fetch_profile "$work/between.json" shares "$full_since" $((room_since - 1)) "{\"tag_filter\": \"process_id = $shares_pid\"}"
cpu=$((cpu_when_room - cpu_when_full))
expect_near "CPU time while the disk was full, in microseconds" "$(total_of "$work/between.json")" $cpu \
	"$(cpu_tolerance $cpu $((room_since - full_since)))"
