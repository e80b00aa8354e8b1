#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# On a host with cgroup versions 1 and 2 (hybrid), a container's group is only in the hierarchies of version 1; the line
# "0::" of version 2 has "/". The profile of a program in the container has the container's ID.
. /hearth/tests/kernels/guest/lib.sh

readonly ID=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef

use_server
use_agent
mkdir -p "$work/systemd" "$work/pids"
mount -t cgroup -o none,name=systemd cgroup "$work/systemd" || skip "this kernel has no cgroup version 1"
at_exit+=("umount $work/systemd")
mount -t cgroup -o pids cgroup "$work/pids" || skip "the pids controller cannot be used in cgroup version 1"
at_exit+=("umount $work/pids")
mkdir "$work/systemd/system.slice" "$work/systemd/system.slice/docker.service" "$work/pids/docker" "$work/pids/docker/$ID"

from=$(now_s)
start_background workload-syscalls bash -c 'echo $$ >"$1/systemd/system.slice/docker.service/cgroup.procs"
	echo $$ >"$1/pids/docker/$2/cgroup.procs"; cat /proc/self/cgroup; exec "$3" 600' _ "$work" "$ID" "$workloads/syscalls"
pid=$background_pid
is_in_container() { grep -q "pids:/docker/$ID" "/proc/$pid/cgroup"; }
expect_within "$GUEST_DEADLINE" is_in_container
expect_equal "group of version 2" "$(sed -n 's/^0:://p' "/proc/$pid/cgroup")" /
has_label() {
	take_profile "$work/container.folded" syscalls "$from" --filter "container_id = '$ID'"
	[ "$(total_of "$work/container.folded")" -gt 0 ]
}
wait_until "$GUEST_DEADLINE" has_label || fail "no profile has container_id = $ID"
say "samples: $(($(total_of "$work/container.folded") / PERIOD_US))"
