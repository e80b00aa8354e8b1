#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Measures the agent's cost and losses with very large numbers of processes, threads, mappings or
# executables, and which of its limits are reached. Each case runs for about a minute, alone, and
# prints `scale.CASE.figure value unit`. tests/run.sh does not run it, because it asserts no figure.
#
#   sudo tests/scale/run.sh [CASE...]      default: all
#
#   processes     10 000 processes, of which 20 work
#   threads       20 000 threads in 10 processes, which wait and work; waits are sampled too
#   namespaces    500 mount namespaces, each with a separate overlay of the same files
#   executables   2 000 distinct executables in use by 250 processes
#   huge          one executable of 1 GB
#   mappings      3 000 executable mappings in one process
#   programs      clang, gcc, cmake, Chromium and ClickHouse, if installed and named in
#                 HEARTH_SCALE_PROGRAMS, beside HEARTH_SCALE_OTHERS (400) other executables in use
#
# HEARTH_BUILD: the build folder. HEARTH_SCALE_DIVISOR=N: divides each number by N.
# HEARTH_SCALE_RUN_WITH=COMMAND: a prefix of the agent's command. On a shared machine, "chrt --rr 1"
# gives the agent CPU time without delay, as on a dedicated one.
. "$(dirname "$0")/../bench/figures.sh"
need_root
need_tools python3 unshare

readonly divisor=${HEARTH_SCALE_DIVISOR:-1}
warm_s=${HEARTH_SCALE_WARM_S:-12} measured_s=${HEARTH_SCALE_S:-25}
readonly LOADED_DEADLINE=300s
load_pids=()

are_ready_or_gone() { [ "$(grep -cs '^ready$' "$work/$1.log")" -ge "$2" ] || has_ended "${load_pids[-1]}"; }

# load NAME PROCESSES COMMAND...: starts a load and waits until its processes print "ready".
load() {
	local name=$1 processes=$2
	shift 2
	start_background "$name" "$@"
	load_pids+=("$background_pid")
	expect_within $LOADED_DEADLINE are_ready_or_gone "$name" "$processes"
	loads_are_there
}

loads_are_there() {
	local pid
	for pid in "${load_pids[@]}"; do
		is_alive "$pid" || fail "a load has ended; is a limit of this host too low (kernel.pid_max, vm.max_map_count)?"
	done
}

# make_files COUNT [OPTION...]: makes executables in $files
make_files() {
	files=$work/files
	mkdir -p "$files"
	"$workloads/make_executables" "$files" "$@"
	touch "$files/busy"
}

# ---- the loads: each is running when its function returns

load_processes() {
	make_files 20
	local sleepers=$((10000 / divisor - 20))
	load sleepers $sleepers "$workloads/many" $sleepers "$workloads/use_executables" "$files" {} 1 files=20 \
		period=3600000 busy=0
	load workers 20 "$workloads/many" 20 "$workloads/use_executables" "$files" {} 2 files=20 busy=8000
}

load_threads() {
	make_files 20
	load threads 10 "$workloads/many" 10 "$workloads/use_executables" "$files" {} 2 files=20 \
		threads=$((2000 / divisor)) period=20000 busy=400
	agent_arguments=(--off_cpu.disabled=false)
}

# Containers of the same image have the same files, with a different device number in each.
load_namespaces() {
	make_files 20
	mkdir -p "$work/overlay"
	mount -t tmpfs none "$work/overlay"
	at_exit+=("umount -l $work/overlay")
	cp "$workloads/use_executables" "$files/"
	# shellcheck disable=SC2016 # for the inner shell
	load namespaces $((500 / divisor)) "$workloads/many" $((500 / divisor)) unshare -m sh -c '
		mkdir -p "$1/$3/upper" "$1/$3/work" "$1/$3/merged" &&
			mount -t overlay none -o "lowerdir=$2,upperdir=$1/$3/upper,workdir=$1/$3/work" "$1/$3/merged" &&
			exec "$1/$3/merged/use_executables" "$1/$3/merged" "$3" 4 files=20 busy=300' \
		_ "$work/overlay" "$files" {}
}

load_executables() {
	local processes=$((250 / divisor))
	say "making $((processes * 8)) executables"
	make_files $((processes * 8))
	# Process N has the files from 8 N on: no file is in two processes.
	load executables "$processes" "$workloads/many" "$processes" sh -c \
		'exec "$0" "$1" $((8 * $2)) 8 busy=1000' "$workloads/use_executables" "$files" {}
}

