# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Functions for end-to-end tests. Each test starts with `. "$(dirname "$0")/lib.sh"`.
#
# A test runs on the real kernel and starts a private server and agent, with free ports and a private folder ($work).
# When the test exits, for whatever reason, this file ends every process that the test started, by its pid. Exit status:
# 0 passed, 77 skipped (the last line has the reason), anything else failed. Tests wait for a condition with a deadline;
# they never sleep for "long enough".
set -euo pipefail

e2e_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
: "${HEARTH_BUILD:=$e2e_root/build}"
: "${HEARTH_BUILD_SANITIZE:=$e2e_root/build-sanitize}"
workloads=$HEARTH_BUILD/workloads
hearth=$HEARTH_BUILD/bin/hearth

# Tests, server and agent run before the programs that start_background starts. Otherwise each command of a test waits for
# CPU time, because most of the programs use all that they get. A program that a test runs itself has the agent's priority.
readonly TEST_NICE=${HEARTH_TEST_NICE:--15}
renice -n $TEST_NICE -p $$ >/dev/null 2>&1 || true

work=$(mktemp -d "${TMPDIR:-/tmp}/hearth-e2e.XXXXXX")
started_pids=()
at_exit=()

# Time until a batch is closed, sent and stored: twice the default batch interval, and a margin.
readonly COVERAGE_DEADLINE=40s

# ---- messages and exit ----------------------------------------------------------------------------------------------

say() { printf '[%(%T)T] %s\n' -1 "$*"; }

fail() {
	say "FAILED: $*"
	exit 1
}

skip() {
	printf '%s\n' "$*"
	exit 77
}

is_alive() { kill -0 "$1" 2>/dev/null; }

# end_process PID [SIGNAL]: sends SIGNAL and waits until the process has ended; sends SIGKILL after 20 s.
end_process() {
	local pid=$1 signal=${2:-TERM}
	is_alive "$pid" || return 0
	kill "-$signal" "$pid" 2>/dev/null || true
	wait_until 20s has_ended "$pid" || kill -KILL "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
}

has_ended() {
	! is_alive "$1" || [ "$(process_state "$1")" = Z ]
}

process_state() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f1; }

# Prints the 25 nodes with the largest totals of each profile that the test has fetched.
show_profiles() {
	local profile
	for profile in "$work"/*.json; do
		[ -s "$profile" ] || continue
		printf -- '---- %s: self, total, label\n' "${profile##*/}"
		jq -r '[.result[]?] | sort_by(-.total_value)[:25][] | "\(.self_value)\t\(.total_value)\t\(.profile_location_str)"' \
			"$profile" 2>/dev/null
	done
}

