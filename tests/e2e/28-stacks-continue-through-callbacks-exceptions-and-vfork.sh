#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# qsort() calls back; C++ exceptions are thrown through 20 levels, with the time spent in the runtime's unwinder; the child
# of vfork() runs on its parent's stack.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/known_stacks.sh"

[ -x "$workloads/exceptions" ] || skip "needs g++ when it is built"
sample_programs unwound:qsort exceptions unwound:vfork

end='main;libc;_start'
expect_stacks unwound:qsort --leaf leaf_a --leaf leaf_b --share 70 --stacks "leaf_[ab];compare;libc;run_qsort;$end"
# When _Unwind_RaiseException has found the handler, it overwrites its own frame with the handler's registers and jumps to
# the handler. For a few instructions no unwinder can find the caller of that frame.
expect_stacks exceptions --leaf libgcc_s --whole 99 \
	--stacks "libgcc_s;(libstdc\+\+;|libc;|libgcc_s;)*((throw_one;)?level(\*[0-9]+)?;)?catch_one;$end"
expect_stacks unwound:vfork --leaf leaf_a --stacks "leaf_a;run_vfork;$end"
