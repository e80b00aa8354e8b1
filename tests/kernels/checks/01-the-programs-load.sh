#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The agent starts with everything switched on, reports, and logs no error.
. /hearth/tests/kernels/guest/lib.sh

use_server
use_agent
! grep -E '^error ' "$SHARED/agent.log" || fail "the agent logged an error: $(grep -m 1 -E '^error ' "$SHARED/agent.log")"
