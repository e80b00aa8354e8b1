#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# While the bpf() system call updates a map, the kernel runs no perf event program on that CPU. A program that does little
# else is sampled anyway.
. "$(dirname "$0")/ticks.sh"
need_root
need_tools curl jq

readonly WINDOW_S=12

start_server
start_agent
start_workload map_updates 120
expect_within 20s has_samples map_updates $(($(now_s) - 5)) $(($(now_s) + 60))

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
wait_for_name update_element map_updates "$from" "$to"
expect_cpu_time map_updates "$cpu_us" "$from" "$to"
expect_at_least "share of update_element" "$(share_of "$work/time.json" update_element)" 90
expect_no_label "$work/time.json" hrtimer_interrupt
