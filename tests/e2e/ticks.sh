# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Functions for tests that account for every tick of the on-CPU timer between two reports of the agent.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly TICK_OUTCOMES="idle asleep stolen sampled ring_full failed missed"

report_is_newer() { [ "$(stat -c '%Y %i' "$agent_metrics")" != "$1" ]; }

# take_report FILE: waits for the agent's next report and copies it. All values of a report are of the same moment.
take_report() {
	local before
	before=$(stat -c '%Y %i' "$agent_metrics")
	expect_within 20s report_is_newer "$before"
	cp "$agent_metrics" "$1"
}

metric_in() { agent_metrics=$1 agent_metric "$2"; }

# increase_of METRIC: increase of the metric between the first and the second report.
increase_of() { printf '%d' $(($(metric_in "$work/second.metrics" "$1") - $(metric_in "$work/first.metrics" "$1"))); }
ticks() { increase_of "ticks_total{outcome=\"$1\"}"; }

# in_percent PART WHOLE
in_percent() { awk -v part="$1" -v whole="$2" 'BEGIN { printf "%.2f", whole ? 100 * part / whole : 0 }'; }

# account_for_ticks SECONDS: takes two reports, SECONDS apart. Sets $expected, $sampled, $idle (including stolen ticks),
# $lost, $missed and $skipped.
account_for_ticks() {
	local outcome report sum began_us
	take_report "$work/first.metrics"
	began_us=${EPOCHREALTIME/[.,]/}
	sleep_until $(($(now_s) + $1))
	take_report "$work/second.metrics"
	took_us=$((${EPOCHREALTIME/[.,]/} - began_us))

	for report in first second; do
		expect_equal "sum of the outcomes, $report report" "$(metric_in "$work/$report.metrics" ticks_total)" \
			"$(metric_in "$work/$report.metrics" ticks_expected_total)"
	done
	for outcome in $TICK_OUTCOMES; do
		[ "$(ticks "$outcome")" -ge 0 ] || fail "ticks of outcome $outcome fell"
	done
	expected=$(increase_of ticks_expected_total)
	sampled=$(ticks sampled)
	idle=$(($(ticks idle) + $(ticks asleep) + $(ticks stolen)))
	missed=$(ticks missed)
	lost=$(($(ticks ring_full) + $(ticks failed) + missed))
	skipped=$(increase_of ticks_skipped_total)
	say "expected $expected = sampled $sampled + idle $idle + lost $lost; missed $(in_percent "$missed" "$expected") %," \
		"skipped by the kernel but sampled by the agent $(in_percent "$skipped" "$expected") %"

	# The agent reads the clocks before it counts the ticks. At each of the two reports, one tick of each CPU may be on
	# the clock but less than half a period late, or be counted but not yet on the clock.
	expect_near "ticks by the events' own clocks" "$(increase_of ticks_clock)" "$expected" $((2 * $(nproc)))
	expect_near "ticks expected at 99 Hz" "$expected" "$((took_us * 99 * $(nproc) / 1000000))" \
		$((99 * $(nproc) / 2 + expected / 100))
	expect_near "samples taken into batches" "$(increase_of samples_total)" "$sampled" $((sampled / 50 + 2))
}

# expect_cpu_time SERVICE CPU_US FROM TO: compares the profile of a program with its known CPU time.
expect_cpu_time() {
	fetch_profile "$work/time.json" "$1" "$3" "$4"
	expect_near "CPU time of $1 in the profile, in microseconds" "$(total_of "$work/time.json")" "$2" \
		"$(cpu_tolerance "$2" $(($4 - $3 + 1)))"
}
