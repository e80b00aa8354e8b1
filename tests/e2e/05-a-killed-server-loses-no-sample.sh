#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The server is killed under load and stays down for some time. After its restart it has every sample that the agent took,
# exactly once. At first it runs with a clock that is 10 days ahead: the agent keeps its batches until the clock is right.
# HEARTH_E2E_LONG=1 keeps the server down for 60 s.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

away_s=12
[ -z "${HEARTH_E2E_LONG:-}" ] || away_s=60

# A stopping agent sends its remaining batches for a few seconds only: a longer interval gives few batches.
agent_batch_interval=5s

start_server
start_agent
from=$(now_s)
start_workload shares $((away_s + 60))
expect_within 30s has_samples shares "$from" $((from + 600))

say "killing the server"
stop_server KILL
sleep_until $(($(now_s) + away_s))
is_alive "$agent_pid" || fail "the agent did not survive the server"
# The sanitizer's library does not start after another one.
if ! grep -q __asan_init "$server_binary"; then
	say "starting it with a clock that is 10 days ahead"
	HEARTH_CLOCK_AHEAD_S=864000 LD_PRELOAD=$workloads/libwrong_clock.so start_server --retention 30d
	logs_clock() { grep -E "clock of host 'e2e-host' is 86[34][0-9]+ s behind th(e|is) server's" "$work/$1.log" >/dev/null; }
	expect_within 30s logs_clock server
	expect_within 30s logs_clock agent
	expect_equal "agents with a wrong clock" "$(server_metric agents_with_wrong_clock)" 1
	stop_server
fi
say "starting it again"
start_server
back=$(now_s)
wait_for_coverage "$back"

# A stopping agent sends the remaining batches; then its counters no longer change.
stop_agent
to=$(($(now_s) + 1))
taken=$(agent_metric samples_total)
batches=$(agent_metric batches_sent_total)
say "the agent took $taken samples, and sent $batches batches"
expect_at_least "samples taken" "$taken" $((away_s * 99))
expect_equal "batches that the agent dropped" "$(agent_metric batches_dropped_total)" 0

# Values are microseconds, rounded per node; the value of the root gives the number of periods.
samples_stored() {
	query_profile Total $((from - 120)) "$to" '{"debug": true}' >"$work/total.json"
	awk -v us="$(total_of "$work/total.json")" 'BEGIN { printf "%.0f\n", us * 99 / 1000000 }'
}
all_are_there() { [ "$(samples_stored)" -ge "$taken" ]; }
wait_until 30s all_are_there || true
stored=$(samples_stored)
expect_near "samples stored" "$stored" "$taken" 1

# The profile has no gap for the time without a server.
fetch_profile "$work/away.json" shares $((back - away_s + 2)) $((back - 2))
expect_at_least "CPU time while the server was away, in microseconds" "$(total_of "$work/away.json")" \
	$(((away_s - 4) * 1000000))
