#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# SIGTERM: the agent hands over what it has and leaves with status 0; none of its BPF programs stays.
. /hearth/tests/kernels/guest/lib.sh

use_server
# A child of this script, so that its exit status can be seen.
if [ -s "$SHARED/agent.pid" ]; then
	kill -TERM "$(shared_pid agent)" 2>/dev/null || true
	wait_until "$GUEST_DEADLINE" is_gone "$(shared_pid agent)" || fail "still running after SIGTERM"
	rm -f "$SHARED/agent.pid"
fi
rm -f "$agent_metrics"
"$HEARTH_BUILD/bin/hearth-agent" --server "$server_url" --spool "$work/spool" --unwind.cache_folder "$SHARED/unwind" \
	--metrics.file "$agent_metrics" --off_cpu.disabled=false --batch_interval 2s >"$work/agent.log" 2>&1 </dev/null &
agent_pid=$!
wait_until "$GUEST_DEADLINE" agent_reports_or_gone || fail "the agent reports nothing"
kill -TERM "$agent_pid" || fail "the agent does not run: $(tail -n 1 "$work/agent.log")"
status=0
wait "$agent_pid" || status=$?
expect_equal "exit status" $status 0
! grep -E '^error ' "$work/agent.log" || fail "the agent logged an error"
