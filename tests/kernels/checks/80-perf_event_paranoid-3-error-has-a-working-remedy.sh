#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ci: 6.12
#
# The agent runs as an ordinary user with the documented capabilities. With kernel.perf_event_paranoid at 3 or 4 (levels of
# Debian's kernels) the kernel refuses perf events. The agent logs one line with the reason and a command; after that
# command it works. The other checks run at level 3 with the other remedy, CAP_SYS_ADMIN.
. /hearth/tests/kernels/guest/lib.sh

readonly PARANOID=/proc/sys/kernel/perf_event_paranoid
readonly SIX=-all,+bpf,+perfmon,+sys_ptrace,+dac_read_search,+checkpoint_restore,+syslog

before=$(cat $PARANOID)
at_exit+=("echo $before >$PARANOID")
use_server
expect_equal "Debian's kernel.perf_event_paranoid" "$before" 3
use_agent
chmod 755 "$work"
# Kernels before 5.11 count BPF maps toward the user's limit of locked memory.
ulimit -l unlimited

# start_as_nobody: starts an agent and sets $agent_pid; writes the output to $work/nobody.log
start_as_nobody() {
	rm -rf "$work/user" "$work/nobody.log"
	mkdir "$work/user"
	chown nobody "$work/user"
	agent_metrics=$work/user/metrics
	start_background nobody setpriv --reuid nobody --regid nogroup --clear-groups --inh-caps $SIX \
		--ambient-caps $SIX --bounding-set $SIX "$HEARTH_BUILD/bin/hearth-agent" --server "$server_url" \
		--spool "$work/user/spool" --unwind.cache_folder "$work/user/unwind" --metrics.file "$agent_metrics" \
		--host.name of-nobody --batch_interval 2s
	agent_pid=$background_pid
	wait_until "$GUEST_DEADLINE" agent_reports_or_ended || fail "the agent writes no report"
}

for level in 3 4; do
	echo $level >$PARANOID
	expect_equal kernel.perf_event_paranoid "$(cat $PARANOID)" $level
	start_as_nobody
	has_ended "$agent_pid" || fail "the agent runs at perf_event_paranoid $level with CAP_PERFMON alone"
	cat "$work/nobody.log"
	expect_equal "errors at level $level" "$(grep -c '^error ' "$work/nobody.log")" 1
	grep '^error .*kernel.perf_event_paranoid.*CAP_SYS_ADMIN.*sysctl kernel.perf_event_paranoid=2' \
		"$work/nobody.log" >/dev/null || fail "the error does not name the remedies"
done

command=$(sed -n "s/^error .* run '\(sysctl [^']*\)'.*/\1/p" "$work/nobody.log")
say "remedy: $command"
eval "$command"
expect_equal kernel.perf_event_paranoid "$(cat $PARANOID)" 2
start_as_nobody
! has_ended "$agent_pid" || fail "the agent has ended: $(tail -n 1 "$work/nobody.log")"
has_sampled() { [ "$(agent_metric 'ticks_total{outcome="sampled"}')" -ge 20 ]; }
start_workload syscalls 600
wait_until "$GUEST_DEADLINE" has_sampled || fail "the agent takes no samples"
