/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The leaf of every wait is a function of the kernel's scheduler, so that a table of waits by self
 * value would have a single row, __schedule. This module moves the self value of scheduler
 * functions to their callers, which the column WCHAN of ps(1) shows too: futex_do_wait,
 * do_epoll_wait, pipe_read.
 */

#include "symbolizer/cli/profile/call_tree.h"

/* For off-CPU and run-queue profiles. Neither totals nor the sum of self values change. */
void scheduler_frames_charge_callers(struct call_tree *tree);

/* Returns whether @label, the name of a function in a tree, is a function of the scheduler. */
bool scheduler_frame_matches(const char *label);
