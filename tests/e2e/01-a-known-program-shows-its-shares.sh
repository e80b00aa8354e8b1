#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Profiles of known programs have the right shares of functions, threads, kernel and library frames, and their sums agree
# with the kernel's accounting.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

readonly WINDOW_S=12

# With 12 seconds on two CPUs, three standard deviations of a share of 70 % are 1.4 points.
readonly SAMPLE_HZ=397

# The default interval of users.
agent_batch_interval=5s

start_server
start_agent --on_cpu.frequency $SAMPLE_HZ

# ---- one program on every CPU
start_workload shares $((WINDOW_S + 25))
shares_pid=$workload_pid
next_second
from=$((second + 2))
sleep_until $from
cpu_before=$(cpu_time_us "$shares_pid")
sleep_until $((from + WINDOW_S))
cpu_after=$(cpu_time_us "$shares_pid")
wait_for_coverage $((from + WINDOW_S))
wait_for_name work_a shares "$from" $((from + WINDOW_S - 1))

# Filter by process: another program on this host may have the same name.
fetch_profile "$work/shares.json" shares "$from" $((from + WINDOW_S - 1)) "{\"tag_filter\": \"process_id = $shares_pid\"}"
total=$(total_of "$work/shares.json")
cpu=$((cpu_after - cpu_before))

expect_near "CPU time of the program, in microseconds" "$total" "$cpu" "$(cpu_tolerance $cpu $WINDOW_S)"
expect_at_least "samples" $((total * SAMPLE_HZ / 1000000)) 4000

expect_exact_sums "$work/shares.json"
expect_near "share of work_a" "$(share_of "$work/shares.json" work_a)" 70 2
expect_near "share of work_b" "$(share_of "$work/shares.json" work_b)" 20 2
expect_near "share of work_c" "$(share_of "$work/shares.json" work_c)" 10 2

for thread in ingest parse render flush; do
	expect_label "$work/shares.json" "[t] $thread"
done
threads=$(children_of "$work/shares.json" shares | grep -c '^\[t\] ')
expect_equal "threads" "$threads" 4
expect_equal "caller of work_a" "$(children_of "$work/shares.json" work_round | tr '\n' ' ')" "work_a work_b work_c "
end_process "$shares_pid"

# ---- a library, and the kernel
start_workload in_library 60
library_pid=$workload_pid
start_workload syscalls 60
syscalls_pid=$workload_pid
next_second
from=$((second + 2))
sleep_until $((from + 8))
wait_for_coverage $((from + 8))
wait_for_name '[l] library_work' in_library "$from" $((from + 7))
wait_for_name read_zeros syscalls "$from" $((from + 7))
wait_for_name '[k] ksys_read' syscalls "$from" $((from + 7))

fetch_profile "$work/library.json" in_library "$from" $((from + 7))
expect_near "share of the library's function" "$(share_of "$work/library.json" '[l] library_work')" 100 3
expect_label "$work/library.json" call_library
expect_label "$work/library.json" "[p] in_library"

fetch_profile "$work/kernel.json" syscalls "$from" $((from + 7))
expect_near "share of read_zeros" "$(share_of "$work/kernel.json" read_zeros)" 100 5
kernel=$(jq '[.result[] | select(.profile_location_str | startswith("[k] ")) | .self_value] | add // 0' "$work/kernel.json")
expect_at_least "share of the kernel" \
	"$(awk -v k="$kernel" -v t="$(total_of "$work/kernel.json")" 'BEGIN { printf "%.1f", 100 * k / t }')" 90
expect_label "$work/kernel.json" "[k] ksys_read"

# Leaving out kernel frames does not change the sum.
fetch_profile "$work/depth0.json" syscalls "$from" $((from + 7)) '{"max_kernel_stack_depth": 0}'
expect_no_label "$work/depth0.json" "[k] "
expect_equal "the sum without kernel frames" "$(total_of "$work/depth0.json")" "$(total_of "$work/kernel.json")"
end_process "$library_pid"
end_process "$syscalls_pid"
