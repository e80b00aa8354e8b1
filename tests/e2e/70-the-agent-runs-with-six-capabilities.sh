#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The documented capabilities are sufficient, for an ordinary user and for root, and each is necessary: without it one line
# of the log names it. The agent drops the capabilities that it does not need.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq setpriv

# The capabilities that the agent keeps, and what it does without each: `refuses` to start, or `warns`.
readonly CAPABILITIES=(bpf perfmon sys_ptrace dac_read_search checkpoint_restore syslog)
declare -rA WITHOUT=([bpf]=refuses [perfmon]=refuses [sys_ptrace]=refuses [dac_read_search]=warns
	[checkpoint_restore]=warns [syslog]=warns)

# Bits of linux/capability.h: 2 dac_read_search, 19 sys_ptrace, 34 syslog, 38 perfmon, 39 bpf, 40 checkpoint_restore.
readonly KEPT_MASK=000001c400080004

# The user nobody cannot read the build folder, nor the private folder of a test.
user=$(id -u nobody)
chmod 755 "$work"
mkdir "$work/bin"
cp "$HEARTH_BUILD/bin/hearth-agent" "$work/bin/"

for capability in "${CAPABILITIES[@]}"; do
	setpriv --bounding-set "-all,+$capability" true 2>/dev/null || skip "this machine lacks CAP_${capability^^}"
done

# start_limited WHO CAPABILITIES [ARGUMENT...]: starts the agent as `root` with only these capabilities ("+a,+b") in its
# bounding set, or as `nobody` with them as ambient capabilities. Sets $limited_pid and $limited_metrics; writes the output
# to $work/limited.log.
start_limited() {
	local who=$1 set=-all,$2 command
	shift 2
	case $who in
	root) command=(setpriv --inh-caps -all --ambient-caps -all --bounding-set "$set") ;;
	nobody)
		command=(setpriv --reuid "$user" --regid "$user" --clear-groups --inh-caps "$set" --ambient-caps "$set"
			--bounding-set "$set")
		;;
	esac
	rm -rf "$work/user" "$work/limited.log"
	# Without CAP_DAC_OVERRIDE even root can write only to its own folders.
	install -d -o "$who" "$work/user"
	limited_metrics=$work/user/metrics
	start_background limited "${command[@]}" "$work/bin/hearth-agent" --server "$server_url" \
		--spool "$work/user/spool" --unwind.cache_folder "$work/user/unwind" --metrics.file "$limited_metrics" \
		--host.name e2e-host --batch_interval 1s "$@"
	limited_pid=$background_pid
	expect_within 30s limited_reports_or_gone
}

limited_reports_or_gone() { [ -s "$limited_metrics" ] || has_ended "$limited_pid"; }

status_of() { awk -v key="$2:" '$1 == key { print $2 }' "/proc/$1/status"; }

# list_of CAPABILITY...: prints the capabilities in setpriv's format
list_of() {
	local list
	printf -v list ',+%s' "$@"
	printf '%s' "${list#,}"
}

# check_confinement: checks the capabilities, no_new_privs and seccomp mode of the running agent
check_confinement() {
	local task
	expect_equal "effective capabilities" "$(status_of "$limited_pid" CapEff)" $KEPT_MASK
	expect_equal "permitted capabilities" "$(status_of "$limited_pid" CapPrm)" $KEPT_MASK
	expect_equal "ambient capabilities" "$(status_of "$limited_pid" CapAmb)" 0000000000000000
	expect_equal "no_new_privs" "$(status_of "$limited_pid" NoNewPrivs)" 1
	for task in "/proc/$limited_pid/task"/*; do
		expect_equal "seccomp mode of $(cat "$task/comm")" "$(awk '$1 == "Seccomp:" { print $2 }' "$task/status")" 2
		case $(cat "$task/comm") in
		hearth-sender | hearth-upload)
			expect_equal "capabilities of a thread that uses the network" \
				"$(awk '$1 == "CapPrm:" { print $2 }' "$task/status")" 0000000000000000
			;;
		esac
	done
}

# check_profiles: profiles a program that every user can read, one that only root can read, and one whose file is deleted.
check_profiles() {
	local from pid program
	cp "$workloads/shares" "$work/owner_only"
	chmod 700 "$work/owner_only"
	cp "$workloads/shares" "$work/deleted"
	for program in "$workloads/syscalls" "$work/owner_only" "$work/deleted"; do
		start_background "workload-${program##*/}" "$program" 60
	done
	pid=$background_pid
	wait_until 10s test -r "/proc/$pid/maps"
	wait_until 10s grep -q deleted "/proc/$pid/maps" || fail "the program does not run"
	rm "$work/deleted"
	next_second
	from=$((second + 2))
	wait_for_coverage $((from + 4))
	wait_for_name read_zeros syscalls "$from" $((from + 3))
	wait_for_name '[k] ksys_read' syscalls "$from" $((from + 3))
	wait_for_name work_a owner_only "$from" $((from + 3))
	wait_for_name work_a deleted "$from" $((from + 3))
	end_process "$pid"
}