load_huge() {
	say "making an executable of $((1000 / divisor)) MB"
	make_files 1 min=$((4500000 / divisor)) max=$((4500000 / divisor)) body=130 chains=64
	load huge 1 "$workloads/use_executables" "$files" 0 1 period=10 busy=8000
}

load_mappings() {
	make_files 1
	load mappings 1 "$workloads/use_executables" "$files" 0 1 copies=$((3000 / divisor)) period=10 busy=8000
}

# again COMMAND...: repeats the command until it fails.
again() { while "$@" >/dev/null 2>&1; do :; done; }

load_programs() {
	local others=${HEARTH_SCALE_OTHERS:-400}
	if [ "$others" -gt 0 ]; then
		say "making $others executables"
		make_files "$others"
		load others $((others / 8)) "$workloads/many" $((others / 8)) sh -c \
			'exec "$0" "$1" $((8 * $2)) 8 busy=1000' "$workloads/use_executables" "$files" {}
	fi
	mkdir "$work/programs"
	cd "$work/programs"
	printf '#include <%s>\n' regex map unordered_map iostream algorithm functional vector string thread future >all.cc
	printf 'cmake_minimum_required(VERSION 3.20)\nproject(p C CXX)\ninclude(CheckIncludeFile)\n' >CMakeLists.txt
	printf 'check_include_file(%s.h HAVE_%s)\n' stdio IO math MATH time TIME wchar WCHAR >>CMakeLists.txt
	printf '<script>for (let a = [];;) { a.push({ x: Math.random() }); if (a.length > 1e5) a.sort((p, q) => p.x - q.x), a = []; }</script>' >a.html
	again_programs "$(free_port)" "$(free_port)"
	cd "$OLDPWD"
}

# wants NAME COMMAND: succeeds if the program is selected and installed.
wants() { [[ " ${HEARTH_SCALE_PROGRAMS:-clang gcc cmake chromium clickhouse} " == *" $1 "* ]] && command -v "$2" >/dev/null; }

# again_programs TCP_PORT HTTP_PORT: the ports are for ClickHouse.
again_programs() {
	! wants clang clang++ || start_background clang again clang++ -std=c++17 -O2 -c all.cc -o 1.o
	! wants gcc g++ || start_background gcc again g++ -std=c++17 -O2 -c all.cc -o 2.o
	! wants cmake cmake || start_background cmake again cmake --fresh -S . -B b
	! wants chromium chromium || start_background chromium chromium --headless=new --no-sandbox --disable-gpu \
		--user-data-dir="$work/programs/chromium" --timeout=600000 --dump-dom "file://$work/programs/a.html"
	if wants clickhouse clickhouse-server; then
		start_background clickhouse clickhouse-server -C /etc/clickhouse-server/config.xml -- --path="$work/programs/ch/" \
			--tcp_port="$1" --http_port="$2" --listen_host=127.0.0.1 --tmp_path="$work/programs/ch/tmp/"
		start_background queries again_or_wait clickhouse-client --host 127.0.0.1 --port "$1" --query \
			'SELECT count() FROM (SELECT cityHash64(number) % 100000 AS k, count() FROM system.numbers WHERE number < 3000000 GROUP BY k LIMIT 10)'
	fi
}

# Like again, but continues after a failure: the client's server may still be starting.
again_or_wait() { while :; do "$@" >/dev/null 2>&1 || pause 0.5; done; }

# ---- the agent

is_sampling() { grep -qs 'sampling .* CPUs' "$work/agent.log" || has_ended "$agent_pid"; }

# launch_agent: sets $startup_s, the time from its start until it samples.
launch_agent() {
	local began=${EPOCHREALTIME/[.,]/}
	server_url=http://127.0.0.1:$(free_port) # no server listens there
	agent_metrics=$work/agent.metrics
	# shellcheck disable=SC2086 # a command with its arguments
	start_background agent ${HEARTH_SCALE_RUN_WITH:-} "$HEARTH_BUILD/bin/hearth-agent" --server "$server_url" --spool "$work/spool" \
		--unwind.cache_folder "$work/unwind" --metrics.file "$agent_metrics" "${agent_arguments[@]}"
	agent_pid=$background_pid
	expect_within 120s is_sampling
	is_alive "$agent_pid" || fail "the agent does not run"
	startup_s=$(calculate "(${EPOCHREALTIME/[.,]/} - $began) / 1e6" %.1f)
	expect_within 60s test -s "$agent_metrics"
}

