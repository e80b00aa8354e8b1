#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# An agent that needs more CPU time than budget.cpu allows lowers its frequency: values stay right to the tick, the host
# list and answers say so, and when the budget has room again the frequency is raised. One that needs more memory than
# it can free says that.
. "$(dirname "$0")/ticks.sh"
need_root
need_tools curl jq

readonly HZ=1000

config=$work/agent.yaml
printf 'budget.cpu: 1\n' >"$config"

start_server
start_agent --config "$config" --on_cpu.frequency $HZ
start_workload shares 600
shares_pid=$workload_pid
next_second
from=$((second + 2))
at_second $from
cpu_before=$(cpu_time_us "$shares_pid")

frequency_step() { sed -n 's/^hearth_agent_budget_step{measure="frequency"} //p' "$agent_metrics"; }
is_reduced() { [ "$(frequency_step)" -ge 1 ]; }
take_report "$work/before.metrics"
expect_within 180s is_reduced
grep -F 'budget.cpu allows' "$work/agent.log" || fail "no line in the log says why"
expect_equal "millihertz in effect" "$(agent_metric on_cpu_millihertz)" $((1000 * HZ >> $(frequency_step)))

# ---- some seconds at the lower frequency, and the sum of both
to=$(($(now_s) + 10))
at_second $to
cpu_after=$(cpu_time_us "$shares_pid")
wait_for_coverage $to
fetch_profile "$work/shares.json" shares "$from" $((to - 1)) "{\"debug\": true, \"tag_filter\": \"process_id = $shares_pid\"}"
cpu=$((cpu_after - cpu_before))
# It was sampled at an eighth of the frequency at least.
expect_near "CPU time over the change, in microseconds" "$(total_of "$work/shares.json")" "$cpu" \
	"$(SAMPLE_HZ=$((HZ / 8)) cpu_tolerance $cpu $((to - from)))"
jq -e '.DESCRIPTION | contains("lower frequency")' "$work/shares.json" >/dev/null ||
	fail "the answer does not say that part of it was sampled at a lower frequency: $(jq .DESCRIPTION "$work/shares.json")"
expect_at_least "microseconds at the lower frequency" "$(jq .debug.reduced "$work/shares.json")" 1000000
host_label() { curl -sS -m 10 "$server_url/v1/hosts" | jq -r '.hosts[] | select(.name == "e2e-host") | .labels["agent.reduced"] // ""'; }
say "the host is reduced: $(host_label)"
host_label | grep -E 'on-CPU [0-9.]+ of 1000 Hz' || fail "the host list does not say at what frequency"

# ---- every tick of both frequencies is accounted for
take_report "$work/after.metrics"
for report in before after; do
	expect_equal "sum of the outcomes $report the change" "$(metric_in "$work/$report.metrics" ticks_total)" \
		"$(metric_in "$work/$report.metrics" ticks_expected_total)"
done
expect_near "ticks by the events' own clocks" "$(metric_in "$work/after.metrics" ticks_clock)" \
	"$(metric_in "$work/after.metrics" ticks_expected_total)" $((4 * $(nproc)))

# ---- room again: the step is taken back
printf 'budget.cpu: 0\n' >"$config"
kill -HUP "$agent_pid"
is_raised() { [ "$(sed -n 's/^hearth_agent_budget_changes_total{direction="relaxed"} //p' "$agent_metrics")" -ge 1 ]; }
expect_within 180s is_raised
expect_equal "millihertz in effect" "$(agent_metric on_cpu_millihertz)" $((1000 * HZ >> $(frequency_step)))
stop_agent
end_process "$shares_pid"

# ---- memory that cannot be freed: all is given up, and it says that this is not enough
start_agent --budget.memory 16MiB --ring_size 32MiB --on_cpu.frequency 99 --batch_interval 1s
is_exceeded() { [ "$(agent_metric budget_exceeded)" = 1 ]; }
expect_within 180s is_exceeded
expect_equal "steps of the frequency" "$(frequency_step)" 3
grep -F 'though it gave up all that it can' "$work/agent.log" || fail "no line in the log says that the budget does not hold"
