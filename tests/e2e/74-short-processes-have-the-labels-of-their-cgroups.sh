#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Processes of 30 ms in two containers at once, and some that move from one container to the other before execve(). Each
# has the container in which it ran, although the agent reads the labels of a container only once.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

# The cgroup hierarchy for the test's groups: version 2, alone or beside version 1.
cgroups=
for folder in /sys/fs/cgroup /sys/fs/cgroup/unified; do
	[ ! -e "$folder/cgroup.controllers" ] || cgroups=$folder
done
[ -n "$cgroups" ] || skip "needs cgroups of version 2"

id_a=$(printf 'a%.0s' {1..64}) id_b=$(printf 'b%.0s' {1..64})
for id in "$id_a" "$id_b"; do
	mkdir "$cgroups/$id" 2>/dev/null || [ -d "$cgroups/$id" ] || skip "cgroups cannot be made here"
	at_exit+=("rmdir '$cgroups/$id'")
done

for name in in_a in_b moved_to_b; do
	cp "$(command -v dash || command -v sh)" "$work/$name"
done
# shellcheck disable=SC2016 # the started shells expand the variables
readonly BURN='i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'

# in_container ID SCRIPT: runs SCRIPT in the container repeatedly, as long as $work/running exists.
in_container() {
	start_background "in-$1" sh -c 'echo $$ >"$0/cgroup.procs"; while [ -e "$1" ]; do sh -c "$2" "$3" "$4" "$5"; done' \
		"$cgroups/$1" "$work/running" "$2" "$work" "$cgroups/$id_b" "$BURN"
}

start_server
start_agent
touch "$work/running"
# shellcheck disable=SC2016
in_container "$id_a" 'exec "$0/in_a" -c "$2"'
pid_a=$background_pid
# shellcheck disable=SC2016
in_container "$id_b" 'exec "$0/in_b" -c "$2"'
pid_b=$background_pid
# shellcheck disable=SC2016
in_container "$id_a" 'echo $$ >"$1/cgroup.procs"; exec "$0/moved_to_b" -c "$2"'
pid_m=$background_pid
sleep_until $(($(now_s) + 3))
next_second
from=$second
sleep_until $((from + 10))
wait_for_coverage $((from + 10))
rm "$work/running"
for pid in "$pid_a" "$pid_b" "$pid_m"; do
	expect_within 20s has_ended "$pid"
done

# total SERVICE [CONTAINER]: prints the total, optionally of one container
total() {
	local more='{}'
	[ $# -lt 2 ] || more=$(jq -nc --arg id "$2" '{ tag_filter: "container_id = \u0027\($id)\u0027" }')
	query_profile "$1" "$from" $((from + 9)) "$more" >"$work/$1.json"
	total_of "$work/$1.json"
}

for name in in_a:"$id_a" in_b:"$id_b" moved_to_b:"$id_b"; do
	all=$(total "${name%:*}")
	expect_at_least "us of ${name%:*}" "$all" 500000
	expect_equal "us of these in its container" "$(total "${name%:*}" "${name#*:}")" "$all"
done
