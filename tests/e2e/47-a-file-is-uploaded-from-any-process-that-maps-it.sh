#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two containers run the same program, each from its own file. The first one ends, and its file is removed, before the server
# requests the program. The agent uploads the file of the second container, so functions have names.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq readelf sha1sum

# The agent starts without a server, and keeps its batches.
server_port=$(free_port)
server_url=http://127.0.0.1:$server_port
start_agent
need_workload shares
from=$(now_s)
# The agent drains its samples four times a second.
has_run() { [ "$(cpu_time_us "$1")" -ge 1500000 ]; }

mkdir "$work/first" "$work/second"
copy_with_new_build_id "$workloads/shares" "$work/first/contained"
cp "$work/first/contained" "$work/second/contained"
start_background workload-first "$work/first/contained" 600
first_pid=$background_pid
expect_within 60s has_run "$first_pid"
start_background workload-second "$work/second/contained" 600
second_pid=$background_pid
expect_within 60s has_run "$second_pid"
end_process "$first_pid"
rm -r "$work/first"

start_server
wait_for_name work_a contained "$from" $((from + 120))
for pid in "$first_pid" "$second_pid"; do
	fetch_profile "$work/profile.json" contained "$from" $((from + 120)) "{\"tag_filter\": \"process_id = $pid\"}"
	expect_at_least "share of work_a in process $pid" "$(share_of "$work/profile.json" work_a)" 50
done
