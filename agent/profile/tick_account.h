/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where the periods of one CPU's timer went. The kernel does not count a tick whose program it leaves out (it does so
 * while that CPU runs a classic tracepoint's program or changes a BPF map by a system call), nor one for which an idle
 * CPU did not wake up. So: what the event's own clock says was due and did not come is asleep, as far as the scheduler
 * says that the CPU was idle without ticks, and missed otherwise. Always
 *
 *     expected = received + asleep + missed
 *
 * and none of them ever falls: a tick that turns out to have been late is made up for by the next loss.
 */

#include "common/base.h"

/* All since the timer was started. */
struct tick_reading {
	uint64_t enabled_ns; /* by the event's clock; read first */
	uint64_t received;   /* ticks that ran the program, idle ones too; read after the clock */
	uint64_t idle;	     /* of these, ticks that found the CPU idle */
	uint64_t idle_ns;    /* time the CPU was idle, by the scheduler's account */
};

struct tick_account {
	uint64_t expected;
	uint64_t asleep;
	uint64_t missed;
};

void tick_account_update(struct tick_account *account, uint64_t period_ns, const struct tick_reading *reading);
