#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Covered time is the time in which an agent ran, idle or not. A longer query range does not lower averages, and the gap
# between two runs of an agent is not covered.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

readonly gap_s=5

flame() { curl -sS -m 30 "$server_url/v1/flame?service=Total&last=1h"; }
fleet() { curl -sS -m 30 "$server_url/v1/fleet?last=1h"; }
covered_s() { flame | jq '.stats.covered_s'; }
covers_more_than() { [ "$(covered_s)" -gt "$1" ]; }

start_server
begin=$(now_s)
start_agent
expect_within 60s covers_more_than 9
flame >"$work/flame.json"
elapsed=$(($(now_s) - begin))
covered=$(jq '.stats.covered_s' "$work/flame.json")
# Both ends are rounded to seconds.
expect_at_least "seconds since the start, of which $covered are covered" $((elapsed + 2)) "$covered"
busy=$(jq '.stats.total / 1e6 / .stats.covered_s' "$work/flame.json")
say "CPUs busy on average: $busy"
expect_at_least "CPU time, with the counted share of the host's CPUs" "$(nproc)" "$(jq -n "$busy * 0.9")"

fleet >"$work/fleet.json"
host() { jq ".hosts[] | select(.name == \"e2e-host\") | .$1" "$work/fleet.json"; }
expect_near "ticks expected in $(host counted_s) s on all CPUs" "$(host ticks_expected)" \
	"$(($(host counted_s) * 99 * $(nproc)))" "$((2 * 99 * $(nproc)))"
expect_at_least "CPU time of the agent in microseconds" "$(host agent_cpu)" 1

# ---- the agent stops and starts again
stop_agent
before=$(covered_s)
stopped=$(now_s)
sleep_until $((stopped + gap_s))
expect_equal "covered seconds after $gap_s s without an agent" "$(covered_s)" "$before"
start_agent
expect_within 60s covers_more_than "$before"
# Read the clock after the query, so that it includes all covered time. Both ends are rounded to seconds.
after=$(covered_s)
expect_at_least "seconds since the start without the gap" "$(($(now_s) - begin - gap_s + 2))" "$after"
