#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A host that starts hundreds of programs a second makes the agent update its maps all the time; no tick is lost by that.
. "$(dirname "$0")/ticks.sh"
need_root
need_tools curl jq

readonly WINDOW_S=12 FARMS=4

start_server
start_agent
need_workload short
for ((farm = 0; farm < FARMS; farm++)); do
	start_workload forks 120 "$workloads/short" 2
done
expect_within 20s has_samples short $(($(now_s) - 5)) $(($(now_s) + 60))

forked() { awk '$1 == "processes" { print $2 }' /proc/stat; }
before=$(forked)
account_for_ticks $WINDOW_S
expect_at_least "processes started a second" $((($(forked) - before) * 1000000 / took_us)) 200
expect_at_most "missed, in percent" "$(in_percent "$missed" "$expected")" 3
expect_at_most "lost, in percent" "$(in_percent "$lost" "$expected")" 3
