/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Every wait ends in the kernel's scheduler, so that by self value a table of waits has one row,
 * __schedule. Here the scheduler's own frames give their self value to the function that called
 * them, as the column WCHAN of ps(1) has it: futex_do_wait, do_epoll_wait, pipe_read.
 */

#include "symbolizer/cli/profile/call_tree.h"

/* Of off-CPU and run-queue profiles. Totals stay as they are, and so does the sum of self values.
 */
void scheduler_frames_charge_callers(struct call_tree *tree);

/* Whether @label, as it stands in a tree, is a function of the scheduler. */
bool scheduler_frame_matches(const char *label);
