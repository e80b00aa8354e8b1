#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# 400 levels of recursion, all of them in the stack, up to the thread's first function.
. /hearth/tests/kernels/guest/lib.sh

use_server
use_agent
from=$(now_s)
start_workload deep 400 600
profile_of "$work/deep.folded" deep "$from" 500 at_the_bottom
# The first samples of a process are taken before its mappings are known, and its start is not that deep.
expect_at_least "share with 401 times descend, in percent" "$(share_with_depth "$work/deep.folded" descend 401)" 97
expect_at_least "share of main, in percent" "$(share_of "$work/deep.folded" main)" 97
