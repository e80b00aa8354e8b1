#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The agent refuses a kernel that may freeze, with the reason and a remedy. The remedy works as a flag and as the environment
# variable. The test replaces the kernel's version (tests/workloads/old_kernel.c); everything else is the real kernel.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
[ ! -e /proc/version_signature ] || skip "this kernel has a version signature, which this test cannot replace"

# A command, not a function: a function in the background would run in a subshell that ends without its agent.
agent_metrics=$work/agent.metrics
agent_on_old_kernel=(env LD_PRELOAD="$workloads/libold_kernel.so" "$HEARTH_BUILD/bin/hearth-agent"
	--server "http://127.0.0.1:$(free_port)" --spool "$work/spool" --unwind.cache_folder "$work/unwind"
	--metrics.file "$agent_metrics" --batch_interval 1s)

# expect_start NAME COMMAND...: starts an agent and waits for its first report.
expect_start() {
	rm -f "$agent_metrics"
	start_background "$@"
	agent_pid=$background_pid
	expect_within 60s agent_reports_or_ended
	! has_ended "$agent_pid" || fail "the agent does not run with the remedy: $(tail -n 1 "$work/$1.log")"
	stop_agent
}

! "${agent_on_old_kernel[@]}" >"$work/refused.log" 2>&1 || fail "the agent ran on a kernel that may freeze"
grep -q "may freeze" "$work/refused.log" || fail "the message does not have the reason"
grep -q -- "--trust_kernel=true" "$work/refused.log" || fail "the message does not have the remedy"

expect_start flag "${agent_on_old_kernel[@]}" --trust_kernel=true
HEARTH_AGENT_TRUST_KERNEL=1 expect_start variable "${agent_on_old_kernel[@]}"
