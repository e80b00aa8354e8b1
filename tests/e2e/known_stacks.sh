# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Functions for tests of programs with known stacks. The programs run side by side under an agent that keeps its batches
# in its spool. The test compares every address of every stack, without a server.
#
#   sample_programs NAME[:MODE]...     runs the programs until each has used $LEAST_CPU_US, and writes samples to $work/dump
#   expect_stacks NAME[:MODE] ...      see tests/live_check/expect_stacks.py
. "$(dirname "$0")/lib.sh"
need_root
need_tools python3

readonly FREQUENCY=997 LEAST_CPU_US=3000000
declare -A program_pids cpu_before

is_ready() { grep -q '^ready$' "$work/workload-$1.log"; }

# family_cpu_us PID: CPU time of a program and of its children that have ended.
family_cpu_us() {
	sed 's/.*) //' "/proc/$1/stat" | awk -v hz="$(getconf CLK_TCK)" \
		'{ printf "%.0f\n", ($12 + $13 + $14 + $15) * 1000000 / hz }'
}

have_run() {
	local program
	for program in "${!program_pids[@]}"; do
		[ "$(family_cpu_us "${program_pids[$program]}")" -ge $((cpu_before[$program] + LEAST_CPU_US)) ] || return 1
	done
}

sample_programs() {
	local program name mode from
	server_url=http://127.0.0.1:$(free_port) # no server listens on this port
	# A large table size: other programs of the host must not evict the tables of these programs.
	start_agent --on_cpu.frequency $FREQUENCY --batch_interval 2s "${agent_arguments[@]:---unwind.table_size=64MiB}"
	for program in "$@"; do
		name=${program%%:*} mode=${program#"$name"}
		need_workload "$name"
		# shellcheck disable=SC2086 # an empty mode must not become an argument
		start_background "workload-$program" "$workloads/$name" ${mode#:} 120
		program_pids[$program]=$background_pid
		expect_within 10s is_ready "$program"
	done
	# A newly started agent first looks at every process of the host.
	next_second
	from=$((second + 3))
	sleep_until $from
	for program in "$@"; do
		cpu_before[$program]=$(family_cpu_us "${program_pids[$program]}")
	done
	expect_within 90s have_run
	next_second
	stop_agent
	for program in "$@"; do
		end_process "${program_pids[$program]}"
	done
	"$HEARTH_BUILD/bin/batch_dump" "$agent_spool" "${from}000000000" "$((second - 1))000000000" >"$work/dump"
}

expect_stacks() {
	local program=$1
	shift
	say "$program"
	python3 -B "$e2e_root/tests/live_check/expect_stacks.py" "$work/dump" "$workloads/${program%%:*}" \
		"${program_pids[$program]}" "$@" && return
	say "counters of the agent that are not 0:"
	grep -E '^hearth_agent_(stacks|copies|absent|frames|unknown|process_events|bpf|ticks)[^ ]* [1-9]' "$agent_metrics" || true
	fail "$program has wrong stacks"
}
