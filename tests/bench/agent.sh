#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# the agent's memory and CPU on a host with 100 processes and 400 executables in use
# (compared with perf record on the busy host)
. "$(dirname "$0")/figures.sh"
need_root
need_tools bpftool bpftrace curl gcc jq pgrep python3

# HEARTH_BENCH_CASES selects the cases. Measuring one of them takes a minute or two.
readonly CASES="many idle busy build perf"
cases=${HEARTH_BENCH_CASES:-$CASES}
for case in $cases; do
	[[ " $CASES " == *" $case "* ]] || fail "there is no case '$case'; there are: $CASES"
done
wants() { [[ " $cases " == *" $1 "* ]]; }

readonly PROCESSES=100 EXECUTABLES=400 EXECUTABLES_PER_PROCESS=8
many_s=${HEARTH_BENCH_MANY_S:-30} idle_s=${HEARTH_BENCH_IDLE_S:-30} busy_s=${HEARTH_BENCH_BUSY_S:-40}
build_s=${HEARTH_BENCH_BUILD_S:-40}
host=$work/host

enable_bpf_statistics

hosts_are_ready() { [ "$(grep -c '^ready$' "$work/host.log")" -ge $PROCESSES ]; }

# ---- the host: executables without frame pointers, and processes that map some of them and wake up
# four times a second. While $host/busy exists, they work after each wakeup, and one more process
# per CPU works all the time.
make_host() {
	say "making $EXECUTABLES executables"
	mkdir -p "$host"
	"$workloads/make_executables" "$host" $EXECUTABLES
	# Process N has the files from 4 N on: each file is in two processes.
	start_background host "$workloads/many" $PROCESSES sh -c \
		'exec "$0" "$1" $((4 * $2)) "$3" files="$4" busy=2000' "$workloads/use_executables" "$host" {} \
		$EXECUTABLES_PER_PROCESS $EXECUTABLES
	start_background fillers "$workloads/many" "$(nproc)" sh -c \
		'exec "$0" "$1" $((50 * $2)) 50 period=50 busy=1000000' "$workloads/use_executables" "$host" {}
	expect_within 60s hosts_are_ready
}

# Prints the CPU time of a process's threads in nanoseconds. /proc/PID/stat counts in 10 ms, which
# is a third of the CPU time of an idle agent.
run_time_ns() { awk '{ sum += $1 } END { printf "%.0f\n", sum }' /proc/"$1"/task/*/schedstat; }

# Prints the CPU time of the agent's helper processes in nanoseconds: the nursery is a child of the
# agent PID, the other helpers are children of the nursery. Ended helpers are not counted; in the
# steady state, which is measured here, none ends.
helper_time_ns() {
	local helper
	{
		for helper in $(pgrep -P "$1"); do
			run_time_ns "$helper"
			pgrep -P "$helper" | while read -r helper; do run_time_ns "$helper" 2>/dev/null || true; done
		done
	} | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

# Prints the nanoseconds of the BPF programs of PID that run on perf events. The time of interrupts
# includes them.
tick_time_ns() {
	local id
	for id in $(sed -n 's/^prog_id:[[:space:]]*//p' /proc/"$1"/fdinfo/* 2>/dev/null | sort -un); do
		bpftool -j prog show id "$id" | jq 'select(.type == "perf_event") | .run_time_ns // 0'
	done | awk '{ sum += $1 } END { printf "%.0f", sum }'
}

# Counts the time in the timer interrupts of perf events, which the kernel charges to the
# interrupted thread. A program at the timers' tracepoints counts it, for our agent and for perf
# alike.
start_counting_interrupts() {
	start_background interrupts unshare --mount sh -c '
		mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
		exec bpftrace -e "
			tracepoint:timer:hrtimer_expire_entry /args->function == kaddr(\"perf_swevent_hrtimer\")/ {
				@began[cpu] = nsecs; }
			tracepoint:timer:hrtimer_expire_exit /@began[cpu]/ { @spent = sum(nsecs - @began[cpu]); delete(@began[cpu]); }
			interval:ms:500 { print(@spent); }"'
	interrupts_pid=$background_pid
	counts_interrupts() { interrupt_time_ns >/dev/null; }
	expect_within 30s counts_interrupts
}

interrupt_time_ns() { sed -n 's/^@spent: //p' "$work/interrupts.log" | tail -n 1 | grep .; }

