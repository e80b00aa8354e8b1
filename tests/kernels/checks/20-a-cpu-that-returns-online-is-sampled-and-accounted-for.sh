#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ci: none
# cpus: 4,cores=2,threads=2
# boot: isolcpus=2 nohz_full=3
#
# The second CPU goes offline and comes back six times, in every second cycle before anybody looked: timers and event
# rings follow it, and the periods of its time online are accounted for to the tick, or counted as not covered.
. /hearth/tests/kernels/guest/lib.sh

status=0
"$workloads/cpu_cycles" 6 || status=$?
[ $status != 77 ] || skip "this machine cannot switch its second CPU off"
expect_equal "exit status of cpu_cycles" $status 0
