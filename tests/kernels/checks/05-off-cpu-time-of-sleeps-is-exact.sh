#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Off-CPU time agrees with the time that a program measures around its own waits, on the stack that waited.
. /hearth/tests/kernels/guest/lib.sh

use_server
use_agent
if lacks copy-from-user-task; then
	grep -F 'lacks copy-from-user-task' "$SHARED/agent.log" || fail "the agent does not log what off-CPU profiles lack on this kernel"
fi
fetch_waits() { take_profile "$work/waits.folded" off_cpu_waits "$from" --event off-cpu; }

# In a guest the agent needs up to half a second for a new executable; until then its stacks are cut.
from=$(now_s)
is_known() { "$workloads/off_cpu_waits" 1 asleep >"$work/truth" && fetch_waits && [ "$(value_of "$work/waits.folded" wait_in_nanosleep)" -gt 0 ]; }
expect_within "$GUEST_DEADLINE" is_known

# Few waits, so that each has a stack: an emulated CPU needs up to 75 us for one. If stacks are thinned, the waits without a
# stack that a thread has not yet reported when it ends are lost (docs/off-cpu.md); here these are up to 200 ms in 10 s.
from=$(($(now_s) + 1))
sleep_until "$from"
"$workloads/off_cpu_waits" 10 asleep >"$work/truth"
slept_us=$(awk '$1 == "wait_in_nanosleep" { print $3 }' "$work/truth")
slept_count=$(awk '$1 == "wait_in_nanosleep" { print $2 }' "$work/truth")
expect_at_least "sleeps" "$slept_count" 50

# The server stores each batch as a whole and in order: a sample of a later second shows that it has all waits.
to=$(now_s)
sleep_until $((to + 3))
host_is_covered() { take_profile "$work/later.folded" Total $((to + 2)) && [ "$(total_of "$work/later.folded")" -gt 0 ]; }
expect_within "$GUEST_DEADLINE" host_is_covered
fetch_waits
expect_near "waits of the thread, in microseconds" "$(value_of "$work/waits.folded" "[t] in_nanosleep")" "$slept_us" $((slept_us / 50))
expect_near "wait_in_nanosleep, in microseconds" "$(value_of "$work/waits.folded" wait_in_nanosleep)" "$slept_us" $((slept_us / 20))
kernel_names_are_there() { fetch_waits && labels_of "$work/waits.folded" | grep -xE '\[k\] (hrtimer_nanosleep|do_nanosleep)' >/dev/null; }
wait_until "$GUEST_DEADLINE" kernel_names_are_there || fail "no kernel frame names the sleep: $(labels_of "$work/waits.folded" | tr '\n' '|')"
