#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# the agent's memory and CPU on a host with 100 processes and 300 libraries: idle, busy, under a build; beside perf record
. "$(dirname "$0")/figures.sh"
need_root
need_tools curl jq gcc

readonly PROCESSES=100 LIBRARIES=300 LIBRARIES_PER_PROCESS=6
idle_s=${HEARTH_BENCH_IDLE_S:-30} busy_s=${HEARTH_BENCH_BUSY_S:-60} build_s=${HEARTH_BENCH_BUILD_S:-60}

enable_bpf_statistics

# ---- a host: libraries of different build-IDs, processes that each load some and wake up now and then
make_host() {
	local i
	say "making $LIBRARIES libraries"
	mkdir -p "$work/host"
	cat >"$work/host/library.c" <<-END
		unsigned long SYMBOL(unsigned long n);
		unsigned long SYMBOL(unsigned long n)
		{
			for (unsigned long i = 0; i < 1000000; i++)
				n = n * 6364136223846793005u + SALT;
			return n;
		}
	END
	seq $LIBRARIES | xargs -P "$(nproc)" -I{} gcc -O1 -shared -fPIC -fno-omit-frame-pointer -Wl,--build-id \
		-DSALT={} -DSYMBOL=library_{} -o "$work/host/liblib{}.so" "$work/host/library.c"
	cat >"$work/host/process.c" <<-'END'
		#include <dlfcn.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		/* process FOLDER FIRST COUNT N_LIBRARIES: four times a second it looks whether FOLDER/busy is there, and
		 * then calls a function of one library after the other. */
		int main(int argc, char **argv)
		{
			int first = atoi(argv[2]), count = atoi(argv[3]), n_libraries = atoi(argv[4]);
			unsigned long (*functions[64])(unsigned long), value = argc;
			char busy[512];
			for (int i = 0; i < count; i++) {
				char path[512], symbol[64];
				int number = (first + i) % n_libraries + 1;
				snprintf(path, sizeof(path), "%s/liblib%d.so", argv[1], number);
				snprintf(symbol, sizeof(symbol), "library_%d", number);
				void *library = dlopen(path, RTLD_NOW);
				if (!library)
					return 1;
				functions[i] = (unsigned long (*)(unsigned long))dlsym(library, symbol);
			}
			snprintf(busy, sizeof(busy), "%s/busy", argv[1]);
			for (unsigned int turn = 0;; usleep(250000)) {
				if (access(busy, F_OK) == 0)
					value = functions[turn++ % count](value);
			}
		}
	END
	gcc -O1 -w -fno-omit-frame-pointer -o "$work/host/process" "$work/host/process.c" -ldl
	for ((i = 0; i < PROCESSES; i++)); do
		start_background "host" "$work/host/process" "$work/host" $((i * LIBRARIES / PROCESSES)) \
			$LIBRARIES_PER_PROCESS $LIBRARIES
	done
}

