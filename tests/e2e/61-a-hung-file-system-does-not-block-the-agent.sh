#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A busy program runs from a file system that accepts requests and never answers them: a process that reads the program's
# file blocks in the kernel, and no signal ends it. Two other programs have their command line and a stack in such a file. A
# reader of the first program's stack blocks. A reader of the second program's mappings or command line waits for a lock whose
# holder blocks. The agent samples other programs without a gap and with the names of their functions, and stops on SIGTERM.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq
need_workload hanging_mount
need_workload hung_memory
need_workload shares
[ -c /dev/fuse ] || skip "needs /dev/fuse"

mkdir "$work/mount"
(cat "$workloads/shares" && head -c 1048576 /dev/zero) >"$work/file"
start_background mount "$workloads/hanging_mount" "$work/mount" "$work/file"
mount_pid=$background_pid
# When the daemon ends, the kernel closes the connection, and blocked processes continue or end.
hung_pids=()
unmount() {
	kill -KILL "$mount_pid" 2>/dev/null
	wait_until 10s has_ended "$mount_pid"
	kill -KILL "${hung_pids[@]}" 2>/dev/null
	wait "${hung_pids[@]}"
	umount "$work/mount"
}
at_exit+=(unmount)
expect_within 10s grep -q mounted "$work/mount.log"
start_background from-mount "$work/mount/program" 300
program_pid=$background_pid
runs() { [ "$(cpu_time_us "$program_pid")" -gt 500000 ]; }
expect_within 60s runs
for which in free locked; do
	"$workloads/hung_memory" "$work/mount/program" >"$work/hung-$which.log" 2>&1 &
	locked_pid=$!
	hung_pids+=("$locked_pid")
	expect_within 10s grep -q ready "$work/hung-$which.log"
done
kill -USR1 "$mount_pid"
address=$(awk '$6 ~ /program$/ { sub(/-.*/, ""); print; exit }' "/proc/$locked_pid/maps")
dd if="/proc/$locked_pid/mem" of=/dev/null bs=4096 count=1 iflag=skip_bytes skip=$((16#$address)) 2>"$work/reader.log" &
hung_pids+=("$!")
is_locked() { grep -qs mmap "/proc/$locked_pid/task"/*/wchan; }
expect_within 10s is_locked

start_server
start_agent --batch_interval 1s --off_cpu.disabled=false

start_workload shares 60
wait_for_name work_a shares "$(now_s)" $(($(now_s) + 60))
next_second
from=$second
cpu_before=$(cpu_time_us "$workload_pid")
sleep_until $((from + 10))
cpu_after=$(cpu_time_us "$workload_pid")
wait_for_coverage $((from + 12))
fetch_profile "$work/shares.json" shares "$from" $((from + 9)) "{\"tag_filter\": \"process_id = $workload_pid\"}"
cpu=$((cpu_after - cpu_before))
expect_near "microseconds of the program that does not hang" "$(total_of "$work/shares.json")" "$cpu" \
	"$(cpu_tolerance "$cpu" 10)"
expect_near "share of work_a" "$(share_of "$work/shares.json" work_a)" 70 8

hung() { grep -F 'look_ups_failed_total{reason="hung"}' "$agent_metrics" | awk '{ exit !($2 >= 1) }'; }
expect_within 60s hung
unread() { grep -F "off_cpu_unread_total{reason=\"$1\"}" "$agent_metrics" | awk '{ exit !($2 >= 1) }'; }
expect_within 20s unread in-file
expect_within 20s unread busy
# The name of the process differs from its program's: only the command line shows whether it was started under that name.
not_read() { grep -F 'helper_failures_total{helper="reader",how="timeout"}' "$agent_metrics" | awk '{ exit !($2 >= 1) }'; }
expect_within 20s not_read
say "$(grep -E '^hearth_agent_(look_ups|helper_failures|samples_not_waited|processes_left|off_cpu_unread)' "$agent_metrics" | tr '\n' ' ')"

# A helper is still blocked on the file; the agent does not wait for it. This test does not use ps(1), which would block on
# the command line of the locked process.
stuck=$(cat /proc/[0-9]*/stat 2>/dev/null | grep -c '^[0-9]* (hearth-finder) D' || true)
expect_at_least "finders blocked in the kernel" "$stuck" 1
is_alive "$agent_pid" || fail "the agent has ended"
began=$(now_s)
kill -TERM "$agent_pid"
expect_within 20s has_ended "$agent_pid"
say "the agent ended within $(($(now_s) - began)) s"
wait "$agent_pid" || fail "the agent ended with status $?"
