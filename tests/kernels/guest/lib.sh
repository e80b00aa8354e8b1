# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Functions for checks that run inside a guest: those of tests/e2e/lib.sh, and one server and one agent for all checks of a
# boot. QEMU translates each instruction, ten to thirty times slower than a CPU runs it: checks wait for a number of
# samples, never for seconds, and deadlines are minutes. Checks read profiles with `hearth flame --folded` and awk, because
# curl and jq, which tests/e2e/lib.sh uses, take seconds to start in a guest and are not installed.
export HEARTH_BUILD=/hearth/build TMPDIR=/run
# Each query takes seconds of the guest's only CPU. Programs with a lower priority would not run at all beside queries.
export HEARTH_TEST_NICE=0
. /hearth/tests/e2e/lib.sh

readonly SHARED=/run/hearth GUEST_DEADLINE=300s
server_url=http://127.0.0.1:20416
agent_metrics=$SHARED/agent.metrics
mkdir -p "$SHARED"

# wait_until DEADLINE COMMAND...: as in tests/e2e/lib.sh, but runs COMMAND every 2 s only, because a query to the server
# takes much of a guest's CPU. A clock that counts instructions (tests/kernels/lib.sh) skips the pauses.
wait_until() {
	local deadline=$((SECONDS + ${1%s}))
	shift
	until "$@"; do
		[ $SECONDS -lt $deadline ] || return 1
		pause 2
	done
}

server_is_ready() {
	local answer=
	{
		printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3
		read -rt 60 answer <&3
	} 3<>"/dev/tcp/127.0.0.1/${server_url##*:}" 2>/dev/null || return 1
	[[ $answer == HTTP/1.?" 200 "* ]]
}

# lacks FEATURE: kernels.txt lists FEATURE as missing on this kernel.
lacks() { [[ ,$HEARTH_LACKS, == *",$1,"* ]]; }

# detach NAME COMMAND...: starts a command that keeps running after this check. Writes its output to $SHARED/NAME.log, and
# its exit status to $SHARED/NAME.status when it ends.
detach() {
	local name=$1
	rm -f "$SHARED/$name.pid" "$SHARED/$name.status"
	setsid bash -c 'files=$1; shift; "$@" & echo $! >"$files.pid"; wait $!; echo $? >"$files.status"' _ "$SHARED/$name" \
		"${@:2}" >>"$SHARED/$name.log" 2>&1 </dev/null &
	wait_until 60s test -s "$SHARED/$name.pid"
}

shared_pid() { cat "$SHARED/$1.pid"; }

# use_server: starts the server of this boot unless it is running.
use_server() {
	if ! { [ -s "$SHARED/server.pid" ] && is_alive "$(shared_pid server)"; }; then
		detach server "$HEARTH_BUILD/bin/hearth-symbolizer" --listen 127.0.0.1:20416 --data "$SHARED/data"
	fi
	expect_within "$GUEST_DEADLINE" server_is_ready
}

# use_agent: starts the agent of this boot, with all features enabled, unless it is running.
use_agent() {
	if ! { [ -s "$SHARED/agent.pid" ] && is_alive "$(shared_pid agent)"; }; then
		rm -f "$agent_metrics"
		detach agent "$HEARTH_BUILD/bin/hearth-agent" --server "$server_url" --spool "$SHARED/spool" \
			--unwind.cache_folder "$SHARED/unwind" --metrics.file "$agent_metrics" --host.name guest \
			--off_cpu.disabled=false --on_cpu.frequency "$SAMPLE_HZ" --batch_interval 2s "$@"
	fi
	agent_pid=$(shared_pid agent)
	wait_until "$GUEST_DEADLINE" agent_reports_or_ended || {
		tail -n 20 "$SHARED/agent.log"
		fail "the agent writes no report"
	}
	if has_ended "$agent_pid"; then
		tail -n 5 "$SHARED/agent.log"
		fail "the agent has ended: $(grep -E '^(error|warn)' "$SHARED/agent.log" | tail -n 1)"
	fi
}

# Five times the default frequency: a check has enough samples in a fifth of the CPU time. The period is in microseconds.
readonly SAMPLE_HZ=499 PERIOD_US=2004

