#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every timer period of every CPU is counted as idle, as a sample, or as a loss with its reason.
. "$(dirname "$0")/ticks.sh"
need_root
need_tools curl jq

readonly WINDOW_S=12

# The default interval of users.
agent_batch_interval=5s

start_server
start_agent
start_workload shares $((WINDOW_S + 30))

account_for_ticks $WINDOW_S
expect_at_most "lost, in percent" "$(in_percent "$lost" "$expected")" 5
expect_at_least "samples while every CPU is busy, in percent" "$(in_percent "$sampled" "$expected")" 80
