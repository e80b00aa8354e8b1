/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which unit of profile.in_process is written next, and why. Remembers what this server has
 * written. No thread and no query.
 */

#include "symbolizer/store/clickhouse/in_process_tables.h"

/*
 * A change is recorded before its samples are inserted, which four attempts of a minute each may
 * delay. A unit without a change for this time has all its samples.
 */
#define SCHEDULE_SETTLED_NS (300 * NSEC_PER_SEC)

/* Names of units with a change in this time are corrected. */
#define SCHEDULE_RECENT_NS (3600 * NSEC_PER_SEC)

enum schedule_reason {
	SCHEDULE_NOTHING,
	SCHEDULE_FILL,    /* the rows are not those of the present samples */
	SCHEDULE_CORRECT, /* there is debuginfo that this server had not when it wrote the unit */
};

struct schedule {
	VEC_DEFINE(, struct schedule_write) writes;
};

/* This server has written the unit, or has found its names to be no better. */
struct schedule_write {
	uint32_t unit;
	uint64_t state;
	uint64_t generation; /* of the debuginfo; 0: symbol tables were still being made */
	uint64_t at_ns;      /* wall */
};

struct schedule_now {
	uint64_t first, end; /* only units in [first, end) */
	uint64_t generation; /* of the debuginfo, not 0 */
	uint64_t now_ns;     /* wall */
	bool no_corrections;
};

/* The state of the unit's rows when they are written from its present samples; not 0. */
uint64_t schedule_state(const struct in_process_unit *unit, uint64_t now_ns);

/* Finds the newest unit to fill, or else the newest to correct. */
enum schedule_reason schedule_next(const struct schedule *schedule,
				   const struct in_process_units *units,
				   const struct schedule_now *now,
				   const struct in_process_unit **ret_unit);

/* Remembers @write, and forgets those that are not recent any more. 0 or -ENOMEM. */
int schedule_wrote(struct schedule *schedule, const struct schedule_write *write);

void schedule_release(struct schedule *schedule);
