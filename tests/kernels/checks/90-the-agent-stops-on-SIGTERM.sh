#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# On SIGTERM the agent sends its remaining batches and ends with status 0.
. /hearth/tests/kernels/guest/lib.sh

use_server
use_agent
kill -TERM "$agent_pid"
wait_until "$GUEST_DEADLINE" has_ended "$agent_pid" || fail "still running after SIGTERM"
has_status() { [ -s "$SHARED/agent.status" ]; }
expect_within "$GUEST_DEADLINE" has_status
expect_equal "exit status" "$(cat "$SHARED/agent.status")" 0
! grep -E '^error ' "$SHARED/agent.log" || fail "the agent logged an error"
rm -f "$SHARED/agent.pid"