# Of a process's threads, in nanoseconds. /proc/PID/stat counts in 10 ms, which is a third of what an idle agent takes.
run_time_ns() { awk '{ sum += $1 } END { printf "%.0f\n", sum }' /proc/"$1"/task/*/schedstat; }

# measure SECONDS PID: its CPU over the time, in percent of the host; sets $cpu_pct and $bpf_pct
measure() {
	local seconds=$1 pid=$2 cpu bpf
	cpu=$(run_time_ns "$pid")
	bpf=$(bpf_time_ns "$pid")
	at_second $(($(now_s) + seconds))
	cpu=$(($(run_time_ns "$pid") - cpu))
	bpf=$(($(bpf_time_ns "$pid") - bpf))
	cpu_pct=$(calculate "100 * $cpu / ($seconds * 1e9 * $(nproc))")
	bpf_pct=$(calculate "100 * $bpf / ($seconds * 1e9 * $(nproc))")
}

# Files of our own, compiled again and again on all CPUs while $work/building is there: short processes, deep stacks.
build_all() {
	# shellcheck disable=SC2016 # for the inner shell, which ends xargs by 255
	while [ -e "$work/building" ]; do
		find "$e2e_root/common" "$e2e_root/symbolizer" "$e2e_root/agent" -name '*.c'
	done | xargs -P "$(nproc)" -I{} sh -c '[ -e "$0" ] || exit 255
		gcc -std=gnu17 -O2 -g -w -I"$1" -I"$2" -c -o /dev/null "$3" 2>/dev/null || :' \
		"$work/building" "$e2e_root" "$HEARTH_BUILD" {}
}

# start_perf MODE: sets $perf_pid; empty where there is no perf.
start_perf() {
	perf_pid=
	command -v perf >/dev/null || return 0
	start_background perf perf record -F 99 -a --call-graph "$1" -o "$work/perf.$1"
	perf_pid=$background_pid
	# It loads symbols of the running processes before it records.
	wait_until 20s test -s "$work/perf.$1" || true
}

# measure_perf MODE WHAT: what it costs over $busy_s, and what it writes.
measure_perf() {
	start_perf "$1"
	if [ -z "$perf_pid" ]; then
		say "perf is not installed: no peer"
		return
	fi
	say "perf record -F 99 -a --call-graph $1, $busy_s s"
	measure "$busy_s" "$perf_pid"
	figure "agent.perf_$1_cpu_busy_pct" "$cpu_pct" "% of the host, without what its interrupts take"
	figure "agent.perf_$1_rss_anon_bytes" $(($(status_kib "$perf_pid" RssAnon) * 1024)) bytes
	figure "agent.perf_$1_bytes_per_s" "$(calculate "$(stat -c %s "$work/perf.$1") / $busy_s" %.0f)" bytes/s
	ratio "agent.cpu_busy_to_perf_$1" "$ours" "$cpu_pct"
	end_process "$perf_pid" INT
	rm -f "$work/perf.$1"
}

# The first minutes of a new agent on a new server go to uploads of symbols: steady is when none came for a while.
wait_for_uploads() {
	local before=-1 now=0 deadline=$((SECONDS + 120))
	while [ "$now" != "$before" ] && [ $SECONDS -lt $deadline ]; do
		before=$now
		at_second $(($(now_s) + 12))
		now=$(agent_metric 'uploads_total{outcome="done"}')
	done
	say "$now files were uploaded before"
}

make_host
start_server
start_agent

wait_for_uploads
say "idle, $idle_s s"
measure "$idle_s" "$agent_pid"
figure agent.cpu_idle_pct "$(calculate "$cpu_pct + $bpf_pct")" "% of the host (aim 0.05)"
figure agent.cpu_idle_bpf_pct "$bpf_pct" "% of the host"

say "busy, $busy_s s"
touch "$work/host/busy"
start_workload shares $((2 * busy_s + 240))
wait_for_uploads
before_sampled=$(agent_metric 'ticks_total{outcome="sampled"}')
bytes_before=$(agent_metric 'batch_bytes_total{form="wire"}')
measure "$busy_s" "$agent_pid"
samples=$(($(agent_metric 'ticks_total{outcome="sampled"}') - before_sampled))
ours=$(calculate "$cpu_pct + $bpf_pct")
figure agent.cpu_busy_pct "$ours" "% of the host (aim 0.15)"
figure agent.cpu_busy_bpf_pct "$bpf_pct" "% of the host"
figure agent.bpf_us_per_sample "$(calculate "$bpf_pct / 100 * $busy_s * 1e6 * $(nproc) / $samples" %.2f)" us
figure agent.bytes_per_s "$(calculate "($(agent_metric 'batch_bytes_total{form="wire"}') - $bytes_before) / $busy_s" %.0f)" bytes/s
figure agent.rss_anon_bytes $(($(status_kib "$agent_pid" RssAnon) * 1024)) "bytes (aim 12582912)"
figure agent.rss_bytes $(($(status_kib "$agent_pid" VmRSS) * 1024)) bytes
figure agent.rss_peak_bytes $(($(status_kib "$agent_pid" VmHWM) * 1024)) "bytes (aim 33554432)"
figure agent.map_bytes "$(agent_metric map_bytes)" "bytes (aim 33554432)"

# From the first sample of a new program to the answer that shows it.
visible() {
	local began=${EPOCHREALTIME/[.,]/}
	start_background fresh "$workloads/deep" 20 40
	expect_within 40s has_samples deep $((began / 1000000 - 1)) $((began / 1000000 + 60))
	figure agent.visible_s "$(calculate "(${EPOCHREALTIME/[.,]/} - $began) / 1e6" %.1f)" s
	end_process "$background_pid"
}
visible

say "a build on all CPUs, $build_s s"
end_process "$workload_pid"
touch "$work/building"
start_background build build_all
build_pid=$background_pid
wait_for_uploads
build_forks=$(awk '$1 == "processes" { print $2 }' /proc/stat)
measure "$build_s" "$agent_pid"
figure agent.cpu_build_pct "$(calculate "$cpu_pct + $bpf_pct")" "% of the host (aim 0.5)"
figure agent.cpu_build_bpf_pct "$bpf_pct" "% of the host"
figure agent.build_forks_per_s $((($(awk '$1 == "processes" { print $2 }' /proc/stat) - build_forks) / build_s)) forks/s
figure agent.build_rss_anon_bytes $(($(status_kib "$agent_pid" RssAnon) * 1024)) bytes
figure agent.build_rss_peak_bytes $(($(status_kib "$agent_pid" VmHWM) * 1024)) bytes
rm "$work/building"
expect_within 30s is_gone "$build_pid"
stop_agent

# The same host and load under perf record, alone. What its sampling costs in the kernel is not in its own CPU time.
start_workload shares $((3 * busy_s + 60))
measure_perf fp
measure_perf dwarf
