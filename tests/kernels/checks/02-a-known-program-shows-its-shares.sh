#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program with frame pointers: 70, 20 and 10 % of its time, by count of loop steps. With 3000 samples, three standard
# deviations of a share of 70 % are 2.5 points.
. /hearth/tests/kernels/guest/lib.sh

use_server
use_agent
from=$(now_s)
start_workload shares 600
profile_of "$work/shares.folded" shares "$from" 3000 work_a
expect_near "share of work_a" "$(share_of "$work/shares.folded" work_a)" 70 3
expect_near "share of work_b" "$(share_of "$work/shares.folded" work_b)" 20 3
expect_near "share of work_c" "$(share_of "$work/shares.folded" work_c)" 10 2
for thread in ingest parse render flush; do
	expect_label "$work/shares.folded" "[t] $thread"
done
