#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that spends its time in read(2): the kernel's functions have names, below the function that called.
. /hearth/tests/kernels/guest/lib.sh

use_server
use_agent
from=$(now_s)
start_workload syscalls 600
profile_of "$work/kernel.json" syscalls "$from" 500 '[k] ksys_read'
kernel=$(jq '[.result[] | select(.profile_location_str | startswith("[k] ")) | .self_value] | add // 0' "$work/kernel.json")
expect_at_least "share of the kernel, in percent" \
	"$(awk -v k="$kernel" -v t="$(total_of "$work/kernel.json")" 'BEGIN { printf "%.1f", 100 * k / t }')" 80
expect_at_least "share of read_zeros, in percent" "$(share_of "$work/kernel.json" read_zeros)" 90
expect_at_least "share of ksys_read, in percent" "$(share_of "$work/kernel.json" '[k] ksys_read')" 80
