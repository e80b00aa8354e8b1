#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Starts 200 short programs a second for ten minutes. The agent's memory must not grow, no stack may
# be read with the mappings of another program (pids are used again every few seconds), and no
# program with 50 ms of CPU time may be missing.
#
#   HEARTH_CHURN_S=600 HEARTH_CHURN_RATE=200 HEARTH_CHURN_PID_MAX=2048 tests/churn/run.sh
. "$(dirname "${BASH_SOURCE[0]}")/../bench/figures.sh"
need_root
need_tools curl jq python3

readonly SECONDS_OF_CHURN=${HEARTH_CHURN_S:-600} RATE=${HEARTH_CHURN_RATE:-200} PID_MAX=${HEARTH_CHURN_PID_MAX:-2048}
churn=$workloads/churn
# By then every executable has been sampled and every cache has its maximum size.
readonly WARM_UP_S=$((SECONDS_OF_CHURN / 3))

# The kernel assigns pids in order, so a small range makes it use them again soon. All processes of
# the host share the range.
lower_pid_max() {
	local before
	before=$(cat /proc/sys/kernel/pid_max)
	[ "$before" -gt "$PID_MAX" ] || return 0
	at_exit+=("echo $before >/proc/sys/kernel/pid_max")
	echo "$PID_MAX" >/proc/sys/kernel/pid_max
}

# Memory of the pool of unwind chunks, in KiB. The pool grows up to unwind.table_size whenever a
# program of the host runs code for the first time. That is not a leak, so it is subtracted from the
# memory that must not grow.
pool_kib() { echo $(($(agent_metric unwind_pool_bytes) / 1024)); }

# Resident memory of the agent without its mappings of BPF maps, which contain the pool.
rss_without_maps_kib() {
	awk '/^[0-9a-f]+-[0-9a-f]+ / { counted = !/bpf-map/ } /^Rss:/ && counted { sum += $2 } END { print sum }' \
		"/proc/$1/smaps"
}

# Prints the number of open files of unwind tables, one for each executable with sampled stacks.
table_files() {
	local opened=0 outcome
	for outcome in compiled cached; do
		opened=$((opened + $(agent_metric "unwind_tables_total{outcome=\"$outcome\"}")))
	done
	echo $opened
}

# look: prints one line: the agent's anonymous memory, resident memory and maps in KiB, its fds,
# processes and executables; without the pool of unwind chunks and the open files of unwind tables.
look() {
	local fds=("/proc/$agent_pid/fd"/*)
	printf '%d %d %d %d %d %d\n' "$(status_kib "$agent_pid" RssAnon)" \
		"$(rss_without_maps_kib "$agent_pid")" $(($(agent_metric map_bytes) / 1024 - $(pool_kib))) \
		$((${#fds[@]} - $(table_files))) "$(agent_metric processes)" "$(agent_metric executables)"
}

# median COLUMN FILE: prints the median of a column.
median() { awk -v n="$1" '{ print $n }' "$2" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# expect_flat FIGURE COLUMN UNIT ALLOWED: compares the third after the warm-up with the last third.
grew=()
expect_flat() {
	local early late
	early=$(median "$2" "$work/early.look")
	late=$(median "$2" "$work/late.look")
	figure "churn.$1" "$late" "$3"
	figure "churn.$1_growth" $((late - early)) "$3"
	[ $((late - early)) -le "$4" ] || grew+=("$1 from $early to $late $3, allowed $4;")
}

[ -x "$churn/churn_driver" ] || fail "the programs are not built in $churn"
start_server
start_agent
lower_pid_max
next_second
from=$second
cpu=$(cpu_time_us "$agent_pid")
start_background runs "$churn/churn_driver" "$SECONDS_OF_CHURN" "$RATE" "$churn"
driver_pid=$background_pid
for ((at = 5; at <= SECONDS_OF_CHURN; at += 5)); do
	sleep_until $((from + at))
	! has_ended "$driver_pid" || break
	[ $((at % 30)) -ne 0 ] || say "at $at s: $(look) (anonymous, resident, maps in KiB; fds, processes, executables)"
	if [ $at -gt $WARM_UP_S ] && [ $at -le $((2 * WARM_UP_S)) ]; then
		look >>"$work/early.look"
	elif [ $at -gt $WARM_UP_S ]; then
		look >>"$work/late.look"
	fi
done
expect_within 60s has_ended "$driver_pid"
wait "$driver_pid" || fail "the driver failed: $(tail -n 1 "$work/runs.log")"
next_second
to=$second
say "$(tail -n 1 "$work/runs.log")"
cpu=$(($(cpu_time_us "$agent_pid") - cpu))
figure churn.agent_cpu_pct "$(calculate "100 * $cpu / (($to - $from) * 1e6 * $(nproc))" %.3f)" "% of the host, without BPF"
start_workload shares 120
wait_for_coverage $((to + 1))
wait_for_name spin_in_program_0_ churn_0 "$from" "$to"
wait_for_name spin_in_program_15_ churn_15 "$from" "$to"

for metric in ticks_expected_total 'ticks_total{outcome="missed"}' 'ticks_total{outcome="ring_full"}' \
	unknown_process_total process_events_lost_total stacks_lost_total batches_dropped_total; do
	figure "churn.$metric" "$(agent_metric "$metric")" ""
done
expect_flat rss_anon 1 KiB 1024
expect_flat rss 2 KiB 1536
expect_flat map 3 KiB 1024
expect_flat fds 4 "" 8
expect_flat processes 5 "" 128
# Other programs of the host may add executables. Ours are known from the beginning, and each run
# has one.
expect_flat executables 6 "" 256
python3 -B "$(dirname "$0")/check_runs.py" "$server_url" "$work/runs.log" "$from" "$to" ||
	fail "the profiles of the programs differ from the records of their parent"
[ ${#grew[@]} -eq 0 ] || fail "the agent grew: ${grew[*]}"
