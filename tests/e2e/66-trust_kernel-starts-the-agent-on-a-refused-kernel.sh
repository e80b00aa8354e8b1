#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A kernel that may freeze is refused with the reason and a remedy, and the remedy works: as a flag, and as the variable of
# the same name. The kernel's version is made up (tests/workloads/old_kernel.c), the rest is the real kernel.
. "$(dirname "$0")/lib.sh"
need_root
[ ! -e /proc/version_signature ] || skip "this kernel has a version signature, which is not made up here"

# A command and no function: a function in the background would be a shell that ends without its agent.
agent_metrics=$work/agent.metrics
agent_on_old_kernel=(env LD_PRELOAD="$workloads/libold_kernel.so" "$HEARTH_BUILD/bin/hearth-agent"
	--server "http://127.0.0.1:$(free_port)" --spool "$work/spool" --unwind.cache_folder "$work/unwind"
	--metrics.file "$agent_metrics" --batch_interval 1s)

# expect_start NAME COMMAND...: the agent reports.
expect_start() {
	rm -f "$agent_metrics"
	start_background "$@"
	agent_pid=$background_pid
	expect_within 60s agent_reports_or_ended
	! has_ended "$agent_pid" || fail "the agent does not run with the remedy: $(tail -n 1 "$work/$1.log")"
	stop_agent
}

! "${agent_on_old_kernel[@]}" >"$work/refused.log" 2>&1 || fail "the agent ran on a kernel that may freeze"
grep -q "may freeze" "$work/refused.log" || fail "the reason is not said"
grep -q -- "--trust_kernel=true" "$work/refused.log" || fail "no remedy is said"

expect_start flag "${agent_on_old_kernel[@]}" --trust_kernel=true
HEARTH_AGENT_TRUST_KERNEL=1 expect_start variable "${agent_on_old_kernel[@]}"
