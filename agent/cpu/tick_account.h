/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where the periods of one CPU's timer went. The kernel does not count a tick whose program it
 * leaves out (it does so while that CPU runs a classic tracepoint's program or changes a BPF map by
 * a system call), nor one for which an idle CPU did not wake up, nor one that came due while the
 * hypervisor ran somebody else on the CPU. So a period that is over by the event's own clock, and
 * brought no tick, is
 *
 *   stolen   as far as the scheduler accounts stolen time to that CPU,
 *   asleep   as far as the scheduler accounts idle time that brought no tick either,
 *   missed   otherwise: a loss.
 *
 * Both accounts are settled at each update. Time that explains no absent tick is forgotten then,
 * but for what rounding needs: an idle hour does not excuse a tick that is lost afterwards. Always
 *
 *     expected = received + asleep + stolen + missed
 *
 * and none of them ever falls: a tick that turns out to have been late is made up for by the next
 * loss.
 */

#include "common/base.h"

struct tick_reading {
	/* by the clock of the event that runs, since that was opened; read first */
	uint64_t enabled_ns;
	/* ticks of this CPU that ran the program, idle ones too; read after the clock */
	uint64_t received;
	uint64_t idle; /* of these, ticks that found the CPU idle */
	/* by the scheduler's account, since boot: may begin anew when a CPU was offline */
	uint64_t idle_ns;
	uint64_t steal_ns; /* likewise: the hypervisor ran somebody else */
};

/* Time of one kind, as far as it explains absent ticks. */
struct tick_credit {
	uint64_t seen_ns; /* the account at the last update */
	int64_t left_ns;
};

/* Zeroed before first use. */
struct tick_account {
	uint64_t expected;
	uint64_t asleep;
	uint64_t stolen;
	uint64_t missed;

	uint64_t ended;     /* expected of events that ended */
	uint64_t idle_seen; /* idle ticks at the last update */
	struct tick_credit idle_credit, steal_credit;
};

/*
 * An event starts, the first one of its CPU or a later one: what the scheduler accounted before
 * explains nothing.
 */
void tick_account_start(struct tick_account *account, const struct tick_reading *reading);

void tick_account_update(struct tick_account *account, uint64_t period_ns,
			 const struct tick_reading *reading);

/*
 * The event ended, because its CPU went offline: the last update with its clock, which no tick
 * follows.
 */
void tick_account_end(struct tick_account *account, uint64_t period_ns,
		      const struct tick_reading *reading);
