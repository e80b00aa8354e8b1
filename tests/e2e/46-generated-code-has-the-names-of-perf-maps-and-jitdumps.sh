#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Programs spend 60, 30 and 10 % of their time in generated code. One describes it in a perf map, one in a jitdump: their
# functions have names, and so have their callers in generated code and in C. A program that ends after 200 ms has names
# too, from the map that it leaves, and so has a program in other namespaces, with another PID and another /tmp. Code
# without a map, and with a map that is a symbolic link, a FIFO or the file of another user, has no name.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq unshare
need_workload jit_shares

# run NAME MODE FOLDER MILLISECONDS: runs the program under a name that no other test uses.
run() {
	cp "$workloads/jit_shares" "$work/$1"
	start_background "workload-$1" "$work/$1" "$2" "$3" "$4"
	programs+=("$background_pid")
	at_exit+=("rm -f -- /tmp/perf-$background_pid.map")
}

# Runs the program in its own PID and mount namespaces, with an empty /tmp, to which it is copied.
run_contained() {
	# shellcheck disable=SC2016 # the variables are those of the inner shell
	start_background workload-jit_inner unshare --pid --fork --mount --mount-proc bash -c '
		exec 9<"$0" && mount -t tmpfs tmpfs /tmp && cat <&9 >/tmp/jit_inner && chmod +x /tmp/jit_inner &&
			exec /tmp/jit_inner map /tmp 1000' "$workloads/jit_shares"
	programs+=("$background_pid")
}

# run_with_file NAME: starts a program that waits for a line in NAME.go, and makes a file in place of its map.
run_with_file() {
	cp "$workloads/jit_shares" "$work/$1"
	mkfifo "$work/$1.go"
	# shellcheck disable=SC2016 # the variables are those of the inner shell
	start_background "workload-$1" bash -c 'read -r _ <"$1" && exec "$0" none /tmp 300' "$work/$1" "$work/$1.go"
	programs+=("$background_pid")
	at_exit+=("rm -f -- /tmp/perf-$background_pid.map")
	"make_$1" "/tmp/perf-$background_pid.map"
}

make_jit_link() {
	printf '%s\n' '1000 ffffff linked' >"$work/target.map"
	ln -s "$work/target.map" "$1"
}

make_jit_fifo() { mkfifo "$1"; }

make_jit_other() {
	awk 'BEGIN { for (i = 1; i < 32768; i++) printf "%x00000000 fffffff other\n", i }' >"$1"
	chown 12345 "$1"
}

have_ended() {
	local pid
	for pid in "${programs[@]}"; do
		has_ended "$pid" || return 1
	done
}

programs=()
refused=(jit_link jit_fifo jit_other)
start_server
start_agent --on_cpu.frequency 997
next_second
from=$second
sleep_until "$from"
run jit_map map /tmp 4000
run jit_dump dump "$work" 4000
run jit_none none /tmp 300
run jit_short map /tmp 200
run_contained
for name in "${refused[@]}"; do
	run_with_file "$name"
	echo >"$work/$name.go"
done
expect_within 60s have_ended
next_second
to=$second
start_workload shares 60
wait_for_coverage "$((to + 1))"
end_process "$workload_pid"

# fetch NAME: the profile without kernel frames, and the share of each label.
fetch() {
	fetch_profile "$work/$1.json" "$1" "$from" "$to" '{"max_kernel_stack_depth": 0}'
	jq -r '.result[0].total_value as $total | .result | group_by(.profile_location_str)[]
		| "\(100 * (map(.total_value) | add) / $total) \(.[0].profile_location_str)"' "$work/$1.json" >"$work/$1.shares"
}

# share NAME LABEL: in percent; no function here calls itself.
share() { awk -v label="$2" '{ share = $1; sub(/^[^ ]* /, "") } $0 == label { printf "%.2f\n", share; found = 1 } END { if (!found) print 0 }' "$work/$1.shares"; }

for name in jit_map jit_dump jit_short jit_inner; do
	wait_for_name run_generated $name "$from" "$to"
	fetch $name
	hot=hot warm=warm cold=cold
	# The names of scripts have the file.
	[ $name = jit_dump ] || hot='hot (shop.js:12)' warm=com.example.Shop.warm cold='cold (shop.py)'
	# The rest is the start of the program, and its reading of the clock.
	expect_at_least "$name: share of run_generated()" "$(share $name run_generated)" 80
	expect_near "$name: share of the generated caller" "$(share $name generated_caller)" "$(share $name run_generated)" 3
	expect_equal "$name: below the generated caller" "$(children_of "$work/$name.json" generated_caller | LC_ALL=C sort | tr '\n' ' ')" \
		"$(printf '%s\n' "$hot" "$warm" "$cold" | LC_ALL=C sort | tr '\n' ' ')"
	expect_equal "$name: share of older code" "$(share $name older_code)" 0
	[ $name = jit_map ] || [ $name = jit_dump ] || continue
	# 4000 ticks: the standard deviation of a share of 60 % is 0.8 %.
	expect_near "$name: share of hot" "$(share $name "$hot")" 60 3.5
	expect_near "$name: share of warm" "$(share $name "$warm")" 30 3.5
	expect_near "$name: share of cold" "$(share $name "$cold")" 10 3.5
done

for name in jit_none "${refused[@]}"; do
	fetch $name
	grep -F ' [unknown] 0x' "$work/$name.shares" >/dev/null || fail "the generated code of $name has a name"
	expect_equal "$name: names of a file that must not be read" "$(share $name other) $(share $name linked)" "0 0"
done
expect_at_least "maps that were refused" "$(agent_metric jit_files_refused_total)" 3
