/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Compares the clocks of an agent with the server's clock. Pure functions.
 *
 * A batch has the wall-clock time at which it was closed, but it may have waited in a spool for
 * days, and a clock may have been set meanwhile. So an agent also sends its clocks at the moment of
 * the request, in a header (docs/wire-format.md):
 *
 *   X-Hearth-Clock: <CLOCK_REALTIME> <CLOCK_MONOTONIC> <CLOCK_BOOTTIME> <boot id>     (ns)
 *
 * - If its clock is wrong now, the batch is not stored: the server cannot know which of the two
 *   clocks is wrong, and data with a wrong time cannot be corrected later. The agent keeps it.
 * - If its clock was wrong when the batch was closed and has been set since, the batch is moved to
 *   the time that the present clock gives for it.
 */

#include "symbolizer/store/batch.h"

struct sender_clock {
	bool is_known; /* false: no header; the other fields are 0 */
	uint64_t wall_ns, monotonic_ns, boottime_ns;
	char boot_id[64];
};

/* @text: the value of the header, or NULL. An unusable value counts as no header. */
struct sender_clock sender_clock_parse(const char *text);

/* A sender's clock is wrong beyond this difference. An hour is a wrong time zone. */
#define SENDER_CLOCK_MAX_OFFSET_NS (INT64_C(24 * 3600) * (int64_t)NSEC_PER_SEC)

/*
 * Returns the sender's wall clock minus the server's when the request arrived; 0 if it is not
 * known.
 */
int64_t sender_clock_offset_ns(const struct sender_clock *sender, uint64_t now_ns);

/*
 * Returns the time by which the batch must be moved, because the sender's clock was set by more
 * than a minute after the batch was closed; 0 if it was not, or if that is not known.
 */
int64_t sender_clock_step_ns(const struct sender_clock *sender, const struct batch *batch,
			     uint64_t now_ns);

/* Moves all times of the batch by @step_ns, rounded to slots. */
void sender_clock_move(struct batch *batch, int64_t step_ns);
