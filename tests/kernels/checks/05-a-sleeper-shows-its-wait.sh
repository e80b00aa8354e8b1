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
from=$(now_s)
"$workloads/off_cpu_waits" 10 >"$work/truth"
slept_us=$(awk '$1 == "wait_in_nanosleep" { print $3 }' "$work/truth")
slept_count=$(awk '$1 == "wait_in_nanosleep" { print $2 }' "$work/truth")
expect_at_least "sleeps" "$slept_count" 50

fetch_waits() { take_profile "$work/waits.folded" off_cpu_waits "$from" --event off-cpu; }
all_is_there() {
	fetch_waits
	[ "$(value_of "$work/waits.folded" wait_in_nanosleep)" -ge $((slept_us - slept_us / 20)) ]
}
wait_until "$GUEST_DEADLINE" all_is_there || fail "wait_in_nanosleep has $(value_of "$work/waits.folded" wait_in_nanosleep) us of $slept_us"
expect_near "wait_in_nanosleep, in microseconds" "$(value_of "$work/waits.folded" wait_in_nanosleep)" "$slept_us" $((slept_us / 20))
kernel_names_are_there() { fetch_waits && labels_of "$work/waits.folded" | grep -xE '\[k\] (hrtimer_nanosleep|do_nanosleep)' >/dev/null; }
wait_until "$GUEST_DEADLINE" kernel_names_are_there || fail "no kernel frame names the sleep: $(labels_of "$work/waits.folded" | tr '\n' '|')"
