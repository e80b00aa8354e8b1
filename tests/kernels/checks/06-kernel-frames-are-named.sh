#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that spends its time in read(2): kernel functions have names, below the user function that called read(2).
. /hearth/tests/kernels/guest/lib.sh

use_server
use_agent
from=$(now_s)
start_workload syscalls 600
profile_of "$work/kernel.folded" syscalls "$from" 500 '[k] ksys_read'
expect_at_least "share of stacks that end in the kernel, in percent" \
	"$(awk '{ all += $NF } /;\[k\] [^;]*$/ { kernel += $NF } END { printf "%.1f", 100 * kernel / all }' "$work/kernel.folded")" 80
expect_at_least "share of read_zeros, in percent" "$(share_of "$work/kernel.folded" read_zeros)" 90
expect_at_least "share of ksys_read, in percent" "$(share_of "$work/kernel.folded" '[k] ksys_read')" 80
