#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# In another PID namespace /proc lists processes under other pids than those that the kernel reports. The agent does not
# start there, and logs one line with the remedy.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools unshare

result=0
timeout 20 unshare --pid --fork --mount-proc "$HEARTH_BUILD/bin/hearth-agent" --server http://127.0.0.1:9 \
	--spool "$work/spool" >"$work/agent.log" 2>&1 || result=$?
expect_equal "exit status" $result 1
expect_equal "lines" "$(wc -l <"$work/agent.log")" 1
grep -F 'hostPID: true' "$work/agent.log" || fail "the message does not name the remedy"
