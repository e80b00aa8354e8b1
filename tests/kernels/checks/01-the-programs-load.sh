#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The agent starts with everything switched on, reports, hands over the names of the kernel's functions, and logs no error.
. /hearth/tests/kernels/guest/lib.sh

use_server
use_agent
# Before any workload runs: handing them over costs a guest 20 s of its CPU, and three times that beside others.
kernel_is_known() { grep -F "uploaded debuginfo of '[kernel]'" "$SHARED/agent.log"; }
expect_within "$GUEST_DEADLINE" kernel_is_known
! grep -E '^error ' "$SHARED/agent.log" || fail "the agent logged an error: $(grep -m 1 -E '^error ' "$SHARED/agent.log")"
