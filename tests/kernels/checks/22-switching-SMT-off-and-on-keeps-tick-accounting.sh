#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ci: none
# cpus: 4,cores=2,threads=2
# boot: isolcpus=2 nohz_full=3
#
# The second thread of each core is switched off and on (/sys/devices/system/cpu/smt/control). The agent closes and reopens
# its timer, samples programs on it again, and the outcomes of all periods add up.
. /hearth/tests/kernels/guest/lib.sh

readonly SWITCH=/sys/devices/system/cpu/smt/control

sampled() { "$workloads/cpu_cycles" list; }

[ "$(cat $SWITCH 2>/dev/null)" = on ] || skip "this machine has no threads that share a core: $(cat $SWITCH 2>&1)"
use_server
use_agent
expect_equal "CPUs that are sampled" "$(sampled)" 0,1
echo off >$SWITCH
expect_equal "CPUs that are sampled while threads are off" "$(sampled)" 0
take_report "$work/off"
echo on >$SWITCH
expect_equal "CPUs that are sampled when threads are on again" "$(sampled)" 0,1
from=$(now_s)
start_background workload-shares taskset 2 "$workloads/shares" 600
workload_pid=$background_pid
profile_of "$work/shares.folded" shares "$from" 200 work_a
take_report "$work/on"
expect_outcomes_add_up "$work/off" "$work/on"
