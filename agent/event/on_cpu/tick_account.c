/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tick may be late but never early. It is overdue half a period after its time.
 */
#include "agent/event/on_cpu/tick_account.h"

/*
 * Periods of time that may be carried from one update to the next, in either direction. The
 * scheduler's accounts have a resolution of 10 ms, and the last tick of an update may be due in the
 * next update.
 */
#define CARRIED_PERIODS 2

static int64_t clamp(int64_t value, int64_t limit)
{
	return value > limit ? limit : MAX(value, -limit);
}

/*
 * Returns how many of @absent ticks the scheduler's account explains. The account reads @now_ns;
 * @n_ticks ticks that arrived used one period of it each.
 */
static uint64_t settle(struct tick_credit *credit, uint64_t now_ns, uint64_t n_ticks,
		       uint64_t period_ns, uint64_t absent)
{
	int64_t period = (int64_t)period_ns;
	uint64_t explained = 0;

	if (now_ns > credit->seen_ns)
		credit->left_ns += (int64_t)(now_ns - credit->seen_ns);
	credit->seen_ns = now_ns;
	credit->left_ns -= (int64_t)n_ticks * period;
	if (credit->left_ns > 0)
		explained = MIN((uint64_t)(credit->left_ns / period), absent);
	credit->left_ns =
		clamp(credit->left_ns - (int64_t)explained * period, CARRIED_PERIODS * period);
	return explained;
}

static void update(struct tick_account *account, uint64_t period_ns,
		   const struct tick_reading *reading, uint64_t late_ns)
{
	uint64_t clock_ns = reading->enabled_ns > late_ns ? reading->enabled_ns - late_ns : 0;
	uint64_t due = account->ended + clock_ns / period_ns;
	uint64_t explained =
		reading->received + account->asleep + account->stolen + account->missed;
	uint64_t absent = due > explained ? due - explained : 0;
	uint64_t stolen = settle(&account->steal_credit, reading->steal_ns, 0, period_ns, absent);
	uint64_t asleep = settle(&account->idle_credit, reading->idle_ns,
				 reading->idle - account->idle_seen, period_ns, absent - stolen);

	account->idle_seen = reading->idle;
	account->stolen += stolen;
	account->asleep += asleep;
	account->missed += absent - stolen - asleep;
	account->expected = explained + absent;
}

void tick_account_start(struct tick_account *account, const struct tick_reading *reading)
{
	account->idle_seen = reading->idle;
	account->idle_credit = (struct tick_credit){ .seen_ns = reading->idle_ns };
	account->steal_credit = (struct tick_credit){ .seen_ns = reading->steal_ns };
}

void tick_account_update(struct tick_account *account, uint64_t period_ns,
			 const struct tick_reading *reading)
{
	update(account, period_ns, reading, period_ns / 2);
}

void tick_account_end(struct tick_account *account, uint64_t period_ns,
		      const struct tick_reading *reading)
{
	update(account, period_ns, reading, 0);
	account->ended = account->expected;
}
