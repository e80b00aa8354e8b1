#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Three programs have the same build-ID and different code. Two of them belong to a user and run first. Each gets its own
# unwind table and its own names. For the server, the program that only root can write has the build-ID.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq gcc

build_id=5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed

# program NAME FRAME_BYTES: no frame pointers, and another frame size, so that the other unwind tables are wrong for it.
program() {
	cat >"$work/$1.c" <<C
volatile unsigned long sum;
static __attribute__((noinline)) void work_of_$1(unsigned long n)
{
	volatile char room[$2];
	for (unsigned long i = 0; i < n; i++)
		sum += i * $2 + room[i % $2];
}
static __attribute__((noinline)) void middle_of_$1(unsigned long n)
{
	volatile char room[3 * $2];
	room[0] = 1;
	work_of_$1(n + room[0]);
	room[1] = 2;
}
int main(void)
{
	for (;;)
		middle_of_$1(1000000);
}
C
	gcc -O1 -fomit-frame-pointer -fno-inline "-Wl,--build-id=0x$build_id" -o "$work/$1" "$work/$1.c"
}
program forged 48
program twin 400
program real 1072
chmod 0777 "$work/forged" "$work/twin"
chmod 0755 "$work/real"

start_server
start_agent --on_cpu.frequency 397

# The forged program has been running for some time when the others start.
start_background forged "$work/forged"
wait_for_name work_of_forged forged "$(now_s)" $(($(now_s) + 60))
start_background twin "$work/twin"
start_background real "$work/real"
for name in twin real; do
	wait_for_name "work_of_$name" "$name" "$(now_s)" $(($(now_s) + 60))
done

next_second
from=$second
wait_for_coverage $((from + 4))
for name in forged twin real; do
	fetch_profile "$work/$name.json" "$name" "$from" $((from + 3))
	expect_at_least "percent of $name below its main" "$(share_of "$work/$name.json" main)" 95
	expect_at_least "percent of $name in its middle function" "$(share_of "$work/$name.json" "middle_of_$name")" 95
	expect_at_least "percent of $name in its work function" "$(share_of "$work/$name.json" "work_of_$name")" 95
	for other in forged twin real; do
		[ "$other" = "$name" ] || expect_no_label "$work/$name.json" "_of_$other"
	done
done
expect_at_least "build-ID conflicts counted" "$(agent_metric build_id_conflicts_total)" 2
expect_equal "conflicts logged" "$(grep -c 'has the build-ID' "$work/agent.log")" 1

# For the server, the build-ID is that of the file that only root can write, although the forged file was looked up first.
request GET "/v1/debuginfo"
say "debuginfo: $(jq -c '[.debuginfo[] | select(.build_id | startswith("text-") or startswith("5eed"))
	| {build_id, origin}]' "$work/body")"
[ "$(jq '[.debuginfo[] | select(.build_id | startswith("text-"))] | length' "$work/body")" -ge 1 ] ||
	fail "the twin has no separate identity"
