#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# cost of the agent's fallbacks for older kernels, measured on this kernel
# (BPF time of a tick with its stack, and memory of the maps, with all features and without some:
# kernel.without, docs/kernels.md)
. "$(dirname "$0")/figures.sh"
need_root
need_tools bpftool curl jq

measure_s=${HEARTH_BENCH_FALLBACK_S:-8}

enable_bpf_statistics

# Prints time and number of runs of the agent's perf event programs: "NANOSECONDS RUNS".
tick_statistics() {
	local id
	for id in $(sed -n 's/^prog_id:[[:space:]]*//p' /proc/"$agent_pid"/fdinfo/* 2>/dev/null | sort -un); do
		bpftool -j prog show id "$id" | jq -r 'select(.type == "perf_event") | "\(.run_time_ns // 0) \(.run_cnt // 0)"'
	done | awk '{ time += $1; runs += $2 } END { printf "%.0f %.0f", time, runs }'
}

# measure_stack NAME COMMAND...: runs one program on each CPU, so that no tick finds an idle CPU.
measure_stack() {
	local name=$1 cpu before after pids=()
	shift
	for ((cpu = 0; cpu < $(nproc); cpu++)); do
		start_background "$name" taskset --cpu-list $cpu "$@"
		pids+=("$background_pid")
	done
	# Waits until the programs' unwind tables and mappings are in the BPF maps.
	sleep_until $(($(now_s) + 4))
	before=$(tick_statistics)
	sleep_until $(($(now_s) + measure_s))
	after=$(tick_statistics)
	for pid in "${pids[@]}"; do
		end_process "$pid"
	done
	figure "fallback.$variant.${name}_tick_us" "$(awk -v b="$before" -v a="$after" 'BEGIN { split(b, x); split(a, y)
		printf "%.2f", (y[1] - x[1]) / (y[2] - x[2]) / 1000 }')" us
}

start_server
for without in "" hash-on-demand bpf-loop bpf-loop,hash-on-demand; do
	variant=${without:-native}
	variant=${variant/,/+}
	agent_spool=$work/spool-$variant
	start_agent --kernel.without "$without" --on_cpu.frequency 499
	measure_stack frames_30 "$workloads/deep" 30 600
	measure_stack frames_400 "$workloads/unwound" deep 600
	figure "fallback.$variant.maps_mib" "$(calculate "$(bpf_map_bytes "$agent_pid") / 1048576" %.1f)" MiB
	stop_agent
done