# Prints the CPU time of a process's threads in nanoseconds.
run_time_ns() { awk '{ sum += $1 } END { printf "%.0f\n", sum }' /proc/"$1"/task/*/schedstat; }

# show_losses CASE: prints the counters of lost, cut, evicted or refused items that are not 0.
show_losses() {
	awk -v prefix="scale.$1.metric." '
		$1 ~ /^hearth_agent_.*(lost|dropped|cut_|fail|evict|miss|unknown|without|outcome="ring_full"|limit|throttl|over|thinned|skipped|stolen|degrad)/ &&
			$2 > 0 { sub(/^hearth_agent_/, "", $1); print prefix $1, $2, "count" }' "$agent_metrics"
}

# Counters that grow steadily if the chunks of unwind tables do not fit into the pool.
readonly PER_SECOND="unwind_misses_total unwind_chunk_loads_total unwind_chunk_evictions_total stacks_cut_total"

# show_rates CASE FILE: prints the growth of these counters since the metrics in FILE.
show_rates() {
	local counter before after
	for counter in $PER_SECOND; do
		before=$(agent_metrics=$2 agent_metric "$counter") after=$(agent_metric "$counter")
		figure "scale.$1.$counter.per_second" "$(calculate "($after - $before) / $measured_s" %.2f)" 1/s
	done
}

run_case() {
	local name=$1 from cpu bpf stopping
	agent_arguments=()
	say "$name: loading"
	"load_$name"
	launch_agent
	figure "scale.$name.startup_s" "$startup_s" s
	figure "scale.$name.startup_cpu_s" "$(calculate "$(run_time_ns "$agent_pid") / 1e9" %.2f)" s
	say "$name: $warm_s s to settle, $measured_s s measured"
	sleep_until $(($(now_s) + warm_s))
	figure "scale.$name.settling_cpu_s" "$(calculate "$(run_time_ns "$agent_pid") / 1e9" %.2f)" s
	next_second
	from=$second
	cp "$agent_metrics" "$work/metrics.before"
	cpu=$(run_time_ns "$agent_pid") bpf=$(bpf_time_ns "$agent_pid")
	sleep_until $((from + measured_s))
	cpu=$(($(run_time_ns "$agent_pid") - cpu)) bpf=$(($(bpf_time_ns "$agent_pid") - bpf))
	figure "scale.$name.cpu_pct" "$(calculate "100 * ($cpu + $bpf) / ($measured_s * 1e9 * $(nproc))" %.3f)" "% of the host"
	figure "scale.$name.cpu_bpf_pct" "$(calculate "100 * $bpf / ($measured_s * 1e9 * $(nproc))" %.3f)" "% of the host"
	figure "scale.$name.rss_anon_bytes" $(($(status_kib "$agent_pid" RssAnon) * 1024)) bytes
	figure "scale.$name.rss_peak_bytes" $(($(status_kib "$agent_pid" VmHWM) * 1024)) bytes
	figure "scale.$name.map_bytes" "$(bpf_map_bytes "$agent_pid")" bytes
	figure "scale.$name.map_and_ring_bytes" "$(agent_metric map_bytes)" bytes
	figure "scale.$name.processes" "$(agent_metric processes)" processes
	figure "scale.$name.executables" "$(agent_metric executables)" executables
	figure "scale.$name.resident_chunks" "$(agent_metric unwind_chunks)" chunks
	figure "scale.$name.pool_bytes" "$(agent_metric unwind_pool_bytes)" bytes
	show_rates "$name" "$work/metrics.before"
	loads_are_there
	stopping=${EPOCHREALTIME/[.,]/}
	stop_agent
	figure "scale.$name.stop_s" "$(calculate "(${EPOCHREALTIME/[.,]/} - $stopping) / 1e6" %.1f)" s
	show_losses "$name"
	"$HEARTH_BUILD/bin/batch_dump" "$work/spool" "${from}000000000" "$((from + measured_s))000000000" >"$work/dump"
	python3 -B "$e2e_root/tests/scale/completeness.py" "scale.$name." "$work/dump"
}

# Runs each case in a separate shell, which ends its processes and removes its files.
readonly CASES="processes threads namespaces executables huge mappings programs"
if [ $# -ne 1 ]; then
	result=0
	for name in ${*:-$CASES}; do
		bash "${BASH_SOURCE[0]}" "$name" || result=1
	done
	exit $result
fi
[[ " $CASES " == *" $1 "* ]] || fail "there is no case '$1', there are: $CASES"
enable_bpf_statistics
run_case "$1"
