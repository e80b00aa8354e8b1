#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# An agent is killed while its spool holds batches that the server may or may not have; the next one delivers them.
# No second of CPU time appears twice, and what was in the spool is not lost.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

start_server
start_agent
start_workload shares 90
shares_pid=$workload_pid
next_second
from=$second
cpu_at_start=$(cpu_time_us "$shares_pid")
expect_within 30s has_samples shares "$from" $((from + 600))

# With the server away batches gather on disk.
stop_server KILL
spool_has_batches() { [ "$(find "$agent_spool" -type f -size +0 | wc -l)" -gt 0 ]; }
expect_within 60s spool_has_batches
in_the_spool=$(now_s)
say "killing the agent with $(find "$agent_spool" -type f -size +0 | wc -l) files in its spool"
stop_agent KILL
rm -f "$agent_metrics"

start_server
start_agent
again=$(now_s)
wait_for_coverage $((again + 5))
next_second
to=$second
cpu_at_end=$(cpu_time_us "$shares_pid")
stop_agent
expect_within 20s has_samples shares $((to - 3)) "$to"

fetch_profile "$work/all.json" shares "$from" $((to - 1))
cpu=$((cpu_at_end - cpu_at_start))
expect_at_most "CPU time stored, in microseconds" "$(total_of "$work/all.json")" $((cpu + cpu / 50))

# What an agent that is killed holds in memory is gone: at most the time between its last batch and its successor.
blind_s=$((again - in_the_spool + 12))
expect_at_least "CPU time stored, in microseconds" "$(total_of "$work/all.json")" \
	$((cpu - cpu / 50 - blind_s * 1000000 * $(nproc)))

# The seconds before the server was killed are in, and so is what followed.
fetch_profile "$work/first.json" shares "$from" $((from + 2))
fetch_profile "$work/last.json" shares $((to - 3)) $((to - 1))
