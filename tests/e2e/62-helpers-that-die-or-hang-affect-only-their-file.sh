#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The test kills every helper as soon as it starts, or stops it, while new programs start. The agent keeps running, counts
# the failures, and identifies new programs again afterwards. Stacks that were cut because the compiler of their unwind
# table was killed become complete.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq gcc
need_workload shares

start_server
start_agent --batch_interval 1s
start_workload shares 120
wait_for_name work_a shares "$(now_s)" $(($(now_s) + 60))

nursery=$(pgrep -P "$agent_pid" -x hearth-nursery)

# signal_helpers SIGNAL NAME...: signals all helpers with these names. It starts no program: a loop that starts two programs
# of 5 ms each is synchronous with 99 Hz sampling and would get samples that belong to other programs.
signal_helpers() {
	local signal=$1 children name pid
	shift
	read -r children <"/proc/$nursery/task/$nursery/children" || true
	for pid in $children; do
		read -r name 2>/dev/null <"/proc/$pid/comm" || continue
		[[ " $* " != *" $name "* ]] || kill "-$signal" "$pid" 2>/dev/null || true
	done
}

# program NAME: a busy program with unique code. The linker computes the build-ID without names: programs that differ only
# in names of equal length would be the same executable.
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

# ---- crash: for three seconds every helper is killed
start_background crashed "$work/crashed"
crashed_pid=$background_pid
until_s=$(($(now_s) + 3))
while [ "$(now_s)" -lt $until_s ]; do
	signal_helpers SEGV hearth-parser hearth-finder
done
expect_within 30s metric_is_at_least 'helper_failures_total{helper="finder",how="died"}' 1

# ---- hang: every helper is stopped. Samples of a program wait until a helper identifies its files. A query that
# already sees later samples of other programs must include them.
stop_helpers() {
	while [ "$(now_s)" -lt "$1" ]; do
		signal_helpers STOP hearth-parser hearth-finder
	done
}
start_background stopper stop_helpers $(($(now_s) + 6))
pause 0.5
start_background hung "$work/hung"
hung_pid=$background_pid
next_second
hung_from=$second
hung_before=$(cpu_time_us "$hung_pid")
sleep_until $((hung_from + 2))
hung_cpu=$(($(cpu_time_us "$hung_pid") - hung_before))
wait_for_coverage $((hung_from + 2))
fetch_profile "$work/hung.json" Total "$hung_from" $((hung_from + 1)) "{\"tag_filter\": \"process_id = $hung_pid\"}"
expect_near "microseconds of the program without a helper" "$(total_of "$work/hung.json")" "$hung_cpu" \
	"$(awk -v t="$(cpu_tolerance "$hung_cpu" 2)" 'BEGIN { print t + 40000 }')"
timed_out() {
	metric_is_at_least 'helper_failures_total{helper="finder",how="timeout"}' 1 ||
		metric_is_at_least 'helper_failures_total{helper="parser",how="timeout"}' 1
}
expect_within 60s timed_out

# ---- a program that is busy all the time has no gap
sleep_until $(($(now_s) + 2))
to=$(now_s)
cpu=$(($(cpu_time_us "$workload_pid") - cpu_before))
wait_for_coverage $((to + 2))
fetch_profile "$work/shares.json" shares "$from" $((to - 1)) "{\"tag_filter\": \"process_id = $workload_pid\"}"
expect_near "microseconds of the busy program" "$(total_of "$work/shares.json")" "$cpu" \
	"$(awk -v t="$(cpu_tolerance "$cpu" $((to - from)))" 'BEGIN { print t + 40000 }')"

# ---- without further signals, the agent identifies new programs again
start_background calm "$work/calm"
wait_for_name work_of_calm calm "$(now_s)" $(($(now_s) + 90))
say "$(grep -E '^hearth_agent_(look_ups|helper_failures|samples_not_waited)' "$agent_metrics" | tr '\n' ' ')"

# ---- a compiler is killed during its work: the table is compiled again. A million rows take some tenths of a second. No
# function has a frame pointer: without the table, main() is not found.
gcc -O1 -fomit-frame-pointer -fno-inline -fno-optimize-sibling-calls -o "$work/large" -x c - <<'C'
__asm__(".text\n.rept 300000\n.cfi_startproc\nnop\n.cfi_def_cfa_offset 32\nnop\n.cfi_adjust_cfa_offset 8\nnop\n.cfi_endproc\n.endr\n");
volatile unsigned long n;
__attribute__((noinline)) void large_leaf(void) { for (int i = 0; i < 1000000; i++) n += i; }
__attribute__((noinline)) void large_caller(void) { volatile char room[200]; room[n % 200] = 1; large_leaf(); n += room[n % 200]; }
int main(void) { for (;;) large_caller(); }
C
# The signal may also kill the helper that plans the upload; the agent tries that again after some seconds.
kill_compilers() { while true; do signal_helpers KILL hearth-compiler; done; }
compiler_was_killed() { metric_is_at_least 'unwind_tables_failed_total{reason="crashed"}' "$1"; }
already_killed=$(awk '$1 == "hearth_agent_unwind_tables_failed_total{reason=\"crashed\"}" { print $2 }' "$agent_metrics")
start_background killer kill_compilers
killer_pid=$background_pid
start_background large "$work/large"
large_pid=$background_pid
expect_within 30s compiler_was_killed $((already_killed + 1))
large_profile() { fetch_profile "$work/large.json" large "$1" "$1" "{\"tag_filter\": \"process_id = $large_pid\"}"; }
next_second
sleep_until $((second + 1))
wait_for_coverage $((second + 1))
large_profile "$second"
expect_at_most "percent of complete stacks while compilers are killed" "$(share_of "$work/large.json" main)" 5
end_process "$killer_pid" KILL

stacks_are_complete() {
	local at=$(($(now_s) - 3))
	has_samples large "$at" "$at" && large_profile "$at" && awk -v share="$(share_of "$work/large.json" main)" 'BEGIN { exit !(share >= 99) }'
}
expect_within 60s stacks_are_complete
say "$(share_of "$work/large.json" main) % of the stacks are complete again"
expect_at_least "tables compiled again" "$(agent_metric unwind_tables_retried_total)" 1
end_process "$large_pid" KILL

# ---- the CPU time of helpers that were killed is not lost
expect_at_least "CPU time of compilers in us" $(($(agent_metric compilers_cpu_ns_total) / 1000)) \
	$(($(agent_metric unwind_compile_ns_total) / 1000))
is_alive "$agent_pid" || fail "the agent has ended"
[ "$(pgrep -P "$agent_pid" -x hearth-nursery)" = "$nursery" ] || fail "the nursery has ended"

stop_agent
for pid in "$crashed_pid" "$hung_pid"; do end_process "$pid" KILL; done
no_helpers() { ! pgrep -P "$nursery" >/dev/null && ! is_alive "$nursery"; }
expect_within 20s no_helpers
