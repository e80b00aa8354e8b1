#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A cgroup limits a program to a fifth of a CPU, so that it is throttled most of the time. The agent's throttled time agrees
# with the cgroup's cpu.stat. Two programs that share a CPU without a limit wait for it too, and none of that time is
# counted as throttled.
# ci: 6.12
. /hearth/tests/kernels/guest/lib.sh

readonly LIMIT_PERIOD_US=100000 LIMIT_US=20000

use_server
use_agent
mkdir -p "$work/cpu"
mount -t cgroup -o cpu cgroup "$work/cpu" || skip "this kernel has no CPU controller in cgroup version 1"
at_exit+=("umount $work/cpu")
mkdir "$work/cpu/limited"
[ -e "$work/cpu/limited/cpu.cfs_quota_us" ] || skip "this kernel cannot limit the CPU time of a cgroup"
echo $LIMIT_PERIOD_US >"$work/cpu/limited/cpu.cfs_period_us"
echo $LIMIT_US >"$work/cpu/limited/cpu.cfs_quota_us"

in_us() { echo $(($(metric_in "$1" "$2") / 1000)); }

take_report "$work/before"
bash -c 'echo $$ >"$1/cpu/limited/cgroup.procs"; exec "$2" 5 6' _ "$work" "$workloads/deep"
reported_us=$(awk '$1 == "throttled_time" { printf "%.0f\n", $2 / 1000 }' "$work/cpu/limited/cpu.stat")
rmdir "$work/cpu/limited"
take_report "$work/after"
throttled_us=$(($(in_us "$work/after" throttled_ns_total) - $(in_us "$work/before" throttled_ns_total)))
expect_at_least "throttled by the cgroup's account, in microseconds" "$reported_us" 3000000
expect_near "throttled, in microseconds" "$throttled_us" "$reported_us" $((reported_us / 20))
expect_at_least "run-queue time, in microseconds" \
	$(($(in_us "$work/after" run_queue_ns_total) - $(in_us "$work/before" run_queue_ns_total))) "$throttled_us"

"$workloads/deep" 5 4 &
"$workloads/deep" 5 4
wait $!
take_report "$work/shared"
expect_at_least "run-queue time of two on one CPU, in microseconds" \
	$(($(in_us "$work/shared" run_queue_ns_total) - $(in_us "$work/after" run_queue_ns_total))) 2000000
expect_equal "throttled, in microseconds" \
	$(($(in_us "$work/shared" throttled_ns_total) - $(in_us "$work/after" throttled_ns_total))) 0
