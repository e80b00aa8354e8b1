#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A busy program runs from a file system that accepts requests and never answers them: a process that looks at the
# program's file waits in the kernel, where no signal ends it. The agent samples other programs without a gap, with the
# names of their functions, and stops on SIGTERM.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq
need_workload hanging_mount
need_workload shares
[ -c /dev/fuse ] || skip "needs /dev/fuse"

mkdir "$work/mount"
start_background mount "$workloads/hanging_mount" "$work/mount" "$workloads/shares"
mount_pid=$background_pid
# When the daemon ends, so does the connection, and processes that wait for it continue.
at_exit+=('kill -KILL "$mount_pid" 2>/dev/null; wait_until 10s is_gone "$mount_pid"; umount "$work/mount"')
expect_within 10s grep -q mounted "$work/mount.log"
start_background from-mount "$work/mount/program" 300
program_pid=$background_pid
runs() { [ "$(cpu_time_us "$program_pid")" -gt 500000 ]; }
expect_within 60s runs
kill -USR1 "$mount_pid"

start_server
start_agent --batch_interval 1s

start_workload shares 60
wait_for_name work_a shares "$(now_s)" $(($(now_s) + 60))
next_second
from=$second
cpu_before=$(cpu_time_us "$workload_pid")
at_second $((from + 10))
cpu_after=$(cpu_time_us "$workload_pid")
wait_for_coverage $((from + 12))
fetch_profile "$work/shares.json" shares "$from" $((from + 9))
cpu=$((cpu_after - cpu_before))
expect_near "microseconds of the program that does not hang" "$(total_of "$work/shares.json")" "$cpu" \
	"$(cpu_tolerance "$cpu" 10)"
expect_near "share of work_a" "$(share_of "$work/shares.json" work_a)" 70 8

hung() { grep -F 'look_ups_failed_total{reason="hung"}' "$agent_metrics" | awk '{ exit !($2 >= 1) }'; }
expect_within 60s hung
say "$(grep -E '^hearth_agent_(look_ups|helper_failures|samples_not_waited)' "$agent_metrics" | tr '\n' ' ')"

# A helper still waits for the file. The agent does not wait for the helper.
stuck=$(ps -eo pid,stat,comm | awk '$3 == "hearth-finder" && $2 ~ /^D/' | wc -l)
expect_at_least "finders that hang in the kernel" "$stuck" 1
is_alive "$agent_pid" || fail "the agent is gone"
began=$(now_s)
kill -TERM "$agent_pid"
expect_within 20s is_gone "$agent_pid"
say "the agent ended within $(($(now_s) - began)) s"
wait "$agent_pid" || fail "the agent ended with status $?"
