#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The stack of a signal handler continues in the interrupted code. The handler is called by raise(), on a separate stack,
# and by a timer at any instruction of a program that spends its time in prologues, epilogues and the C library.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/known_stacks.sh"

sample_programs unwound:signal unwound:altstack unwound:interrupt

end='main;libc;_start'
for mode in signal altstack; do
	expect_stacks unwound:$mode --leaf leaf_a --leaf leaf_b --share 70 \
		--stacks "(leaf_a;handler;libc|leaf_b);run_signal;$end"
done
expect_stacks unwound:interrupt --leaf leaf_a \
	--stacks "leaf_a;handler;libc;(\[vdso\];|\?;|libc;)*(small_step;)?(run_interrupt;)?$end"
