#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The C library musl has no call frame information and no frame pointers. Stacks through its qsort() callbacks, signal
# handlers and threads are complete, in statically and in dynamically linked programs.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq musl-gcc

source=$e2e_root/tests/workloads/through_libc.c
musl-gcc -O2 -fomit-frame-pointer -o "$work/musl_dynamic" "$source"
musl-gcc -O2 -fomit-frame-pointer -static -o "$work/musl_static" "$source"

start_server
start_agent --on_cpu.frequency 397
for program in musl_static musl_dynamic; do
	start_background $program "$work/$program" 120
	pid=$background_pid
	is_named() { query_profile "$@" | jq -r '.result[]?.profile_location_str' | grep -x 'in_comparison' >/dev/null; }
	expect_within 90s is_named $program "$(now_s)" $(($(now_s) + 90))
	next_second
	from=$second
	sleep_until $((from + 3))
	wait_for_coverage $((from + 3))
	end_process "$pid"
	fetch_profile "$work/$program.json" $program "$from" $((from + 2))
	for label in in_comparison in_handler in_main; do
		expect_at_least "$program: percent of $label" "$(share_of "$work/$program.json" $label)" 5
	done
	start=$(share_of "$work/$program.json" _start)
	# The shared musl does not export __clone, so the thread's frames in it have no name. For musl_dynamic the share of
	# in_thread is checked instead.
	thread=$(share_of "$work/$program.json" in_thread)
	main=$(share_of "$work/$program.json" main)
	expect_near "$program: percent below _start, compared with those below main" "$start" "$main" 2
	expect_at_least "$program: percent in main and in the thread" "$(awk -v a="$main" -v b="$thread" 'BEGIN { print a + b }')" 97
	[ $program = musl_dynamic ] ||
		expect_near "$program: percent below __clone, compared with those in the thread" \
			"$(share_of "$work/$program.json" __clone)" "$thread" 2
done
