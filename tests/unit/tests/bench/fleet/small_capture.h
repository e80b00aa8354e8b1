/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A capture of two batches.
 *
 *   executables  1 the kernel, 2 "libc.so.6", 3 "tool" (first in batch 1)
 *   processes    1 "nginx", pid 4711, started before the capture; 2 "tool", pid 5000, a child of
 *                4711, started during batch 0 and defined again in batch 1, as "tool-renamed"
 *   series       1 nginx on-cpu, tid 4711; 2 nginx on-cpu, tid 4712; 3 tool off-cpu, tid 5000
 *   stacks       1 and 2 in batch 0; 3 in batch 1, with a named frame
 *   rows         batch 0: series 1: 2 and 3 counts; series 3: 7000 ns
 *                batch 1: series 2: 4 counts, with stack 1 of batch 0; series 3: 500 ns
 */

#include "tests/bench/fleet/capture.h"
#include "tests/support/batch_builder.h"

#define SMALL_PERIOD_NS UINT64_C(10101010)
#define SMALL_OPENED_NS (UINT64_C(1000) * NSEC_PER_SEC) /* monotonic */

void small_capture_bodies(struct bytes bodies[2]);
struct capture *small_capture(void);

/*
 * A capture of one batch of format 2: code object 1 is function "handler" of "python", series 1 is
 * of the event type "requests" with label "queue" = "mail", and the only frame of stack 1 is code
 * object 1, position 7. The row has the value 3.
 */
struct capture *small_capture_format_2(void);