# take_profile FILE SERVICE FROM [OPTION...]: writes the service's profile since FROM (unix seconds) to FILE, as lines
# "root;caller;callee microseconds". OPTIONs are those of `hearth flame`. FILE is empty if there is no data.
take_profile() {
	local status=0
	"$hearth" flame --server "$server_url" --folded --service "$2" --since "$3" --until $(($(now_s) + 1)) "${@:4}" \
		>"$1" 2>"$work/hearth.log" || status=$?
	[ $status = 0 ] || [ $status = 3 ] || fail "hearth flame: exit status $status"
}

# The functions of tests/e2e/lib.sh for such a FILE.
total_of() { awk '{ sum += $NF } END { printf "%.0f\n", sum }' "$1"; }

value_of() {
	awk -v wanted=";$2;" '{ value = $NF; sub(/ [0-9]+$/, "") }
		index(";" $0 ";", wanted) { sum += value } END { printf "%.0f\n", sum }' "$1"
}

labels_of() { sed 's/ [0-9]*$//' "$1" | tr ';' '\n' | sort -u; }

show_profiles() {
	local file
	for file in "$work"/*.folded; do
		[ -s "$file" ] || continue
		printf -- '---- %s: microseconds, stack\n' "${file##*/}"
		awk '{ value = $NF; sub(/ [0-9]+$/, ""); print value "\t" $0 }' "$file" | sort -rn | cut -c 1-300 | head -n 25
	done
}

# share_with_depth FILE LABEL COUNT: share of the time, in percent, on stacks with at least COUNT frames LABEL.
share_with_depth() {
	awk -v wanted="$2" -v least="$3" '{
			value = $NF; sub(/ [0-9]+$/, "")
			depth = 0
			for (i = split($0, frames, ";"); i > 0; i--)
				depth += frames[i] == wanted
			all += value
			deep += depth >= least ? value : 0
		} END { printf "%.2f\n", all ? 100 * deep / all : 0 }' "$1"
}

# profile_of FILE SERVICE FROM LEAST_SAMPLES NAME: waits until the profile has the function NAME, then for LEAST_SAMPLES
# samples of later seconds, and writes their profile to FILE. In a guest it takes seconds until the agent, which gets a
# fifth of a slow CPU, knows the mappings of a new process; until then its stacks are cut. Ends the workload afterwards, so
# that the next steps have the CPU.
profile_of() {
	local file=$1 service=$2 from=$3 least=$4 name=$5
	is_named() { take_profile "$file" "$service" "$from" && [ "$(value_of "$file" "$name")" -gt 0 ]; }
	wait_until "$GUEST_DEADLINE" is_named || fail "no '$name' in the profile of '$service'"
	# If the workload still runs, use only samples from now on. If it has ended, use all of its samples.
	[ -z "${workload_pid:-}" ] || ! is_alive "$workload_pid" || from=$(($(now_s) + 1))
	has_counted() { take_profile "$file" "$service" "$from" && [ "$(total_of "$file")" -ge $((least * PERIOD_US)) ]; }
	wait_until "$GUEST_DEADLINE" has_counted ||
		fail "'$service' has $(total_of "$file") us since $from, not $least samples"
	[ -z "${workload_pid:-}" ] || end_process "$workload_pid"
	say "samples: $(($(total_of "$file") / PERIOD_US))"
}

report_is_newer() { [ "$(stat -c '%Y %i' "$agent_metrics")" != "$1" ]; }

# take_report FILE: waits for the agent's next report and copies it. All values of a report are of the same moment.
take_report() {
	local before
	before=$(stat -c '%Y %i' "$agent_metrics")
	expect_within "$GUEST_DEADLINE" report_is_newer "$before"
	cp "$agent_metrics" "$1"
}

# metric_in REPORT METRIC: value of the metric in the report
metric_in() { agent_metrics=$1 agent_metric "$2"; }

# expect_outcomes_add_up REPORT...: in each report, the expected periods are the sum of all outcomes.
expect_outcomes_add_up() {
	local report
	for report in "$@"; do
		expect_equal "sum of the outcomes in ${report##*/}" "$(metric_in "$report" ticks_total)" \
			"$(metric_in "$report" ticks_expected_total)"
	done
}
