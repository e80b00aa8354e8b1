#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A cgroup limits a program to a fifth of a CPU, so that it is throttled most of the time. The agent's throttled time agrees
# with the cgroup's cpu.stat. Two programs that share one CPU without a limit wait in the run queue about as long, and none
# of that time is counted as throttled.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools taskset

readonly NAME=hearth-e2e-$$ PERIOD_US=100000 QUOTA_US=20000
readonly SECONDS_OF_WORK=6

if [ -e /sys/fs/cgroup/cpu/cpu.cfs_quota_us ]; then
	group=/sys/fs/cgroup/cpu/$NAME
	mkdir "$group"
	echo $PERIOD_US >"$group/cpu.cfs_period_us"
	echo $QUOTA_US >"$group/cpu.cfs_quota_us"
	throttled_us() { awk '$1 == "throttled_time" { printf "%.0f\n", $2 / 1000 }' "$group/cpu.stat"; }
elif grep -qw cpu /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then
	group=/sys/fs/cgroup/$NAME
	echo +cpu >/sys/fs/cgroup/cgroup.subtree_control || skip "the cpu controller cannot be used here"
	mkdir "$group"
	echo "$QUOTA_US $PERIOD_US" >"$group/cpu.max"
	throttled_us() { awk '$1 == "throttled_usec" { print $2 }' "$group/cpu.stat"; }
else
	skip "there is no cpu controller"
fi
at_exit+=("rmdir $group")

# spin_in FILE: spins on CPU 0, in the cgroup with the task list FILE, unless FILE is empty.
spin_in() {
	[ -z "$1" ] || echo "$BASHPID" >"$1"
	exec taskset -c 0 "$workloads/deep" 5 $SECONDS_OF_WORK
}

# counters: sets $throttled and $queued (run-queue time) in microseconds, from a batch that was sent after the call.
counters() {
	next_second
	sleep_until $((second + 3))
	throttled=$(($(agent_metric throttled_ns_total) / 1000))
	queued=$(($(agent_metric run_queue_ns_total) / 1000))
}

need_workload deep
start_server
start_agent --off_cpu.disabled=false --batch_interval 1s
counters
throttled_before=$throttled queued_before=$queued

# On a busy host the program may not use up its share of a period. Then the kernel does not throttle it, and it runs longer.
is_throttled_enough() {
	spin_in "$group/cgroup.procs" &
	wait $!
	reported=$(throttled_us)
	[ "$reported" -ge $((SECONDS_OF_WORK * 500000)) ]
}
expect_within 120s is_throttled_enough
counters
expect_near "throttled, in microseconds" $((throttled - throttled_before)) "$reported" $((reported / 30))
expect_at_least "run-queue time, in microseconds" $((queued - queued_before)) $((throttled - throttled_before))

throttled_before=$throttled queued_before=$queued
spin_in '' &
first=$!
spin_in '' &
wait $first $!
counters
expect_at_least "run-queue time of two on one CPU, in ms" $(((queued - queued_before) / 1000)) $((SECONDS_OF_WORK * 700))
expect_at_most "throttled, in microseconds" $((throttled - throttled_before)) 100000
