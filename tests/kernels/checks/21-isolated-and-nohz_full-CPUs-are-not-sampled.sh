#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ci: none
# cpus: 4,cores=2,threads=2
# boot: isolcpus=2 nohz_full=3
#
# The agent samples CPUs that the kernel's command line isolates only if the configuration names them.
. /hearth/tests/kernels/guest/lib.sh

sampled() { "$workloads/cpu_cycles" list "$@"; }

expect_equal "CPUs that the kernel isolates" "$(cat /sys/devices/system/cpu/isolated)" 2
# Kernels without CONFIG_NO_HZ_FULL, such as Debian's 5.10, do not have this file and ignore the option.
if [ -e /sys/devices/system/cpu/nohz_full ]; then
	expect_equal "CPUs without a tick" "$(cat /sys/devices/system/cpu/nohz_full)" 3
	expect_equal "CPUs that are sampled" "$(sampled)" 0,1
else
	say "this kernel is built without CONFIG_NO_HZ_FULL"
	expect_equal "CPUs that are sampled" "$(sampled)" 0,1,3
fi
expect_equal "CPUs that are sampled when 1 and 2 are configured" "$(sampled 1-2)" 1,2
expect_equal "CPUs that are sampled when a missing CPU is configured" "$(sampled 0,9)" 0
