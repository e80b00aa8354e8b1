#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Processes that end after 200 ms of CPU time appear with the name of their function.
. /hearth/tests/kernels/guest/lib.sh

readonly RUNS=15

use_server
use_agent
from=$(now_s)
for ((run = 0; run < RUNS; run++)); do
	"$workloads/short" 200 || true
done
profile_of "$work/short.folded" short "$from" $((RUNS * 10)) short_lived_work
expect_at_least "share of short_lived_work, in percent" "$(share_of "$work/short.folded" short_lived_work)" 80
