#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The agent starts with all features enabled, reports, uploads the kernel's symbols, and logs no error.
. /hearth/tests/kernels/guest/lib.sh

use_server
use_agent
# Runs before any workload: the upload takes 20 s of a guest's CPU time, and three times as long beside other programs.
kernel_symbols_are_uploaded() { grep -F "uploaded debuginfo of '[kernel]'" "$SHARED/agent.log"; }
expect_within "$GUEST_DEADLINE" kernel_symbols_are_uploaded
! grep -E '^error ' "$SHARED/agent.log" || fail "the agent logged an error: $(grep -m 1 -E '^error ' "$SHARED/agent.log")"
