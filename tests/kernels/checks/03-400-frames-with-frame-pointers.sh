#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The stacks have all 400 levels of recursion, up to the first function of the thread.
. /hearth/tests/kernels/guest/lib.sh

use_server
use_agent
from=$(now_s)
start_workload deep 400 600
profile_of "$work/deep.folded" deep "$from" 500 at_the_bottom
# The first samples are taken before the agent knows the mappings, and while the recursion is not that deep yet.
expect_at_least "share with 401 frames of descend, in percent" "$(share_with_depth "$work/deep.folded" descend 401)" 97
expect_at_least "share of main, in percent" "$(share_of "$work/deep.folded" main)" 97
