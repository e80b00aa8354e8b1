#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The machine was booted with lockdown=integrity, and all checks before this one ran in that mode. In the mode
# `confidentiality`, which cannot be switched off, the kernel refuses BPF programs that read kernel memory, and logs that.
# A running agent keeps running. A new agent does not start, and logs one line with the reason and with `integrity` as the
# remedy.
. /hearth/tests/kernels/guest/lib.sh

readonly LOCKDOWN=/sys/kernel/security/lockdown

mode() { sed 's/.*\[\(.*\)\].*/\1/' $LOCKDOWN; }
sampled() { agent_metric 'ticks_total{outcome="sampled"}'; }
has_sampled() { [ "$(sampled)" -ge "$1" ]; }

expect_equal "mode" "$(mode)" integrity
use_server
use_agent
echo confidentiality >$LOCKDOWN
expect_equal "mode" "$(mode)" confidentiality
take_report "$work/report"
start_workload syscalls 600
expect_within "$GUEST_DEADLINE" has_sampled $(($(sampled) + 200))
end_process "$workload_pid"

dmesg -c >/dev/null
status=0
"$HEARTH_BUILD/bin/hearth-agent" --server "$server_url" --spool "$work/spool" --unwind.cache_folder "$work/unwind" \
	--host.name locked-down >"$work/refused.log" 2>&1 || status=$?
cat "$work/refused.log"
expect_equal "exit status" $status 1
expect_equal "errors" "$(grep -c '^error ' "$work/refused.log")" 1
grep "^error .*mode 'confidentiality' .*not starting.*lockdown=integrity" "$work/refused.log" >/dev/null ||
	fail "the error does not name the mode and the remedy"
dmesg | grep -i 'lockdown: hearth-agent: use of bpf to read kernel RAM is restricted' ||
	fail "the kernel did not log that it refused a BPF program"
