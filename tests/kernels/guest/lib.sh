# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Words for checks that run inside a guest: those of tests/e2e/lib.sh, and one server and one agent that all checks of a
# boot share. QEMU translates each instruction, ten to thirty times slower than a CPU runs it: windows are chosen by
# counted samples, never by seconds, and deadlines are minutes.
export HEARTH_BUILD=/hearth/build TMPDIR=/run
. /hearth/tests/e2e/lib.sh

readonly SHARED=/run/hearth GUEST_DEADLINE=300s
server_url=http://127.0.0.1:20416
agent_metrics=$SHARED/agent.metrics
mkdir -p "$SHARED"

# wait_until DEADLINE COMMAND...: as in tests/e2e/lib.sh, but COMMAND runs every 3 s only, because a query to the server
# costs a guest a second of its CPU. A machine with a clock that counts instructions (lib.sh of the host) skips the time
# between.
wait_until() {
	local deadline=$((SECONDS + ${1%s}))
	shift
	until "$@"; do
		[ $SECONDS -lt $deadline ] || return 1
		nap 3
	done
}

# lacks FEATURE: the table of kernels says that the agent must do without it here.
lacks() { [[ ,$HEARTH_LACKS, == *",$1,"* ]]; }

# detach NAME COMMAND...: starts a command that keeps running after this check. Its output is in $SHARED/NAME.log, its
# exit status later in $SHARED/NAME.status.
detach() {
	local name=$1
	rm -f "$SHARED/$name.pid" "$SHARED/$name.status"
	setsid bash -c 'files=$1; shift; "$@" & echo $! >"$files.pid"; wait $!; echo $? >"$files.status"' _ "$SHARED/$name" \
		"${@:2}" >>"$SHARED/$name.log" 2>&1 </dev/null &
	wait_until 60s test -s "$SHARED/$name.pid"
}

shared_pid() { cat "$SHARED/$1.pid"; }

# use_server: starts the boot's server, or takes the one that runs.
use_server() {
	if ! { [ -s "$SHARED/server.pid" ] && is_alive "$(shared_pid server)"; }; then
		detach server "$HEARTH_BUILD/bin/hearth-symbolizer" --listen 127.0.0.1:20416 --data "$SHARED/data"
	fi
	expect_within "$GUEST_DEADLINE" server_is_ready
}

# use_agent: likewise the agent, with everything switched on that it can do.
use_agent() {
	if ! { [ -s "$SHARED/agent.pid" ] && is_alive "$(shared_pid agent)"; }; then
		rm -f "$agent_metrics"
		detach agent "$HEARTH_BUILD/bin/hearth-agent" --server "$server_url" --spool "$SHARED/spool" \
			--unwind.cache_folder "$SHARED/unwind" --metrics.file "$agent_metrics" --host.name guest \
			--off_cpu.disabled=false --on_cpu.frequency "$SAMPLE_HZ" --batch_interval 2s "$@"
	fi
	agent_pid=$(shared_pid agent)
	wait_until "$GUEST_DEADLINE" agent_reports_or_gone || {
		tail -n 20 "$SHARED/agent.log"
		fail "the agent reports nothing"
	}
	if is_gone "$agent_pid"; then
		tail -n 5 "$SHARED/agent.log"
		fail "the agent does not run: $(grep -E '^(error|warn)' "$SHARED/agent.log" | tail -n 1)"
	fi
}

# count_of SERVICE FROM TO [MORE_JSON]: its samples (on-cpu at $SAMPLE_HZ), or its microseconds of another event type.
value_since() { query_profile "$1" "$2" $(($(now_s) + 1)) "${3:-}" | jq '[.result[]? | select(.parent_node_id == "-1") | .total_value] | add // 0'; }

# Five times the default, so that a check has its samples in a fifth of the CPU time; the period is in microseconds.
readonly SAMPLE_HZ=499 PERIOD_US=2004

# has_samples_since SERVICE FROM COUNT
has_counted() { [ "$(value_since "$1" "$2")" -ge $(($3 * PERIOD_US)) ]; }

# profile_of FILE SERVICE FROM LEAST_SAMPLES NAME: waits until the profile of the service has the function NAME, then
# for that many samples of later seconds, and writes their profile to FILE. In a guest the agent has a fifth of a slow
# CPU, and needs seconds to learn the mappings of a new process. Until then the stacks of that process are cut, and
# counted as cut.
profile_of() {
	local file=$1 service=$2 from=$3 least=$4 name=$5
	is_named_since() { query_profile "$service" "$from" $(($(now_s) + 1)) | jq -r '.result[]?.profile_location_str' | grep -xF -- "$name" >/dev/null; }
	wait_until "$GUEST_DEADLINE" is_named_since || {
		query_profile "$service" "$from" $(($(now_s) + 1)) | jq -r '.result[]?.profile_location_str' | sort | uniq -c | sort -rn | head -n 20
		fail "no '$name' in the profile of '$service'"
	}
	# Count from now on, unless the program has ended.
	[ -z "${workload_pid:-}" ] || ! is_alive "$workload_pid" || from=$(($(now_s) + 1))
	wait_until "$GUEST_DEADLINE" has_counted "$service" "$from" "$least" ||
		fail "'$service' has $(value_since "$service" "$from") us since $from, not $least samples"
	fetch_profile "$file" "$service" "$from" $(($(now_s) + 1))
}

# share_with_depth FILE LABEL COUNT: in percent of all samples, those on stacks with at least COUNT frames LABEL.
share_with_depth() {
	jq -r --arg wanted "$2" --argjson count "$3" '
		reduce .result[] as $n ({ depth: {}, deep: 0, all: 0 };
			((.depth[$n.parent_node_id] // 0) + (if $n.profile_location_str == $wanted then 1 else 0 end)) as $d
			| .depth[$n.node_id] = $d
			| .all += $n.self_value
			| if $d >= $count then .deep += $n.self_value else . end)
		| if .all > 0 then 100 * .deep / .all else 0 end' "$1"
}

report_is_newer() { [ "$(stat -c '%Y %i' "$agent_metrics")" != "$1" ]; }

# take_report FILE: waits for the agent's next report, and copies it to FILE.
take_report() {
	local before
	before=$(stat -c '%Y %i' "$agent_metrics")
	expect_within "$GUEST_DEADLINE" report_is_newer "$before"
	cp "$agent_metrics" "$1"
}

# metric_in REPORT METRIC
metric_in() { agent_metrics=$1 agent_metric "$2"; }

# expect_outcomes_add_up REPORT...: in each report the outcomes of ticks add up to the expected periods.
expect_outcomes_add_up() {
	local report
	for report in "$@"; do
		expect_equal "sum of the outcomes in ${report##*/}" "$(metric_in "$report" ticks_total)" \
			"$(metric_in "$report" ticks_expected_total)"
	done
}
