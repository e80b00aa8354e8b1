/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ticks come late, never early: one is overdue half a period after its time.
 */
#include "agent/profile/tick_account.h"

void tick_account_update(struct tick_account *account, uint64_t period_ns, const struct tick_reading *reading)
{
	uint64_t late_ns = period_ns / 2;
	uint64_t due = reading->enabled_ns > late_ns ? (reading->enabled_ns - late_ns) / period_ns : 0;
	uint64_t explained = reading->received + account->asleep + account->missed;
	uint64_t idle_periods = reading->idle_ns / period_ns;
	uint64_t absent;
	uint64_t slept = 0;

	if (due > explained) {
		absent = due - explained;
		if (idle_periods > reading->idle + account->asleep)
			slept = MIN(idle_periods - reading->idle - account->asleep, absent);
		account->asleep += slept;
		account->missed += absent - slept;
		explained = due;
	}
	account->expected = explained;
}
