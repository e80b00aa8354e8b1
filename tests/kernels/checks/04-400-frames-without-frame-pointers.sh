#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# 400 levels of recursion that need call frame information, with frames of fixed and of variable size.
. /hearth/tests/kernels/guest/lib.sh

use_server
use_agent
from=$(now_s)
start_workload unwound deep 600
profile_of "$work/unwound.folded" unwound "$from" 1000 leaf_a
expect_at_least "share with 266 frames of descend, in percent" "$(share_with_depth "$work/unwound.folded" descend 266)" 97
expect_at_least "share of main, in percent" "$(share_of "$work/unwound.folded" main)" 97
expect_near "share of leaf_a" "$(share_of "$work/unwound.folded" leaf_a)" 70 5
