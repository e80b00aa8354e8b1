#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# In each report the expected ticks are the sum of all outcomes: idle, asleep, sampled, and losses by reason. Batches
# contain all samples.
. /hearth/tests/kernels/guest/lib.sh

use_server
use_agent
start_workload shares 600
increase_of() { printf '%d' $(($(metric_in "$work/last" "$1") - $(metric_in "$work/first" "$1"))); }
take_report "$work/first"
sampled_enough() {
	take_report "$work/last"
	[ "$(increase_of 'ticks_total{outcome="sampled"}')" -ge 1000 ]
}
expect_within "$GUEST_DEADLINE" sampled_enough
end_process "$workload_pid"
expect_outcomes_add_up "$work/first" "$work/last"
for outcome in idle asleep sampled ring_full failed missed; do
	say "$outcome: $(increase_of "ticks_total{outcome=\"$outcome\"}") of $(increase_of ticks_expected_total)"
	[ "$(increase_of "ticks_total{outcome=\"$outcome\"}")" -ge 0 ] || fail "ticks of outcome $outcome fell"
done
sampled=$(increase_of 'ticks_total{outcome="sampled"}')
# samples_total includes waits, so it may be larger.
expect_at_least "samples taken into batches" "$(increase_of samples_total)" $((sampled - sampled / 20 - 2))
expect_equal "ticks without a stack" "$(increase_of 'ticks_total{outcome="failed"}')" 0
