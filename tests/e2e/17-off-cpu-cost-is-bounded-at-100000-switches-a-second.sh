#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two threads pass a byte back and forth a hundred thousand times a second. The agent takes a stack for some waits only,
# so that the cost stays within its share of the CPUs. The profile still has all of the time, on the function that waited,
# and the part spent on a run queue, as the kernel accounts for it (schedstat). The test prints the cost of a context
# switch; HEARTH_E2E_ROUNDS repeats the measurement, to show how much the totals vary.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq bpftool nice

readonly WINDOW_S=8 WORK_NS=7500 OFF_CPU='{"profile_event_type": "off-cpu"}' ROUNDS=${HEARTH_E2E_ROUNDS:-1}

start_server
need_workload pingpong
say "bytes passed without an agent: $(nice -n -20 "$workloads/pingpong" 1 2 $WORK_NS 0 | cut -d' ' -f1) in 2 s"
start_agent --off_cpu.disabled=false

take_report() {
	local before
	before=$(stat -c '%Y %i' "$agent_metrics")
	expect_within 20s report_is_newer "$before"
	cp "$agent_metrics" "$1"
}
report_is_newer() { [ "$(stat -c '%Y %i' "$agent_metrics")" != "$1" ]; }
metric_in() { agent_metrics=$1 agent_metric "$2"; }
increase_of() { printf '%d' $(($(metric_in "$work/after.metrics" "$1") - $(metric_in "$work/before.metrics" "$1"))); }

# program_stats: run time in ns and number of calls of the program at context switches, as the kernel counts them.
program_stats() {
	local id
	for id in $(sed -n 's/^prog_id:[[:space:]]*//p' /proc/"$agent_pid"/fdinfo/* 2>/dev/null | sort -un); do
		bpftool -j prog show id "$id" |
			jq -r 'select(.name == "hearth_on_switch") | "\(.run_time_ns // 0) \(.run_cnt // 0)"'
	done
}
stats_enabled=$(sysctl -n kernel.bpf_stats_enabled)
at_exit+=("sysctl -q -w kernel.bpf_stats_enabled=$stats_enabled")
sysctl -q -w kernel.bpf_stats_enabled=1

for ((round = 1; round <= ROUNDS; round++)); do
	take_report "$work/before.metrics"
	reported_us=${EPOCHREALTIME/[.,]/}
	read -r time_before count_before < <(program_stats)
	from=$(now_s)
	before_ms=${EPOCHREALTIME/[.,]/}
	# nice: preemption is not a wait, but the program cannot distinguish the two. One CPU: the kernel's accounting of a
	# thread that is woken from another CPU is off by some microseconds each time.
	nice -n -20 "$workloads/pingpong" 1 $WINDOW_S $WORK_NS 0 >"$work/truth"
	wall_us=$((${EPOCHREALTIME/[.,]/} - before_ms))
	read -r time_after count_after < <(program_stats)
	to=$(($(now_s) + 1))
	take_report "$work/between.metrics"
	take_report "$work/after.metrics"
	reported_us=$((${EPOCHREALTIME/[.,]/} - reported_us))
	wait_for_coverage $((to + 1))
	wait_for_name wait_for_ball pingpong "$from" "$to" "$OFF_CPU"
	fetch_profile "$work/ball.json" pingpong "$from" "$to" "$OFF_CPU"
	read -r handed off_us delayed_us <"$work/truth"
	switches=$((count_after - count_before))
	taken=$(increase_of 'off_cpu_waits_total{stack="taken"}')
	thinned=$(increase_of 'off_cpu_waits_total{stack="thinned"}')

	say "passed $handed bytes in $((wall_us / 1000)) ms, $switches context switches"
	awk -v t=$((time_after - time_before)) -v n=$switches -v wall=$wall_us 'BEGIN {
		printf "in the kernel: %.0f ns a switch, %.2f %% of one CPU\n", n ? t / n : 0, t / wall / 10 }'
	say "stacks taken $taken, thinned $thinned"
	expect_at_least "waits a second, at least" $(((taken + thinned) / WINDOW_S)) 10000
	expect_at_least "thinned waits, in percent" $((100 * thinned / (taken + thinned))) 80
	expect_at_least "stacks taken a second" $((taken / WINDOW_S)) 20
	# The limit is 1/50 of each CPU; the agent exceeds it by the time slice in which it notices.
	expect_at_most "CPU time for stacks, in percent of a CPU" \
		"$(awk -v c="$(increase_of off_cpu_capture_ns_total)" -v us=$((reported_us * $(nproc))) 'BEGIN { printf "%.2f", c / us / 10 }')" 3

	got=$(value_of "$work/ball.json" wait_for_ball)
	threads=$(jq '[.result[] | select(.profile_location_str == "[t] pingpong") | .total_value] | add // 0' "$work/ball.json")
	say "waited $got us of $threads us; not on a CPU $off_us us, of which $delayed_us us on a run queue"
	# Not counted as waiting: time for which the threads were preempted, which is part of the delayed time.
	expect_at_least "time of the threads" "$threads" $(((off_us - delayed_us) * 98 / 100))
	expect_at_most "time of the threads" "$threads" $((off_us * 102 / 100))
	# The kernel also counts run-queue time after preemption, which off-CPU time does not include.
	fetch_profile "$work/queued.json" pingpong "$from" "$to" '{"profile_event_type": "run-queue"}'
	queued=$(value_of "$work/queued.json" wait_for_ball)
	expect_at_least "run-queue time at the end of waits" "$queued" $((delayed_us - (off_us - threads) - off_us / 50))
	expect_at_most "run-queue time at the end of waits" "$queued" $((delayed_us * 101 / 100))
	expect_at_most "run-queue time of this program, of that of all" "$queued" \
		$(($(increase_of 'run_queue_ns_total{after="wait"}') / 1000))
	# Almost all of the time is on this function.
	expect_near "time waited for the byte" "$got" "$threads" $((threads / 50))
done
expect_equal "waits lost" "$(agent_metric off_cpu_lost_total)" 0
