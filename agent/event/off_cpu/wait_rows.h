/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes rows of waits. A wait becomes one row of off-CPU time per second, each in the slot in which
 * that second ends, and one row of run-queue time. With ABI_SAMPLE_WITH_WAIT the wait also
 * represents waits that the kernel side skipped (skipped_waits.h). Used by the agent's main thread.
 */

#include "agent/event/off_cpu/skipped_waits.h"
#include "agent/sample/collector.h"

/* The folds of the event types off-cpu and run-queue. */
struct wait_rows {
	struct skipped_waits skipped;
};

/*
 * Sets the folds of both types in @collector, which uses @rows until it is freed or
 * wait_rows_release(). 0 or -ENOMEM.
 */
int wait_rows_init(struct wait_rows *rows, struct collector *collector, bool keep_cpus_apart);
void wait_rows_release(struct wait_rows *rows, struct collector *collector);