# measure SECONDS PID: measures the CPU time of PID, in percent of the host: $thread_pct of its
# threads, $helper_pct of its helper processes, $bpf_pct of its BPF programs, $cpu_pct of all of
# them and of its timer interrupts. If interrupts are not counted, $cpu_pct has only the BPF part of
# them.
measure() {
	local seconds=$1 pid=$2 cpu helpers bpf tick=0 interrupts=0
	cpu=$(run_time_ns "$pid") helpers=$(helper_time_ns "$pid") bpf=$(bpf_time_ns "$pid")
	[ -z "${interrupts_pid:-}" ] || { tick=$(tick_time_ns "$pid") interrupts=$(interrupt_time_ns); }
	sleep_until $(($(now_s) + seconds))
	cpu=$(($(run_time_ns "$pid") - cpu)) helpers=$(($(helper_time_ns "$pid") - helpers))
	bpf=$(($(bpf_time_ns "$pid") - bpf))
	[ -z "${interrupts_pid:-}" ] ||
		{ tick=$(($(tick_time_ns "$pid") - tick)) interrupts=$(($(interrupt_time_ns) - interrupts)); }
	thread_pct=$(calculate "100 * $cpu / ($seconds * 1e9 * $(nproc))")
	helper_pct=$(calculate "100 * $helpers / ($seconds * 1e9 * $(nproc))")
	bpf_pct=$(calculate "100 * $bpf / ($seconds * 1e9 * $(nproc))")
	cpu_pct=$(calculate "100 * ($cpu + $helpers + $bpf - $tick + $interrupts) / ($seconds * 1e9 * $(nproc))")
}

# Compiles files of this repository on all CPUs in a loop while $work/building exists: short
# processes, deep stacks.
build_all() {
	# shellcheck disable=SC2016 # for the inner shell, which ends xargs by 255
	while [ -e "$work/building" ]; do
		find "$e2e_root/common" "$e2e_root/symbolizer" "$e2e_root/agent" -name '*.c'
	done | xargs -P "$(nproc)" -I{} sh -c '[ -e "$0" ] || exit 255
		gcc -std=gnu17 -O2 -g -w -I"$1" -I"$2" -c -o /dev/null "$3" 2>/dev/null || :' \
		"$work/building" "$e2e_root" "$HEARTH_BUILD" {}
}

# start_perf MODE: sets $perf_pid, to the empty string if perf is not installed.
start_perf() {
	perf_pid=
	command -v perf >/dev/null || return 0
	start_background perf perf record -e cpu-clock -F 99 -a --call-graph "$1" -o "$work/perf.$1"
	perf_pid=$background_pid
	# perf loads symbols of the running processes before it records.
	wait_until 20s test -s "$work/perf.$1" || true
}

# measure_perf MODE: measures the CPU time of perf during $busy_s, and the size of its file.
measure_perf() {
	start_perf "$1"
	if [ -z "$perf_pid" ]; then
		say "perf is not installed: skipping the comparison"
		return
	fi
	say "perf record -F 99 -a --call-graph $1, $busy_s s"
	measure "$busy_s" "$perf_pid"
	figure "agent.perf_$1_cpu_busy_pct" "$cpu_pct" "% of the host"
	figure "agent.perf_$1_cpu_busy_threads_pct" "$thread_pct" "% of the host, without its interrupts"
	figure "agent.perf_$1_rss_anon_bytes" $(($(status_kib "$perf_pid" RssAnon) * 1024)) bytes
	figure "agent.perf_$1_bytes_per_s" "$(calculate "$(stat -c %s "$work/perf.$1") / $busy_s" %.0f)" bytes/s
	[ -z "$ours_busy" ] || ratio "agent.cpu_busy_to_perf_$1" "$ours_busy" "$cpu_pct"
	[ -z "$ours_build" ] || ratio "agent.cpu_build_to_perf_$1_busy" "$ours_build" "$cpu_pct"
	end_process "$perf_pid" INT
	rm -f "$work/perf.$1"
}

# A new agent uploads symbols to a new server during the first minutes. Waits until 12 s have passed
# without an upload.
wait_for_uploads() {
	local before=-1 now=0 deadline=$((SECONDS + 120))
	while [ "$now" != "$before" ] && [ $SECONDS -lt $deadline ]; do
		before=$now
		sleep_until $(($(now_s) + 12))
		now=$(agent_metric 'uploads_total{outcome="done"}')
	done
	say "$now files were uploaded before the measurement"
}

# Measures an agent without a server while all executables are in use: the share of the stacks of
# the host's processes that reach their outermost frame, after each executable has been sampled for
# a while.
measure_completeness() {
	local from
	server_url=http://127.0.0.1:$(free_port) # no server listens there
	agent_spool=$work/spool.many
	start_agent
	touch "$host/busy"
	sleep_until $(($(now_s) + 10))
	next_second
	from=$second
	say "case many: all executables are in use, $many_s s"
	sleep_until $((from + many_s))
	figure agent.many_executables "$(agent_metric executables)" executables
	figure agent.many_rss_anon_bytes $(($(status_kib "$agent_pid" RssAnon) * 1024)) bytes
	stop_agent
	"$HEARTH_BUILD/bin/batch_dump" "$agent_spool" "${from}000000000" "$((from + many_s))000000000" >"$work/dump"
	python3 -B "$e2e_root/tests/scale/completeness.py" agent.many_ "$work/dump" >"$work/completeness"
	sed -n '/_pct/p' "$work/completeness"
	sed 's/^/# /' "$work/completeness" >&2
	rm -rf "$agent_spool" "$work/dump" "$agent_metrics"
	agent_spool=$work/spool
}

