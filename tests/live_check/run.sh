#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks the agent's stacks with real third-party programs: samples them with hearth-agent and with
# `perf record --call-graph dwarf` at the same time, and compares complete stacks and the shares of
# functions. Prints a table of all programs at the end. Exits with 1 if one of them differs.
# Programs that are not installed are reported and skipped.
#
#   sudo tests/live_check/run.sh [--seconds N] [--keep FOLDER] [PROGRAM...]     --list: names
#
# `deploy/install-packages.sh live bench` installs the programs. perf writes about 60 KB a sample,
# which needs 3 GB of disk under $TMPDIR.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${HEARTH_BUILD:-$root/build}
# shellcheck source=tests/live_check/programs.sh
. "$here/programs.sh"

readonly FREQUENCY=997 PERF_FREQUENCY=983 # different, so that their ticks do not stay synchronous
readonly STACK_BYTES=65528 # maximum that perf can copy
seconds=25 keep='' names=()

while [ $# -gt 0 ]; do
	case $1 in
	--seconds) seconds=$2; shift 2 ;;
	--keep) keep=$2; shift 2 ;;
	--list) list_programs; exit 0 ;;
	-*) sed -n '4,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
	*) names+=("$1"); shift ;;
	esac
done
[ ${#names[@]} -gt 0 ] || mapfile -t names < <(list_programs)
[ "$(id -u)" = 0 ] || { echo "live_check: needs root" >&2; exit 77; }
command -v perf >/dev/null || { echo "live_check: needs perf" >&2; exit 77; }

work=$(mktemp -d "${TMPDIR:-/tmp}/hearth-live.XXXXXX")
chmod 755 "$work"
results=$work/results
: >"$results"
pids=()

end_all() {
	local pid
	for pid in "${pids[@]}"; do
		end_tree "$pid"
	done
	for pid in "${pids[@]}"; do
		wait "$pid" 2>/dev/null || true
	done
	pids=()
}
trap 'end_all; rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM

now_ns() { date +%s%N; }

agent_writes() { [ -s "$work/agent.metrics" ]; }

# wait_for SECONDS COMMAND...
wait_for() {
	local deadline=$((SECONDS + $1))
	until "${@:2}"; do
		[ $SECONDS -lt $deadline ] || return 1
		sleep 0.1
	done
}

# No server listens there, so batches stay in the spool.
start_agent() {
	rm -rf "$work/spool" "$work/agent.metrics" "$work/script.log"
	"$build/bin/hearth-agent" --server http://127.0.0.1:9 --spool.folder "$work/spool" --spool.max_size 8GiB \
		--on_cpu.frequency $FREQUENCY --metrics.file "$work/agent.metrics" --unwind.table_size 64MiB \
		--batch_interval 2s --ring_size 16MiB --budget.memory 512MiB >"$work/agent.log" 2>&1 &
	agent_pid=$!
	pids+=("$agent_pid")
	wait_for 30 agent_writes || { tail "$work/agent.log" >&2; return 1; }
}

program_runs() { [ -s "$work/root.pid" ]; }

# Starts the program. $root_pid is its first process.
start_program() {
	(cd "$work" && exec bash -c 'here=$0; work=$1; seconds=$3; . "$here/programs.sh"; run_$2' \
		"$here" "$work" "$1" "$seconds" >"$work/program.log" 2>&1) &
	root_pid=$!
	if declare -F "load_$1" >/dev/null; then
		"ready_$1"
		(cd "$work" && exec >"$work/load.log" 2>&1 && "load_$1") &
		load_pid=$!
	fi
}

# end_tree PID: ends the program and its descendants by pid. Parents end first, so that they cannot
# start other children.
end_tree() {
	local children
	children=$(pgrep -P "$1" || true)
	kill -TERM "$1" 2>/dev/null || true
	for child in $children; do
		end_tree "$child"
	done
}

# perf samples the whole host, like our agent: with one timer per CPU, which thread switches do not
# stop. With one event per thread the timer would resume where it stopped, which shows more kernel
# time in programs that sleep often.
take_samples() {
	local name=$1
	load_pid=
	start_agent
	start_program "$name"
	sleep 3 # skips the start of the program: its first pages and mappings
	perf record -q -a -r 1 -e cpu-clock -F $PERF_FREQUENCY --call-graph dwarf,$STACK_BYTES -k CLOCK_REALTIME \
		-m 64M -o "$work/perf.data" >"$work/record.log" 2>&1 &
	perf_pid=$!
	pids+=("$perf_pid")
	sleep 2
	from=$(now_ns)
	sleep "$seconds"
	to=$(now_ns)
	kill -INT "$perf_pid"
	kill -TERM "$agent_pid"
	wait "$agent_pid" || { tail "$work/agent.log" >&2; return 1; }
	wait "$perf_pid" || true
	[ -z "$load_pid" ] || end_tree "$load_pid"
	end_tree "$root_pid"
	wait "$root_pid" $load_pid 2>/dev/null || true
	pids=()
}

# Prints the regular expression for the names of the compared processes. The default matches all.
names_of() {
	local names=names_$1
	printf '%s' "${!names:-.*}"
}

print_script() { perf script -i "$work/perf.data" --ns "$@" 2>>"$work/script.log"; }

check() {
	local name=$1
	"needs_$name" || { printf '%s: not installed, skipped\n' "$name"; return 0; }
	rm -rf "$work/data" && mkdir "$work/data" && chmod 777 "$work/data"
	(cd "$work" && seconds=$((seconds + 10)) && "setup_$name") >"$work/setup.log" 2>&1 || { tail "$work/setup.log"; return 1; }
	seconds=$seconds take_samples "$name"
	"$build/bin/batch_dump" "$work/spool" "$from" "$to" >"$work/ours"
	# Prints the script twice, because unwinding takes long: the second time only for this
	# program.
	print_script -F pid,tid,time --show-task-events --show-lost-events >"$work/perf-events"
	family=$(python3 -B "$here/family.py" "$root_pid" "$work/ours" "$work/perf-events" "$(names_of "$name")")
	print_script -F pid,tid,time,ip,dso --no-inline --show-lost-events --pid "$family" >"$work/perf"
	rm -f "$work/perf.data"
	python3 -B "$here/compare.py" --name "$name" --from "$from" --to "$to" --ours "$work/ours" --perf "$work/perf" \
		--pids "$family" --result "$results" || failed=1
	if [ -n "$keep" ]; then
		mkdir -p "$keep/$name" && cp "$work/ours" "$work/perf" "$work"/*.log "$keep/$name/"
		printf -- '--name %s --from %s --to %s --pids %s\n' "$name" "$from" "$to" "$family" >"$keep/$name/options"
	fi
}

failed=0
cmake --build "$build" --target hearth-agent batch_dump >"$work/build.log" 2>&1 || { tail "$work/build.log" >&2; exit 1; }
for name in "${names[@]}"; do
	declare -F "run_$name" >/dev/null || { printf 'unknown program %s\n' "$name" >&2; exit 2; }
	check "$name"
done
python3 -B "$here/table.py" "$results"
exit $failed
