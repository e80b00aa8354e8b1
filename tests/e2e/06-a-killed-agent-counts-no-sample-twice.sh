#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The agent is killed while its spool holds batches that the server may already have; the next agent sends them. No CPU
# time is stored twice, and no sample in the spool is lost.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

start_server
start_agent
start_workload shares 120
shares_pid=$workload_pid
by_process="{\"tag_filter\": \"process_id = $shares_pid\"}"
next_second
from=$((second + 1))
sleep_until "$from"
cpu_at_start=$(cpu_time_us "$shares_pid")
expect_within 30s has_samples shares "$from" $((from + 600))

# Without a server batches accumulate in the spool, one of them closed after $spooled.
stop_server KILL
next_second
spooled=$((second + 4))
sleep_until $spooled
cpu_when_spooled=$(cpu_time_us "$shares_pid")
is_in_the_spool() { [ -n "$(find "$agent_spool" -type f -newermt "@$((spooled + 1))" -size +0)" ]; }
expect_within 60s is_in_the_spool
say "killing the agent with $(find "$agent_spool" -type f -size +0 | wc -l) files in its spool"
stop_agent KILL
rm -f "$agent_metrics"
cp -a "$agent_spool" "$work/spool.copy"

start_server
start_agent
again=$(now_s)
wait_for_coverage $((again + 5))
next_second
to=$second
cpu_at_end=$(cpu_time_us "$shares_pid")
stop_agent
expect_within 20s has_samples shares $((to - 3)) "$to"

# Samples from before the kill are stored once.
fetch_profile "$work/spooled.json" shares "$from" $((spooled - 1)) "$by_process"
cpu=$((cpu_when_spooled - cpu_at_start))
expect_near "CPU time up to the spooled batch, in microseconds" "$(total_of "$work/spooled.json")" $cpu \
	"$(cpu_tolerance $cpu $((spooled - from)))"

# The total is less than the CPU time: the killed agent's open batch is lost, and no agent ran until the next one started.
fetch_profile "$work/all.json" shares "$from" $((to - 1)) "$by_process"
cpu=$((cpu_at_end - cpu_at_start))
expect_at_most "CPU time stored, in microseconds" "$(total_of "$work/all.json")" $((cpu + $(cpu_tolerance $cpu $((to - from)))))

# An agent killed between sending a batch and deleting it sends the batch again: the totals do not change.
before=$(total_of "$work/spooled.json")
rm -rf "$agent_spool"
cp -a "$work/spool.copy" "$agent_spool"
rm -f "$agent_metrics"
start_agent
is_delivered() { [ -z "$(find "$agent_spool" -type f -size +0 -newermt "@$from" ! -newermt "@$((again - 1))")" ]; }
expect_within 30s is_delivered
expect_at_least "duplicate batches that the server recognised" "$(server_metric 'ingest_batches_total{outcome="duplicate"}')" 1
fetch_profile "$work/again.json" shares "$from" $((spooled - 1)) "$by_process"
expect_equal "CPU time after the second delivery" "$(total_of "$work/again.json")" "$before"
fetch_profile "$work/last.json" shares $((to - 3)) $((to - 1)) "$by_process"
