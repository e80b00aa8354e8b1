#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ci: none
# cpus: 4,cores=2,threads=2
# boot: isolcpus=2 nohz_full=3
#
# The second CPU goes offline and online six times; in every second cycle it is online again before the agent looks. The
# agent reopens its timers and event rings. Each period while the CPU is online is counted, or counted as not covered.
. /hearth/tests/kernels/guest/lib.sh

status=0
"$workloads/cpu_cycles" 6 || status=$?
[ $status != 77 ] || skip "this machine cannot take its second CPU offline"
expect_equal "exit status of cpu_cycles" $status 0
