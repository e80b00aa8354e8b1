#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# How run.sh ends when it cannot continue. Without a mirror it is skipped, with the reason in its last line. When a time
# limit ends it while its machine runs, it leaves no process and no mount.
#
#   tests/kernels/test_run.sh      uses the kernel that run.sh has in $HEARTH_KERNELS_CACHE
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly KERNEL=6.1 DEADLINE_S=120

work=$(mktemp -d)
limited_pid=
clean_up() {
	[ -z "$limited_pid" ] || kill -KILL -- "-$limited_pid" 2>/dev/null
	rm -rf -- "$work"
}
trap clean_up EXIT

within_deadline() {
	local deadline=$((SECONDS + DEADLINE_S))
	until "$@"; do
		[ $SECONDS -lt $deadline ] || kernels_fail "not within $DEADLINE_S s: $*"
		sleep 0.2
	done
}

# ---- a mirror that does not answer, and an empty cache
readonly MIRROR=http://127.0.0.1:1/debian
status=0
HEARTH_KERNELS_CACHE=$work/cache HEARTH_KERNELS_MIRROR=$MIRROR "$kernels_dir/run.sh" --ci $KERNEL >"$work/log" 2>&1 ||
	status=$?
reason=$(tail -n 1 "$work/log")
printf 'without a mirror: exit status %d, %s\n' "$status" "$reason"
[ "$status" = 77 ] || kernels_fail "without a mirror the exit status is $status, not 77"
[[ $reason == "the mirror $MIRROR does not provide "* ]] || kernels_fail "the last line does not name what is missing"

# ---- ended like timeout(1) does it: a signal to the process group
[ -e "$HEARTH_KERNELS_CACHE/$KERNEL/vmlinuz" ] || kernels_skip "no kernel $KERNEL in $HEARTH_KERNELS_CACHE"
mounts() { awk '{ print $5 }' /proc/self/mountinfo | sort; }
# members: processes of the group, except zombies. machines: QEMU processes, also those that have left the group.
members() { ps -A -o pgid=,state=,args= | awk -v group="$limited_pid" '$1 == group && $2 != "Z"'; }
machines() { ps -A -o args= | grep -F -- "-kernel $HEARTH_KERNELS_CACHE/$KERNEL/vmlinuz" | grep -vF grep; }
machine_runs() { grep -sq '^@@kernel' "$HEARTH_KERNELS_CACHE/logs/$KERNEL-command.log"; }
is_ended() { ! kill -0 "$limited_pid" 2>/dev/null; }

mounts >"$work/mounts"
rm -f "$HEARTH_KERNELS_CACHE/logs/$KERNEL-command.log"
# A busy loop, because the machine's clock skips idle time.
timeout 600 "$kernels_dir/run.sh" --command 'while :; do :; done' $KERNEL >"$work/log" 2>&1 &
limited_pid=$!
within_deadline machine_runs
members | grep -q qemu-system || kernels_fail "the machine is not in the group that timeout(1) ends: $(machines)"
kill -TERM "$limited_pid"
within_deadline is_ended
wait "$limited_pid"
printf 'left behind: %s\n' "$(members)$(machines)"
[ -z "$(members)$(machines)" ] || kernels_fail "processes are left: $(members) $(machines)"
mounts | diff "$work/mounts" - || kernels_fail "mounts are left behind"
