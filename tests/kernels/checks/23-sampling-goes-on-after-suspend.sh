#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ci: none
# cpus: 4,cores=2,threads=2
# boot: isolcpus=2 nohz_full=3
#
# The machine suspends to memory and its clock wakes it; meanwhile all CPUs but the first are offline. Programs on CPU 1 are
# sampled again, and all periods are counted. (QEMU's clock does not wake the machine from `freeze`, in which CPUs stay
# online.)
. /hearth/tests/kernels/guest/lib.sh

readonly ALARM=/sys/class/rtc/rtc0/wakealarm

[ -w $ALARM ] || skip "no clock of this machine can wake it"
grep -qF '[deep]' /sys/power/mem_sleep ||
	skip "this machine cannot be suspended to memory: /sys/power/mem_sleep has '$(cat /sys/power/mem_sleep 2>&1)'"
use_server
use_agent
take_report "$work/before"
dmesg -c >/dev/null
echo 0 >$ALARM
echo +3 >$ALARM
echo mem >/sys/power/state || fail "the machine cannot be suspended"
dmesg | grep -F 'CPU 1 is now offline' || fail "CPU 1 was not offline"
from=$(now_s)
start_background workload-shares taskset 2 "$workloads/shares" 600
workload_pid=$background_pid
profile_of "$work/shares.folded" shares "$from" 200 work_a
take_report "$work/after"
expect_outcomes_add_up "$work/before" "$work/after"
say "not covered before and after: $(metric_in "$work/before" cpu_uncovered_ns_total)," \
	"$(metric_in "$work/after" cpu_uncovered_ns_total) ns"
