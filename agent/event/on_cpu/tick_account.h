/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Accounts for each period of one CPU's timer. Three kinds of ticks do not arrive, and the kernel
 * does not count them: ticks whose program the kernel skips (while that CPU runs a program of a
 * classic tracepoint or changes a BPF map in a system call), ticks for which an idle CPU did not
 * wake up, and ticks that were due while the hypervisor ran another guest on the CPU. So a period
 * that has passed on the event's own clock without a tick is
 *
 *   stolen   as far as the scheduler accounts stolen time to that CPU,
 *   asleep   as far as the scheduler accounts idle time during which no tick arrived either,
 *   missed   otherwise: a loss.
 *
 * Both accounts are settled at each update. Time that explains no absent tick is then discarded,
 * except for what rounding needs: an idle hour does not excuse a tick that is lost afterwards.
 * Always
 *
 *     expected = received + asleep + stolen + missed
 *
 * and none of them ever decreases: a tick that was counted as missed but was only late offsets the
 * next loss.
 */

#include "common/base.h"

struct tick_reading {
	/* clock of the current event, since it was opened; read this first */
	uint64_t enabled_ns;
	/* ticks of this CPU that ran the program, including idle ones; read this after the clock */
	uint64_t received;
	uint64_t idle; /* of these, ticks that found the CPU idle */
	/* accounted by the scheduler since boot; may restart at 0 after a CPU was offline */
	uint64_t idle_ns;
	uint64_t steal_ns; /* likewise: the hypervisor ran another guest */
};

/* Time of one kind that may explain absent ticks. */
struct tick_credit {
	uint64_t seen_ns; /* the scheduler's account at the last update */
	int64_t left_ns;
};

/* Must be zeroed before first use. */
struct tick_account {
	uint64_t expected;
	uint64_t asleep;
	uint64_t stolen;
	uint64_t missed;

	uint64_t ended;     /* `expected` of events that ended */
	uint64_t idle_seen; /* idle ticks at the last update */
	struct tick_credit idle_credit, steal_credit;
};

/*
 * An event starts, the first one of its CPU or a later one. Time that the scheduler accounted
 * before explains no absent tick.
 */
void tick_account_start(struct tick_account *account, const struct tick_reading *reading);

void tick_account_update(struct tick_account *account, uint64_t period_ns,
			 const struct tick_reading *reading);

/*
 * The event ended because its CPU went offline. This is the last update with its clock; no tick
 * follows.
 */
void tick_account_end(struct tick_account *account, uint64_t period_ns,
		      const struct tick_reading *reading);
