#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every period of every CPU is accounted for: as idle, as a sample, or as a loss with its reason.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

readonly WINDOW_S=12

start_server
start_agent
start_workload shares $((WINDOW_S + 30))

# Two reports of the agent, each of one moment; between them every tick must have gone somewhere.
take_report() {
	local before
	before=$(stat -c '%Y %i' "$agent_metrics")
	expect_within 20s report_is_newer "$before"
	cp "$agent_metrics" "$1"
}
report_is_newer() { [ "$(stat -c '%Y %i' "$agent_metrics")" != "$1" ]; }

metric_in() { agent_metrics=$1 agent_metric "$2"; }
grown() { printf '%d' $(($(metric_in "$work/second.metrics" "$1") - $(metric_in "$work/first.metrics" "$1"))); }

take_report "$work/first.metrics"
at_second $(($(now_s) + WINDOW_S))
take_report "$work/second.metrics"

expected=$(grown ticks_expected_total)
ticks() { grown "ticks_total{outcome=\"$1\"}"; }
sampled=$(ticks sampled)
idle=$(($(ticks idle) + $(ticks asleep)))
lost=$(($(ticks ring_full) + $(ticks failed) + $(ticks missed)))
say "expected $expected = sampled $sampled + idle $idle + lost $lost"

# A tick that is late is missed until it comes: one for each CPU may be on either side of a report.
expect_near "ticks accounted for" $((sampled + idle + lost)) "$expected" "$(nproc)"

# The kernel's own clocks of the timers agree with what the programs expect, and every sample is in a batch.
expect_near "ticks by the events' own clocks" "$(grown ticks_clock)" "$expected" $((expected / 100 + 2 * $(nproc)))
expect_near "samples taken into batches" "$(grown samples_total)" "$sampled" $((sampled / 50 + 2))
expect_near "ticks expected at 99 Hz" "$expected" $((WINDOW_S * 99 * $(nproc))) $((WINDOW_S * 99 * $(nproc) / 2))
expect_at_most "lost, in percent" "$(awk -v l="$lost" -v e="$expected" 'BEGIN { printf "%.2f", 100 * l / e }')" 5
expect_at_least "samples while every CPU is busy, in percent" \
	"$(awk -v s="$sampled" -v e="$expected" 'BEGIN { printf "%.1f", 100 * s / e }')" 80