clean_up() {
	local status=$? i command
	trap - EXIT
	set +e
	# In reverse order of their start: the agent before its server.
	for ((i = ${#started_pids[@]} - 1; i >= 0; i--)); do
		end_process "${started_pids[i]}"
	done
	for command in "${at_exit[@]}"; do
		eval "$command"
	done
	if [ $status -ne 0 ] && [ $status -ne 77 ]; then
		for log in "$work"/*.log; do
			[ ! -s "$log" ] || { printf -- '---- %s\n' "${log##*/}"; grep -v 'info uploaded' "$log" | tail -n 30; }
		done
		show_profiles
	fi
	if [ -n "${HEARTH_E2E_KEEP:-}" ]; then
		printf 'kept: %s\n' "$work"
	else
		rm -rf -- "$work"
	fi
	exit $status
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# ---- requirements ---------------------------------------------------------------------------------------------------

need_root() { [ "$(id -u)" = 0 ] || skip "needs root"; }

need_tools() {
	local tool
	for tool in "$@"; do
		command -v "$tool" >/dev/null || skip "needs $tool"
	done
}

need_workload() { [ -x "$workloads/$1" ] || fail "the workload '$1' is not built in $workloads"; }

# ---- time -----------------------------------------------------------------------------------------------------------

exec {pause_fd}<> <(:)
pause() { read -rt "$1" -u "$pause_fd" || true; }

# wait_until DEADLINE COMMAND...: runs COMMAND every 250 ms until it succeeds. Returns 1 after DEADLINE (as in "20s").
wait_until() {
	local deadline=$((SECONDS + ${1%s}))
	shift
	until "$@"; do
		[ $SECONDS -lt $deadline ] || return 1
		pause 0.25
	done
}

# expect_within DEADLINE COMMAND...: like wait_until, but fails the test after DEADLINE.
expect_within() { wait_until "$@" || fail "condition not met within $1: ${*:2}"; }

now_s() { printf '%(%s)T' -1; }

# sleep_until EPOCH_SECONDS: waits for this time of the wall clock, accurate to a few milliseconds.
sleep_until() {
	local left_us
	while left_us=$(($1 * 1000000 - ${EPOCHREALTIME/[.,]/})) && [ $left_us -gt 0 ]; do
		pause "$((left_us / 1000000)).$(printf '%06d' $((left_us % 1000000)))"
	done
}

# next_second: waits until the next second of the wall clock begins, and sets $second to it.
next_second() {
	second=$(($(now_s) + 1))
	sleep_until "$second"
}

# ---- server and agent -----------------------------------------------------------------------------------------------

port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Prints a free port of $HEARTH_E2E_PORTS ("FIRST COUNT"), each at most once. Tests that run side by side have different
# ranges, because two tests could find the same port free before either uses it.
free_port() {
	local port first count
	read -r first count <<<"${HEARTH_E2E_PORTS:-20000 12000}"
	for _ in {1..50}; do
		port=$((first + RANDOM % count))
		if port_is_free $port && ! grep -qsx $port "$work/ports"; then
			printf '%d\n' $port | tee -a "$work/ports"
			return
		fi
	done
	fail "no free port found"
}

# run_at_nice NICE COMMAND...: for a process in the background. COMMAND may be a function.
run_at_nice() {
	renice -n "$1" -p $BASHPID >/dev/null 2>&1 || true
	shift
	[ "$(type -t "$1")" != function ] || { "$@"; return; }
	exec "$@"
}

# start_background NAME COMMAND...: sets $background_pid; writes the output to $work/NAME.log. The process has the nice
# value $background_nice, by default 0.
start_background() {
	local name=$1
	shift
	run_at_nice "${background_nice:-0}" "$@" >>"$work/$name.log" 2>&1 </dev/null &
	background_pid=$!
	started_pids+=("$background_pid")
}

server_is_ready() { [ "$(curl -s -m 5 -o /dev/null -w '%{http_code}' "$server_url/readyz")" = 200 ]; }

server_ready_or_ended() { server_is_ready || has_ended "$server_pid"; }

# start_server [ARGUMENT...]: listens on $server_port (by default a free port) and uses the data folder $server_data.
start_server() {
	: "${server_port:=$(free_port)}" "${server_data:=$work/data}" "${server_binary:=$HEARTH_BUILD/bin/hearth-symbolizer}"
	server_url=http://127.0.0.1:$server_port
	mkdir -p "$server_data"
	background_nice=$TEST_NICE start_background server "$server_binary" --listen "127.0.0.1:$server_port" --data "$server_data" "$@"
	server_pid=$background_pid
	expect_within 30s server_ready_or_ended
	server_is_ready || fail "the server has ended"
}

# start_agent [ARGUMENT...]: starts an agent with the spool $agent_spool that sends to the server. It sends a batch each
# second, unless the test sets $agent_batch_interval, because tests mostly wait for batches. start_agent returns when the
# agent knows the programs that were already running, or at its first report if $agent_returns_with is "report".
start_agent() {
	: "${agent_spool:=$work/spool}" "${agent_batch_interval:=1s}" "${agent_returns_with:=settled}"
	agent_metrics=$work/agent.metrics
	background_nice=$TEST_NICE start_background agent "$HEARTH_BUILD/bin/hearth-agent" --server "$server_url" --spool "$agent_spool" \
		--unwind.cache_folder "$work/unwind" --metrics.file "$agent_metrics" --host.name e2e-host \
		--batch_interval "$agent_batch_interval" "$@"
	agent_pid=$background_pid
	expect_within 30s agent_reports_or_ended
	! has_ended "$agent_pid" || fail "the agent has ended"
	last_report=
	# On a host where programs start all the time the agent never settles. With a longer interval it had enough time.
	[ "$agent_returns_with:$agent_batch_interval" != settled:1s ] || wait_until 4s agent_is_settled || true
}

# The agent has written two reports in a row with the same number of executables and unwind tables.
agent_is_settled() {
	local report
	report="$(stat -c '%Y %i' "$agent_metrics") $(agent_metric executables) $(agent_metric unwind_tables_total)"
	[ "$report" != "$last_report" ] || return 1
	[ -z "$last_report" ] || [ "${report#* * }" != "${last_report#* * }" ] || return 0
	last_report=$report
	return 1
}

agent_reports_or_ended() { [ -s "$agent_metrics" ] || has_ended "$agent_pid"; }

stop_server() { end_process "$server_pid" "${1:-TERM}"; }
stop_agent() { end_process "$agent_pid" "${1:-TERM}"; }

# start_workload NAME [ARGUMENT...]: sets $workload_pid
start_workload() {
	need_workload "$1"
	start_background "workload-$1" "$workloads/$1" "${@:2}"
	workload_pid=$background_pid
}

# copy_with_new_build_id PROGRAM COPY: other tests that run PROGRAM at the same time do not know the build-ID of COPY.
copy_with_new_build_id() {
	local offset
	cp "$1" "$2"
	# The note has a header of 12 bytes, the name "GNU" with its null, and the 20 bytes of the ID.
	offset=$((16#$(readelf -SW "$2" | sed -n 's/^ *\[ *[0-9]*\] \.note\.gnu\.build-id *NOTE *[0-9a-f]* \([0-9a-f]*\) .*/\1/p') + 16))
	printf '%b' "$(printf '%s' "$2" | sha1sum | sed 's/ .*//; s/../\\x&/g')" |
		dd of="$2" bs=1 seek="$offset" conv=notrunc status=none
}

# agent_metric NAME: prints the value, summed over label sets. The agent replaces the file with every batch.
agent_metric() {
	awk -v name="hearth_agent_$1" '
		$1 == name || index($1, name "{") == 1 { sum += $2 }
		END { printf "%.0f\n", sum }' "$agent_metrics"
}

server_metric() {
	curl -sS -m 10 "$server_url/metrics" | awk -v name="hearth_symbolizer_$1" '
		$1 == name || index($1, name "{") == 1 { sum += $2 }
		END { printf "%.0f\n", sum }'
}

# cpu_time_us PID: utime + stime of the process, in microseconds.
cpu_time_us() {
	sed 's/.*) //' "/proc/$1/stat" | awk -v hz="$(getconf CLK_TCK)" '{ printf "%.0f\n", ($12 + $13) * 1000000 / hz }'
}

# cpu_tolerance CPU_US WALL_S: how far sampled CPU time may differ from the kernel's accounting: 2 %, plus three standard
# deviations of the number of ticks that hit the program, for the case that other programs use part of the CPUs.
cpu_tolerance() {
	awk -v cpu="$1" -v wall=$(($2 * 1000000 * $(nproc))) -v hz="${SAMPLE_HZ:-99}" 'BEGIN {
		period = 1000000 / hz; p = cpu / wall; p = p > 1 ? 1 : p
		printf "%.0f\n", 0.02 * cpu + 3 * period * sqrt(wall / period * p * (1 - p)) }'
}

# ---- queries --------------------------------------------------------------------------------------------------------

# query_profile SERVICE FROM TO [MORE_JSON]: prints the API's answer. FROM and TO are unix seconds, both included.
query_profile() {
	local more=${4:-}
	jq -nc --arg service "$1" --argjson from "$2" --argjson to "$3" --argjson more "${more:-"{}"}" '
		{ app_service: $service, profile_event_type: "on-cpu", profile_language_type: "eBPF",
		  time_start: $from, time_end: $to } + $more' |
		curl -sS -m 30 -H 'Content-Type: application/json' --data-binary @- "$server_url/v1/profile/ProfileTracing"
}

# fetch_profile FILE SERVICE FROM TO [MORE_JSON]: writes the answer to FILE. Fails unless it is a success with data.
fetch_profile() {
	local file=$1
	shift
	query_profile "$@" >"$file"
	jq -e '.OPT_STATUS == "SUCCESS" and (.result | length) > 0' "$file" >/dev/null ||
		fail "no profile of '$1': $(head -c 600 "$file")"
}

has_samples() { query_profile "$@" | jq -e '(.result | length) > 0' >/dev/null; }

# wait_for_coverage EPOCH_SECONDS: waits until the server has all samples before this time, that is, has a later one.
wait_for_coverage() {
	local host_is_covered=(has_samples Total "$1" $(($1 + 60)))
	expect_within $COVERAGE_DEADLINE "${host_is_covered[@]}"
}

# wait_for_name LABEL SERVICE FROM TO...: waits until the profile has LABEL. The server fetches symbols from agents one
# file after the other, and then names samples that it has already stored.
wait_for_name() {
	local name=$1
	shift
	is_named() { query_profile "$@" | jq -r '.result[]?.profile_location_str' | grep -xF -- "$name" >/dev/null; }
	expect_within 90s is_named "$@"
}

# has_kernel_names FILE: the functions of the kernel have names. An agent uploads the kernel's symbols first, and the server
# compiles them for some seconds. Names that arrive between two queries would be a difference of their answers.
has_kernel_names() { ! labels_of "$1" | grep -xF '[k] [kernel]' >/dev/null; }

# total_of FILE: total of the root.
total_of() { jq '[.result[]? | select(.parent_node_id == "-1") | .total_value] | add // 0' "$1"; }

# value_of FILE LABEL: total of all nodes with LABEL. A node below another one with LABEL is not counted again.
value_of() {
	jq --arg wanted "$2" '
		.result as $nodes | INDEX($nodes[]; .node_id) as $by_id
		| def labels_above: [$by_id[.parent_node_id] // empty
			| recurse($by_id[.parent_node_id] // empty) | .profile_location_str];
		[$nodes[] | select(.profile_location_str == $wanted) | select((labels_above | index([$wanted])) == null)
			| .total_value] | add // 0' "$1"
}

# share_of FILE LABEL: value_of in percent of the root, with two decimals.
share_of() {
	awk -v value="$(value_of "$1" "$2")" -v total="$(total_of "$1")" \
		'BEGIN { printf "%.2f\n", total ? 100 * value / total : 0 }'
}

labels_of() { jq -r '.result[]?.profile_location_str' "$1" | sort -u; }

# children_of FILE LABEL: the labels directly below LABEL.
children_of() {
	jq -r --arg wanted "$2" '
		([.result[] | select(.profile_location_str == $wanted) | .node_id]) as $ids
		| .result[] | select(.parent_node_id as $p | $ids | index([$p])) | .profile_location_str' "$1" | sort -u
}

# ---- expectations ---------------------------------------------------------------------------------------------------

# expect_near WHAT ACTUAL EXPECTED TOLERANCE
expect_near() {
	say "$1: $2 (expected $3 ± $4)"
	awk -v a="$2" -v e="$3" -v t="$4" 'BEGIN { exit !(a >= e - t && a <= e + t) }' || fail "$1 is $2, expected $3 ± $4"
}

expect_equal() {
	say "$1: $2"
	[ "$2" = "$3" ] || fail "$1 is '$2', expected '$3'"
}

expect_at_least() {
	say "$1: $2 (at least $3)"
	awk -v a="$2" -v m="$3" 'BEGIN { exit !(a >= m) }' || fail "$1 is $2, expected at least $3"
}

expect_at_most() {
	say "$1: $2 (at most $3)"
	awk -v a="$2" -v m="$3" 'BEGIN { exit !(a <= m) }' || fail "$1 is $2, expected at most $3"
}

# Not grep -q: it stops reading at the first match, and the writer of the pipe then fails with EPIPE.
expect_label() { labels_of "$1" | grep -xF -- "$2" >/dev/null || fail "no label '$2'; labels: $(labels_of "$1" | head -n 40 | tr '\n' '|')"; }
expect_no_label() { ! labels_of "$1" | grep -F -- "$2" || fail "unexpected label '$2'"; }

# expect_exact_sums FILE: the total of each node is its self value plus the totals of its children.
expect_exact_sums() {
	local wrong
	wrong=$(jq -r '(reduce .result[1:][] as $node ({}; .[$node.parent_node_id] += $node.total_value)) as $sums
		| .result[] | select(.total_value != .self_value + ($sums[.node_id] // 0))
		| "\(.profile_location_str): \(.total_value), of \(.self_value) + \($sums[.node_id] // 0)"' "$1") ||
		fail "$1 is not a profile"
	[ -z "$wrong" ] || fail "a total is not the self value plus the children: $(head -n 5 <<<"$wrong" | tr '\n' '|')"
}

# request METHOD PATH [CURL_ARGUMENT...]: sets $status and $body; $status is 000 if there was no answer.
request() {
	local method=$1 path=$2
	shift 2
	status=$(curl -s -m 20 -o "$work/body" -w '%{http_code}' -X "$method" "$@" "$server_url$path") || true
	body=$(head -c 4096 "$work/body" 2>/dev/null | tr -d '\0') || body=
}
