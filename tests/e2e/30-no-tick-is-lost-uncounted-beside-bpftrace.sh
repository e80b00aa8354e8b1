#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# While a program on a classic tracepoint runs, the kernel runs no perf event program on that CPU. With bpftrace at every
# system call, this affects half of the ticks or more of a program with many system calls. The agent samples them anyway.
. "$(dirname "$0")/ticks.sh"
need_root
need_tools curl jq bpftrace mountpoint unshare

readonly WINDOW_S=12

start_server
start_agent
# In a private mount namespace, so that the mounts of the host do not change.
start_background bpftrace unshare --mount sh -c '
	mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing &&
	exec bpftrace -e "tracepoint:raw_syscalls:sys_enter { unroll(8) { @[comm] = count(); } }"'
expect_within 30s grep -q Attaching "$work/bpftrace.log"
start_workload small_syscalls 120
expect_within 20s has_samples small_syscalls $(($(now_s) - 5)) $(($(now_s) + 60))

next_second
from=$second
cpu_us=$(cpu_time_us "$workload_pid")
account_for_ticks $WINDOW_S
next_second
cpu_us=$(($(cpu_time_us "$workload_pid") - cpu_us))
to=$((second - 1))

own=$((cpu_us * 99 / 1000000))
expect_at_least "skipped by the kernel, in percent of the program's ticks" "$(in_percent "$skipped" "$own")" 10
expect_at_most "missed, in percent of all ticks" "$(in_percent "$missed" "$expected")" 3

wait_for_coverage "$((to + 1))"
wait_for_name call_the_kernel small_syscalls "$from" "$to"
expect_cpu_time small_syscalls "$cpu_us" "$from" "$to"
expect_at_least "share of call_the_kernel" "$(share_of "$work/time.json" call_the_kernel)" 95
# The interrupt in which these samples are taken is not part of the program's stack.
expect_no_label "$work/time.json" hrtimer_interrupt
