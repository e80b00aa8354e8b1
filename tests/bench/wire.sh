#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# compressed bytes on the wire per sample, with stacks: a mix of services, and a build host
. "$(dirname "$0")/figures.sh"
. "$(dirname "$0")/fleet/loads.sh"
need_root
need_tools curl jq sqlite3 python3 cmake

warm_s=${HEARTH_BENCH_WARM_S:-60} window_s=${HEARTH_BENCH_WINDOW_S:-90}

# The counters are those of the last batch, so a measurement begins and ends with a batch.
next_report() {
	local before
	before=$(stat -c '%Y %i' "$agent_metrics")
	expect_within 60s report_is_newer "$before"
}
report_is_newer() { [ "$(stat -c '%Y %i' "$agent_metrics")" != "$1" ]; }

# measure FIGURE: measures the steady state, after $warm_s
measure() {
	local bytes samples
	sleep_until $(($(now_s) + warm_s))
	next_report
	bytes=$(agent_metric 'batch_bytes_total{form="wire"}')
	samples=$(agent_metric samples_total)
	sleep_until $(($(now_s) + window_s))
	next_report
	bytes=$(($(agent_metric 'batch_bytes_total{form="wire"}') - bytes))
	samples=$(($(agent_metric samples_total) - samples))
	say "$samples samples, $bytes bytes"
	figure "wire.$1_bytes" "$(calculate "$bytes / $samples" %.2f)" "bytes/sample"
	figure "wire.$1_bytes_per_s" "$(calculate "$bytes / $window_s" %.0f)" "bytes/s"
}

start_server
start_agent
start_services $((warm_s + window_s + 60))
services=("${started_pids[@]:2}")
measure service
for pid in "${services[@]}"; do
	end_process "$pid"
done
start_builds $((warm_s + window_s + 60))
measure build
