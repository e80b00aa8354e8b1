#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program drops its stack from the page tables every 5 ms. Each incomplete sample is completed in the context of the
# thread, by call frame information and by frame pointers alike, and every tick is counted once. If a system call takes
# longer than a sample may wait, one or two samples are cut; the agent then touches the page for the next samples.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq
grep -q -w 'bpf_task_work_schedule_resume\(_impl\)\?' /proc/kallsyms || skip "needs task work for BPF (Linux 6.18)"

readonly WINDOW_S=8
readonly ROOT=on_a_stack_in_a_file

start_server
start_agent
start_workload absent_stack 100
start_workload absent_stack_fp 100

metric_in() { agent_metrics=$1 agent_metric "$2"; }
increase_of() { printf '%d' $(($(metric_in "$work/second.metrics" "$1") - $(metric_in "$work/first.metrics" "$1"))); }
take_report() {
	local before
	before=$(stat -c '%Y %i' "$agent_metrics")
	expect_within 20s report_is_newer "$before"
	cp "$agent_metrics" "$1"
}
report_is_newer() { [ "$(stat -c '%Y %i' "$agent_metrics")" != "$1" ]; }

# With the first samples the agent looks up the programs.
next_second
sleep_until $((second + 2))
take_report "$work/first.metrics"
next_second
from=$second
to=$((from + WINDOW_S - 1))
sleep_until $((to + 1))
take_report "$work/second.metrics"
wait_for_coverage $((to + 1))

for reason in read-fault unknown-process no-mapping bad-frame; do
	say "stacks cut on this host, $reason: $(increase_of "stacks_cut_total{reason=\"$reason\"}")"
done
say "deferred: $(grep '^hearth_agent_stacks_deferred' "$work/second.metrics" | sed 's/hearth_agent_stacks_//' | tr '\n' ' ')"
for program in absent_stack absent_stack_fp; do
	wait_for_name $ROOT $program "$from" "$to"
	fetch_profile "$work/$program.json" $program "$from" "$to"
	expect_at_least "time of $program, in ms" $(($(total_of "$work/$program.json") / 1000)) $((WINDOW_S * 50))
	expect_near "share of $program with the outermost frame" "$(share_of "$work/$program.json" $ROOT)" 100 0.5
	expect_near "share in system calls" "$(share_of "$work/$program.json" read_above_absent_pages)" 50 10
done

scheduled=$(increase_of stacks_deferred_total)
outcomes=$(increase_of stacks_deferred_by_outcome_total)
complete=$(increase_of 'stacks_deferred_by_outcome_total{outcome="whole"}')
say "deferred $scheduled, of these complete $complete; pages read $(increase_of 'absent_pages_total{outcome="by-thread"}')"
expect_at_least "deferred stacks" "$scheduled" $((WINDOW_S * 5))
expect_near "outcomes of deferred stacks" "$outcomes" "$scheduled" 4
# Other programs on this host may call execve() or exit while a page is missing.
expect_at_least "deferred stacks that are complete, in percent" $((100 * complete / outcomes)) 95

expected=$(increase_of ticks_expected_total)
accounted=$(increase_of ticks_total)
expect_near "ticks accounted for" "$accounted" "$expected" "$(nproc)"
sampled=$(increase_of 'ticks_total{outcome="sampled"}')
expect_near "samples taken into batches" "$(increase_of samples_total)" "$sampled" $((sampled / 50 + 2))

say "a system call that takes longer than a sample may wait"
start_workload absent_stack 100 5 1024
cp "$work/second.metrics" "$work/first.metrics"
late_is_counted() {
	cp "$agent_metrics" "$work/second.metrics"
	[ "$(increase_of 'stacks_deferred_by_outcome_total{outcome="late"}')" -ge 1 ]
}
expect_within 60s late_is_counted
late=$(increase_of 'stacks_deferred_by_outcome_total{outcome="late"}')
expect_at_least "pages touched during the system call" "$(increase_of 'absent_pages_total{outcome="touched"}')" 1
expect_at_most "samples that were late" "$late" $(($(increase_of 'ticks_total{outcome="sampled"}') / 5))
# Samples deferred at this moment may still be waiting.
expect_near "outcomes of deferred stacks" "$(increase_of stacks_deferred_by_outcome_total)" "$(increase_of stacks_deferred_total)" 16
