#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Covered time is the time in which an agent ran, idle or not. A longer query range does not lower averages, and the gap
# between two runs of an agent is not covered. Answers report the gap, and losses exactly as the agent counted them.
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

# ---- the answer, the command and the list of hosts report the gap
flame >"$work/gap.json"
expect_at_least "seconds of gaps" "$(jq '.stats.losses.gap_s' "$work/gap.json")" $((gap_s - 1))
jq -e '.message | test("no agent ran on host .e2e-host. from ")' "$work/gap.json" >/dev/null ||
	fail "the answer does not report the gap: $(jq .message "$work/gap.json")"
"$hearth" flame Total --server "$server_url" --last 1h 2>&1 >/dev/null | grep -F "note: " | grep -F 'no agent ran' ||
	fail "hearth flame does not report the gap"
"$hearth" hosts --server "$server_url" | grep -E "in the last 15 minutes: .*no agent for [0-9]+ s" ||
	fail "hearth hosts does not report the gap"
stop_agent

# ---- an agent that is stopped does not read its ring: the losses that it counts are those of the answer
lost_ticks() { sed -n 's/^hearth_agent_ticks_total{outcome="ring_full"} //p' "$agent_metrics"; }
loses_ticks() {
	kill -STOP "$agent_pid"
	sleep_until $(($(now_s) + 2))
	kill -CONT "$agent_pid"
	next_report
	[ "$(lost_ticks)" -gt 200 ]
}
next_report() {
	local before
	before=$(stat -c '%Y %i' "$agent_metrics")
	expect_within 20s report_is_newer "$before"
}
report_is_newer() { [ "$(stat -c '%Y %i' "$agent_metrics")" != "$1" ]; }
header() { sed -n "s/^$1: \\([0-9]*\\).*/\\1/Ip" "$work/headers"; }
outcome() { sed -n "s/^hearth_agent_ticks_total{outcome=\"$1\"} //p" "$agent_metrics"; }

next_second
since=$((second + 1))
sleep_until $since
start_workload shares 600
start_agent --ring_size 64KiB --on_cpu.frequency 1000 --batch_interval 1s
expect_within 60s loses_ticks
stop_agent
curl -sS -m 30 -D "$work/headers" "$server_url/v1/flame?service=Total&since=$since&until=$(($(now_s) + 1))" >"$work/lost.json"
say "lost in the ring: $(outcome ring_full) of $(agent_metric ticks_expected_total) ticks"
expect_equal "X-Hearth-Lost-Ring-Full" "$(header X-Hearth-Lost-Ring-Full)" "$(outcome ring_full)"
expect_equal "X-Hearth-Lost-Other" "$(header X-Hearth-Lost-Other)" $(($(outcome failed) + $(outcome missed)))
expect_equal "X-Hearth-Ticks-Expected" "$(header X-Hearth-Ticks-Expected)" "$(agent_metric ticks_expected_total)"
expect_equal "X-Hearth-Samples" "$(header X-Hearth-Samples)" "$(agent_metric samples_total)"
expect_equal "X-Hearth-Stacks-Cut" "$(header X-Hearth-Stacks-Cut)" "$(agent_metric stacks_cut_total)"
expect_equal "X-Hearth-Batches-Missing" "$(header X-Hearth-Batches-Missing)" 0
jq -e '.message | test("% of the samples of host .e2e-host. were lost in the ring buffer between ")' "$work/lost.json" >/dev/null ||
	fail "the answer does not report the loss: $(jq .message "$work/lost.json")"
"$hearth" hosts --server "$server_url" | grep -F '% of the samples lost in the ring buffer' ||
	fail "hearth hosts does not report the loss"
