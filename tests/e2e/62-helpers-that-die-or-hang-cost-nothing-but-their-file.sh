#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every helper is killed as soon as it is there, or stopped, while programs that nobody has seen begin. The agent goes on,
# counts it, and knows new programs again once it is left alone.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq gcc
need_workload shares

start_server
start_agent --batch_interval 1s
start_workload shares 120
wait_for_name work_a shares "$(now_s)" $(($(now_s) + 60))

nursery=$(pgrep -P "$agent_pid" -x hearth-nursery)
helpers() { pgrep -P "$nursery" -x "$1" || true; }

# program NAME: busy. Its code differs from that of the others: the linker computes a build-ID without names, so programs
# that differ by names of equal length alone would be one executable.
n_programs=0
program() {
	n_programs=$((n_programs + 1))
	printf 'volatile unsigned long n; __attribute__((noinline)) void work_of_%s(void) { for (int i = 0; i < 1000000; i++) n += %d; }
int main(void) { for (;;) work_of_%s(); }\n' "$1" $n_programs "$1" | gcc -O1 -fno-inline -o "$work/$1" -x c -
}
for name in crashed hung calm; do program $name; done

metric_is_at_least() {
	awk -v name="hearth_agent_$1" -v least="$2" '$1 == name { sum += $2 } END { exit !(sum >= least) }' "$agent_metrics"
}

next_second
from=$second
cpu_before=$(cpu_time_us "$workload_pid")

# ---- crash: for three seconds no helper survives
start_background crashed "$work/crashed"
crashed_pid=$background_pid
until_s=$(($(now_s) + 3))
while [ "$(now_s)" -lt $until_s ]; do
	for pid in $(helpers hearth-parser) $(helpers hearth-finder); do kill -SEGV "$pid" 2>/dev/null || true; done
done
expect_within 30s metric_is_at_least 'helper_failures_total{helper="finder",how="died"}' 1

# ---- hang: all that are there are stopped. The samples of a program whose files nobody tells wait for them; whoever has
# seen a later sample of another program has them all the same.
stop_helpers() {
	while [ "$(now_s)" -lt "$1" ]; do
		for pid in $(helpers hearth-parser) $(helpers hearth-finder); do kill -STOP "$pid" 2>/dev/null || true; done
	done
}
start_background stopper stop_helpers $(($(now_s) + 6))
nap 0.5
start_background hung "$work/hung"
hung_pid=$background_pid
next_second
hung_from=$second
hung_before=$(cpu_time_us "$hung_pid")
at_second $((hung_from + 2))
hung_cpu=$(($(cpu_time_us "$hung_pid") - hung_before))
wait_for_coverage $((hung_from + 2))
fetch_profile "$work/hung.json" Total "$hung_from" $((hung_from + 1)) "{\"tag_filter\": \"process_id = $hung_pid\"}"
expect_near "microseconds of the program whose files nobody tells" "$(total_of "$work/hung.json")" "$hung_cpu" \
	"$(awk -v t="$(cpu_tolerance "$hung_cpu" 2)" 'BEGIN { print t + 40000 }')"
timed_out() {
	metric_is_at_least 'helper_failures_total{helper="finder",how="timeout"}' 1 ||
		metric_is_at_least 'helper_failures_total{helper="parser",how="timeout"}' 1
}
expect_within 60s timed_out

# ---- and what is busy all the time has no gap
at_second $(($(now_s) + 2))
to=$(now_s)
cpu=$(($(cpu_time_us "$workload_pid") - cpu_before))
wait_for_coverage $((to + 2))
fetch_profile "$work/shares.json" shares "$from" $((to - 1))
expect_near "microseconds of the busy program" "$(total_of "$work/shares.json")" "$cpu" \
	"$(awk -v t="$(cpu_tolerance "$cpu" $((to - from)))" 'BEGIN { print t + 40000 }')"

# ---- left alone, it knows programs again
start_background calm "$work/calm"
wait_for_name work_of_calm calm "$(now_s)" $(($(now_s) + 90))
say "$(grep -E '^hearth_agent_(look_ups|helper_failures|samples_not_waited)' "$agent_metrics" | tr '\n' ' ')"
is_alive "$agent_pid" || fail "the agent is gone"
[ "$(pgrep -P "$agent_pid" -x hearth-nursery)" = "$nursery" ] || fail "the nursery is gone"

stop_agent
for pid in "$crashed_pid" "$hung_pid"; do end_process "$pid" KILL; done
no_helpers() { ! pgrep -P "$nursery" >/dev/null && ! is_alive "$nursery"; }
expect_within 20s no_helpers
