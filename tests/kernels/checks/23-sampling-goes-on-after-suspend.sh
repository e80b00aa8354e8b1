#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ci: none
# cpus: 4,cores=2,threads=2
# boot: isolcpus=2 nohz_full=3
#
# The machine is suspended, with all CPUs but the first offline, until its clock wakes it. Programs on CPU 1 are sampled
# again, and the outcomes of all periods add up.
. /hearth/tests/kernels/guest/lib.sh

readonly ALARM=/sys/class/rtc/rtc0/wakealarm

[ -w $ALARM ] || skip "no clock of this machine can wake it"
use_server
use_agent
suspended=
for state in freeze mem; do
	grep -qw $state /sys/power/state || continue
	echo 0 >$ALARM
	echo +3 >$ALARM
	echo $state >/sys/power/state || continue
	suspended+=" $state"
	from=$(now_s)
	start_background "workload-$state" taskset 2 "$workloads/shares" 600
	workload_pid=$background_pid
	profile_of "$work/$state.folded" shares "$from" 200 work_a
	end_process "$workload_pid"
	take_report "$work/report-$state"
	expect_outcomes_add_up "$work/report-$state"
	say "not covered: $(metric_in "$work/report-$state" cpu_uncovered_ns_total) ns"
done
[ -n "$suspended" ] || skip "this kernel cannot suspend: /sys/power/state has '$(cat /sys/power/state)'"
say "was in$suspended"
