#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Off-CPU profiles: the time of sleeps, locks, conditions, pipes and disk reads agrees with the program's own measurement,
# in microseconds, and kernel frames name the reason. The waits of a thread that moves to another CPU meanwhile are
# included. If off-CPU profiling is disabled, none of its BPF programs is loaded.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq bpftool

readonly WINDOW_S=10 OFF_CPU='{"profile_event_type": "off-cpu"}'

# agent_programs: "id name" of each BPF program that the agent holds.
agent_programs() {
	local id
	for id in $(sed -n 's/^prog_id:[[:space:]]*//p' /proc/"$agent_pid"/fdinfo/* 2>/dev/null | sort -un); do
		bpftool -j prog show id "$id" | jq -r '"\(.id) \(.name)"'
	done
}

start_server
need_workload off_cpu_waits
need_workload stuck

start_agent --off_cpu.disabled=false --off_cpu.cpu 1
dd if=/dev/urandom of="$work/disk" bs=1M count=16 conv=fsync status=none
# On tmpfs no read goes past the page cache.
disk=$work/disk
dd if="$disk" of=/dev/null bs=1M count=1 iflag=direct status=none 2>/dev/null || disk=

from=$(now_s)
"$workloads/off_cpu_waits" $WINDOW_S ${disk:+"$disk"} >"$work/truth" &
started_pids+=($!)
waits_pid=$!
"$workloads/stuck" migrate $WINDOW_S >"$work/moved" &
started_pids+=($!)
wait $!
wait "$waits_pid"
to=$(($(now_s) + 1))
wait_for_coverage $((to + 1))
wait_for_name wait_for_pipe off_cpu_waits "$from" "$to" "$OFF_CPU"
wait_for_name '[k] hrtimer_nanosleep' off_cpu_waits "$from" "$to" "$OFF_CPU"
fetch_profile "$work/waits.json" off_cpu_waits "$from" "$to" "$OFF_CPU"

while read -r function count waited_us; do
	expect_at_least "$function: waits" "$count" 10
	expect_near "$function, in microseconds" "$(value_of "$work/waits.json" "$function")" "$waited_us" $((waited_us / 50))
done <"$work/truth"
[ -n "$disk" ] || say "$work is not on a disk: disk reads were not checked"

# below FUNCTION: all labels below it.
below() {
	jq -r --arg wanted "$1" '
		(.result | INDEX(.node_id)) as $nodes
		| .result[] | select([recurse($nodes[.parent_node_id] // empty) | .profile_location_str] | index([$wanted]))
			| .profile_location_str' "$work/waits.json" | sort -u
}
expect_below() { below "$1" | grep -xE -- "\\[k\\] $2" >/dev/null || fail "no '$2' below $1: $(below "$1" | tr '\n' '|')"; }
expect_below wait_in_nanosleep hrtimer_nanosleep
expect_below wait_for_mutex futex_wait
expect_below wait_for_condition futex_wait
expect_below wait_for_pipe '(anon_)?pipe_read'
[ -z "$disk" ] || expect_below wait_for_disk '.*(dio|direct).*'
# The leaf is the kernel function that waits, not a function of the tracing.
expect_equal "leaves" "$(jq -r '.result as $all | ($all | map(.parent_node_id)) as $parents
	| [$all[] | select(.node_id as $id | $parents | index([$id]) | not) | .profile_location_str] | unique | join(" ")' \
	"$work/waits.json")" "[k] __schedule"

# ---- threads that move to another CPU while they wait
read -r moves waited_us <"$work/moved"
fetch_profile "$work/moved.json" stuck "$from" "$to" "$OFF_CPU"
if [ "$(nproc)" -ge 2 ]; then
	expect_at_least "wake-ups on another CPU than the thread had left" "$moves" 500
fi
expect_near "time of waits across CPUs" "$(value_of "$work/moved.json" wait_for_move)" "$waited_us" $((waited_us / 50))
fetch_profile "$work/cpus.json" stuck "$from" "$to" '{"profile_event_type": "off-cpu", "group_by": "cpu"}'
say "CPUs on which waits began: $(children_of "$work/cpus.json" stuck | tr '\n' ' ')"
[ "$(nproc)" -lt 2 ] || expect_equal "CPUs on which waits began" "$(children_of "$work/cpus.json" stuck | wc -l)" 2

expect_equal "waits lost" "$(agent_metric off_cpu_lost_total)" 0
expect_equal "stacks lost" "$(agent_metric stacks_lost_total)" 0

# ---- disabled, the default: the agent loads no program at context switches
stop_agent
rm -f "$agent_metrics"
start_agent
agent_programs >"$work/programs"
grep -q hearth_on_cpu_tick "$work/programs" || fail "the agent's programs are not listed: $(tr '\n' ' ' <"$work/programs")"
! grep -E 'hearth_on_switch|hearth_on_thread|hearth_walk' "$work/programs" || fail "off-CPU programs are loaded though disabled"