measure_idle() {
	rm -f "$host/busy"
	say "case idle, $idle_s s"
	measure "$idle_s" "$agent_pid"
	figure agent.cpu_idle_pct "$(calculate "$thread_pct + $helper_pct + $bpf_pct")" "% of the host (aim 0.05)"
	figure agent.cpu_idle_bpf_pct "$bpf_pct" "% of the host"
}

# Measures the time from the start of a new program until an answer shows it.
measure_visible() {
	local began=${EPOCHREALTIME/[.,]/}
	start_background fresh "$workloads/deep" 20 40
	expect_within 40s has_samples deep $((began / 1000000 - 1)) $((began / 1000000 + 60))
	figure agent.visible_s "$(calculate "(${EPOCHREALTIME/[.,]/} - $began) / 1e6" %.1f)" s
	end_process "$background_pid"
}

measure_busy() {
	local before_sampled bytes_before samples
	touch "$host/busy"
	wait_for_uploads
	say "case busy, $busy_s s"
	before_sampled=$(agent_metric 'ticks_total{outcome="sampled"}')
	bytes_before=$(agent_metric 'batch_bytes_total{form="wire"}')
	measure "$busy_s" "$agent_pid"
	samples=$(($(agent_metric 'ticks_total{outcome="sampled"}') - before_sampled))
	ours_busy=$cpu_pct
	figure agent.cpu_busy_pct "$ours_busy" "% of the host, interrupts included"
	figure agent.cpu_busy_threads_pct "$thread_pct" "% of the host"
	figure agent.cpu_busy_helpers_pct "$helper_pct" "% of the host"
	figure agent.cpu_busy_bpf_pct "$bpf_pct" "% of the host"
	figure agent.bpf_us_per_sample "$(calculate "$bpf_pct / 100 * $busy_s * 1e6 * $(nproc) / $samples" %.2f)" us
	figure agent.bytes_per_s "$(calculate "($(agent_metric 'batch_bytes_total{form="wire"}') - $bytes_before) / $busy_s" %.0f)" bytes/s
	figure agent.rss_anon_bytes $(($(status_kib "$agent_pid" RssAnon) * 1024)) "bytes (aim 6291456)"
	figure agent.rss_bytes $(($(status_kib "$agent_pid" VmRSS) * 1024)) bytes
	figure agent.rss_peak_bytes $(($(status_kib "$agent_pid" VmHWM) * 1024)) "bytes (aim 20971520)"
	figure agent.map_bytes "$(agent_metric map_bytes)" "bytes, rings included (aim 12582912)"
	figure agent.map_memlock_bytes "$(bpf_map_bytes "$agent_pid")" bytes
	measure_visible
	rm "$host/busy"
}

measure_build() {
	local build_pid forks
	touch "$work/building"
	start_background build build_all
	build_pid=$background_pid
	wait_for_uploads
	say "case build: a build on all CPUs, $build_s s"
	forks=$(awk '$1 == "processes" { print $2 }' /proc/stat)
	measure "$build_s" "$agent_pid"
	forks=$(($(awk '$1 == "processes" { print $2 }' /proc/stat) - forks))
	ours_build=$cpu_pct
	figure agent.cpu_build_pct "$ours_build" "% of the host, helpers and interrupts included"
	figure agent.cpu_build_threads_pct "$thread_pct" "% of the host"
	figure agent.cpu_build_helpers_pct "$helper_pct" "% of the host"
	figure agent.cpu_build_bpf_pct "$bpf_pct" "% of the host"
	figure agent.build_forks_per_s $((forks / build_s)) forks/s
	figure agent.build_us_per_fork "$(calculate "$ours_build / 100 * $build_s * 1e6 * $(nproc) / $forks" %.0f)" us
	figure agent.build_rss_anon_bytes $(($(status_kib "$agent_pid" RssAnon) * 1024)) bytes
	figure agent.build_rss_peak_bytes $(($(status_kib "$agent_pid" VmHWM) * 1024)) bytes
	rm "$work/building"
	expect_within 30s has_ended "$build_pid"
}

ours_busy='' ours_build=''
make_host
if wants many; then measure_completeness; fi
rm -f "$host/busy"
if wants idle || wants busy || wants build; then
	start_server
	start_agent
	wait_for_uploads
	if wants idle; then measure_idle; fi
	if wants busy || wants build; then start_counting_interrupts; fi
	if wants busy; then measure_busy; fi
	if wants build; then measure_build; fi
	stop_agent
fi
# Measures perf record alone, with the same host and load.
if wants perf; then
	[ -n "${interrupts_pid:-}" ] || start_counting_interrupts
	touch "$host/busy"
	measure_perf fp
	measure_perf dwarf
fi