start_server

# ---- all documented capabilities are sufficient
start_limited nobody "$(list_of "${CAPABILITIES[@]}")" --off_cpu.disabled=false
! has_ended "$limited_pid" || fail "the agent does not run as nobody with all capabilities"
expect_equal "lines about capabilities" "$(grep -c CAP_ "$work/limited.log" || true)" 0
check_confinement
check_profiles
kill -HUP "$limited_pid"
expect_within 10s grep -q 'configuration reloaded' "$work/limited.log"
end_process "$limited_pid"
expect_equal "exit status" "$(wait "$limited_pid" 2>/dev/null; echo $?)" 0

start_limited root "$(list_of "${CAPABILITIES[@]}")"
! has_ended "$limited_pid" || fail "the agent does not run as root with all capabilities"
check_confinement
end_process "$limited_pid"

# ---- root with all capabilities of this machine drops the others
start_agent
limited_pid=$agent_pid
check_confinement
stop_agent

# ---- each capability is necessary
for missing in "${CAPABILITIES[@]}"; do
	left=()
	for capability in "${CAPABILITIES[@]}"; do
		[ "$capability" = "$missing" ] || left+=("$capability")
	done
	for who in nobody root; do
		# With perf_event_paranoid above 1, the default outside of development hosts, kernel addresses need CAP_SYSLOG.
		if [ "$missing" = syslog ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 2 ]; then
			continue
		fi
		start_limited $who "$(list_of "${left[@]}")"
		say "$who without CAP_${missing^^}: $(grep "CAP_${missing^^} is missing" "$work/limited.log")"
		expect_equal "lines that name CAP_${missing^^}" "$(grep -c "CAP_${missing^^} is missing: " "$work/limited.log")" 1
		expect_equal "lines that name another capability" "$(grep 'is missing: ' "$work/limited.log" | grep -vc "CAP_${missing^^} is" || true)" 0
		case ${WITHOUT[$missing]} in
		refuses)
			has_ended "$limited_pid" || fail "the agent runs without CAP_${missing^^}"
			expect_equal "lines in the log" "$(wc -l <"$work/limited.log")" 1
			;;
		warns) ! has_ended "$limited_pid" || fail "the agent does not run without CAP_${missing^^}" ;;
		esac
		end_process "$limited_pid"
	done
done

# ---- the remedy in the message works: file capabilities
setcap=$(command -v setcap || true)
if [ -n "$setcap" ]; then
	command=$(sed -n "s/.*or run 'setcap \([^ ]*\) .*'\$/\1/p" "$work/limited.log" | head -n 1)
	"$setcap" "$command" "$work/bin/hearth-agent" || fail "the message's setcap does not work: '$command'"
	rm -rf "$work/user"
	install -d -o "$user" "$work/user"
	start_background by_file setpriv --reuid "$user" --regid "$user" --clear-groups "$work/bin/hearth-agent" \
		--server "$server_url" --spool "$work/user/spool" --unwind.cache_folder "$work/user/unwind" \
		--metrics.file "$work/user/metrics" --batch_interval 1s
	limited_pid=$background_pid
	limited_metrics=$work/user/metrics
	expect_within 30s limited_reports_or_gone
	! has_ended "$limited_pid" || fail "the agent does not run with its file's capabilities"
	check_confinement
fi

# ---- in a user namespace the agent does not start, because its capabilities do not apply to the host
result=0
timeout 20 unshare --user --map-root-user "$work/bin/hearth-agent" --server http://127.0.0.1:9 --spool "$work/none" \
	>"$work/namespace.log" 2>&1 || result=$?
expect_equal "exit status in a user namespace" $result 1
grep -F "not in the host's user namespace" "$work/namespace.log" || fail "the message does not name the user namespace"
