#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# More waits begin than the stack budget allows, so that the walk over open waits takes the stacks of many. Some of these
# waits end before the agent has read the walk's results. Each wait keeps its stack, and the total time is right.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq
need_workload sleepers

readonly THREADS=1500 RUN_S=8 OFF_CPU='{"profile_event_type": "off-cpu"}'

start_server
start_agent --batch_interval 1s --off_cpu.disabled=false
next_second
from=$second
"$workloads/sleepers" $THREADS $RUN_S >"$work/truth"
to=$(($(now_s) + 1))
wait_for_coverage $((to + 1))
wait_for_name sleep_briefly sleepers "$from" "$to" "$OFF_CPU"
fetch_profile "$work/sleepers.json" sleepers "$from" "$to" "$OFF_CPU"
slept_us=$(cat "$work/truth")
unsent_us=$(($(agent_metric off_cpu_unsent_ns_total) / 1000))
expect_at_least "waits without a stack at their start" "$(agent_metric 'off_cpu_waits_total{stack="thinned"}')" 1000
expect_at_least "waits with a stack from the walk" "$(agent_metric off_cpu_walked_total)" 100
expect_equal "stacks lost" "$(agent_metric stacks_lost_total)" 0
expect_near "microseconds slept, including those not sent when threads ended" \
	$(($(value_of "$work/sleepers.json" sleep_briefly) + unsent_us)) "$slept_us" $((slept_us / 100))
expect_at_most "microseconds not sent when threads ended" $unsent_us $((THREADS * 1000000))
