#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two agents on a host that send to the same server would double the host's samples: the second agent does not start, and
# names the first. With another host name, another server or the flag it starts. A program without capabilities that holds
# the agent's lock name does not keep it from starting.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq setpriv python3

start_server
start_agent
first_pid=$agent_pid

# second NAME EXTRA...: starts another agent with separate folders; sets $second_pid; writes the output to $work/NAME.log
second() {
	local name=$1
	shift
	start_background "$name" "$HEARTH_BUILD/bin/hearth-agent" --server "$server_url" --spool "$work/$name.spool" \
		--unwind.cache_folder "" --metrics.file "$work/$name.metrics" --host.name e2e-host --batch_interval 1s "$@"
	second_pid=$background_pid
	reports_or_gone() { [ -s "$work/$name.metrics" ] || has_ended "$second_pid"; }
	expect_within 30s reports_or_gone
}

second refused
has_ended "$second_pid" || fail "a second agent runs"
cat "$work/refused.log"
expect_equal "lines of the second" "$(wc -l <"$work/refused.log")" 1
grep -F "another agent (pid $first_pid) sends to '$server_url'" "$work/refused.log" || fail "the first agent's pid is not named"
grep -F allow_second_agent "$work/refused.log" || fail "the flag is not named"

second allowed --allow_second_agent
! has_ended "$second_pid" || fail "the flag does not let a second agent run"
grep -F "another agent (pid $first_pid)" "$work/allowed.log" || fail "it does not warn that samples count twice"
end_process "$second_pid"

second renamed --host.name e2e-other
! has_ended "$second_pid" || fail "an agent with another host name does not run"
expect_equal "lines about another agent" "$(grep -c 'another agent' "$work/renamed.log" || true)" 0
end_process "$second_pid"

# ---- a killed agent does not keep the name
end_process "$first_pid" KILL
second next
! has_ended "$second_pid" || fail "no agent starts after one was killed: $(cat "$work/next.log")"
name=$(grep -o '@hearth-agent/[0-9a-f]*' /proc/net/unix | sort -u | while read -r name; do
	# The name that this agent holds: the socket is among its descriptors.
	inode=$(awk -v name="$name" '$8 == name { print $7; exit }' /proc/net/unix)
	# find fails if another descriptor is closed while it runs.
	[ -z "$(find "/proc/$second_pid/fd" -lname "socket:\[$inode\]" 2>/dev/null || true)" ] || printf '%s' "$name"
done)
[ -n "$name" ] || fail "the agent holds no name"
end_process "$second_pid"

# ---- a program without capabilities holds the name
start_background holder setpriv --inh-caps -all --bounding-set -all python3 -c "
import socket, time
holder = socket.socket(socket.AF_UNIX)
holder.bind('\0${name#@}')
holder.listen(1)
print('held', flush=True)
time.sleep(300)"
holder_pid=$background_pid
expect_within 20s grep -q held "$work/holder.log"
second undeterred
! has_ended "$second_pid" || fail "an unprivileged program keeps the agent from starting: $(cat "$work/undeterred.log")"
grep -F "process $holder_pid of user 0, which is no agent, holds" "$work/undeterred.log" || fail "the holder is not named"
