#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Off-CPU: the time that a program measured around its own waits, on the stack that waited.
. /hearth/tests/kernels/guest/lib.sh

use_server
use_agent
if lacks copy-from-user-task; then
	grep -F 'lacks copy-from-user-task' "$SHARED/agent.log" || fail "the agent does not say what off-CPU profiles miss here"
fi
fetch_waits() { take_profile "$work/waits.folded" off_cpu_waits "$from" --event off-cpu; }

# A file that the agent meets for the first time costs a guest up to half a second: until then stacks in it are cut.
from=$(now_s)
is_met() { "$workloads/off_cpu_waits" 1 asleep >"$work/truth" && fetch_waits && [ "$(value_of "$work/waits.folded" wait_in_nanosleep)" -gt 0 ]; }
expect_within "$GUEST_DEADLINE" is_met

# Few waits: each has a stack, for which an emulated CPU takes up to 75 us. Where stacks are thinned, the time of waits
# without one that a thread has not passed on when it ends is lost (docs/off-cpu.md), here up to 200 ms in 10 s.
from=$(($(now_s) + 1))
sleep_until "$from"
"$workloads/off_cpu_waits" 10 asleep >"$work/truth"
slept_us=$(awk '$1 == "wait_in_nanosleep" { print $3 }' "$work/truth")
slept_count=$(awk '$1 == "wait_in_nanosleep" { print $2 }' "$work/truth")
expect_at_least "sleeps" "$slept_count" 50

# What a batch holds is stored as a whole, and batches arrive in order: samples of a later second came after all waits.
to=$(now_s)
sleep_until $((to + 3))
host_is_covered() { take_profile "$work/later.folded" Total $((to + 2)) && [ "$(total_of "$work/later.folded")" -gt 0 ]; }
expect_within "$GUEST_DEADLINE" host_is_covered
fetch_waits
expect_near "waits of the thread, in microseconds" "$(value_of "$work/waits.folded" "[t] in_nanosleep")" "$slept_us" $((slept_us / 50))
expect_near "wait_in_nanosleep, in microseconds" "$(value_of "$work/waits.folded" wait_in_nanosleep)" "$slept_us" $((slept_us / 20))
kernel_names_are_there() { fetch_waits && labels_of "$work/waits.folded" | grep -xE '\[k\] (hrtimer_nanosleep|do_nanosleep)' >/dev/null; }
wait_until "$GUEST_DEADLINE" kernel_names_are_there || fail "no kernel frame names the sleep: $(labels_of "$work/waits.folded" | tr '\n' '|')"
