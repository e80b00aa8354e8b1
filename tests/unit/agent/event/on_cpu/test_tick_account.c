/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/event/on_cpu/tick_account.h"

#include "tests/support/unit.h"

#define PERIOD_NS 10000000u

static struct tick_reading reading_of(double periods, uint64_t received, uint64_t idle,
				      double idle_periods)
{
	return (struct tick_reading){
		.enabled_ns = (uint64_t)(periods * PERIOD_NS),
		.received = received,
		.idle = idle,
		.idle_ns = (uint64_t)(idle_periods * PERIOD_NS),
	};
}

static void absent_ticks_are_missed_on_a_busy_cpu_and_asleep_on_an_idle_one(void **state)
{
	static const struct {
		double periods;
		uint64_t received, idle;
		double idle_periods;
		uint64_t asleep, missed;
	} cases[] = {
		{ 100.6, 100, 0, 0, 0, 0 },   /* all ticks arrived */
		{ 100.6, 60, 0, 0, 0, 40 },   /* busy all the time */
		{ 100.6, 0, 0, 101, 100, 0 }, /* idle all the time, without a tick */
		{ 100.6, 60, 0, 30, 30, 10 }, /* both */
		{ 100.6, 60, 30, 30, 0, 40 }, /* the idle time had its ticks */
		{ 100.6, 60, 30, 45, 15, 25 }, { 0.4, 0, 0, 0, 0, 0 }, /* no tick was due */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tick_account account = {};
		struct tick_reading reading = reading_of(cases[i].periods, cases[i].received,
							 cases[i].idle, cases[i].idle_periods);

		tick_account_update(&account, PERIOD_NS, &reading);
		assert_int_equal(account.asleep, cases[i].asleep);
		assert_int_equal(account.missed, cases[i].missed);
		assert_int_equal(account.expected,
				 cases[i].received + cases[i].asleep + cases[i].missed);
	}
}

static void a_tick_that_is_late_by_less_than_half_a_period_is_not_missed(void **state)
{
	struct tick_account account = {};
	struct tick_reading reading = reading_of(10.4, 9, 0, 0);

	(void)state;
	tick_account_update(&account, PERIOD_NS, &reading);
	assert_int_equal(account.missed, 0);
	reading = reading_of(10.6, 9, 0, 0);
	tick_account_update(&account, PERIOD_NS, &reading);
	assert_int_equal(account.missed, 1);
}

static void a_late_tick_that_was_counted_as_missed_offsets_the_next_loss(void **state)
{
	struct tick_account account = {};
	struct tick_reading reading = reading_of(10.9, 9, 0, 0);

	(void)state;
	tick_account_update(&account, PERIOD_NS, &reading);
	assert_int_equal(account.missed, 1);
	reading = reading_of(20.9, 20, 0, 0);
	tick_account_update(&account, PERIOD_NS, &reading);
	assert_int_equal(account.missed, 1);
	assert_int_equal(account.expected, 21);
	reading = reading_of(30.9, 29, 0, 0);
	tick_account_update(&account, PERIOD_NS, &reading);
	assert_int_equal(account.missed, 1);
	assert_int_equal(account.expected, 30);
}

/*
 * An idle hour leaves no credit that could excuse a tick that is lost later, while the CPU is busy.
 */
static void idle_time_does_not_excuse_a_tick_that_is_lost_afterwards(void **state)
{
	struct tick_account account = {};
	struct tick_reading reading = reading_of(1000.6, 1000, 400, 600);
	uint64_t asleep;

	(void)state;
	/*
	 * The scheduler accounts 600 idle periods, but only 400 ticks found the CPU idle. No tick
	 * is absent.
	 */
	tick_account_update(&account, PERIOD_NS, &reading);
	assert_int_equal(account.asleep, 0);
	reading = reading_of(1100.6, 1000, 400, 600);
	tick_account_update(&account, PERIOD_NS, &reading);
	/* Two periods may be carried for rounding. */
	assert_in_range(account.asleep, 0, 2);
	assert_int_equal(account.missed + account.asleep, 100);
	asleep = account.asleep;
	reading = reading_of(1200.6, 1000, 400, 600);
	tick_account_update(&account, PERIOD_NS, &reading);
	assert_int_equal(account.asleep, asleep);
}

static void absent_ticks_are_stolen_while_the_hypervisor_runs_others(void **state)
{
	static const struct {
		uint64_t received;
		double idle_periods, steal_periods;
		uint64_t asleep, stolen, missed;
	} cases[] = {
		{ 100, 0, 30, 0, 0, 0 }, /* in pieces of less than a period: none is lost */
		{ 70, 0, 30, 0, 30, 0 },
		{ 60, 0, 30, 0, 30, 10 }, /* some ticks are lost as well */
		{ 60, 10, 30, 10, 30, 0 },
		/* stolen while the CPU was idle: the scheduler accounts it twice */
		{ 60, 40, 30, 10, 30, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tick_account account = {};
		struct tick_reading reading =
			reading_of(100.6, cases[i].received, 0, cases[i].idle_periods);

		reading.steal_ns = (uint64_t)(cases[i].steal_periods * PERIOD_NS);
		tick_account_update(&account, PERIOD_NS, &reading);
		assert_int_equal(account.stolen, cases[i].stolen);
		assert_int_equal(account.asleep, cases[i].asleep);
		assert_int_equal(account.missed, cases[i].missed);
		assert_int_equal(account.expected, cases[i].received + account.asleep +
							   account.stolen + account.missed);
	}
}

/*
 * The CPU goes offline after 100.8 periods and comes online again: clock and idle time restart at
 * 0.
 */
static void a_restarted_timer_continues_the_account_of_the_last_one(void **state)
{
	struct tick_account account = {};
	struct tick_reading reading = reading_of(0, 0, 0, 5000);

	(void)state;
	tick_account_start(&account, &reading);
	reading = reading_of(90.7, 85, 0, 5005);
	tick_account_update(&account, PERIOD_NS, &reading);
	assert_int_equal(account.expected, 90);
	assert_int_equal(account.asleep, 5);
	reading = reading_of(100.8, 95, 0, 5005);
	tick_account_end(&account, PERIOD_NS, &reading);
	assert_int_equal(account.expected, 100);
	assert_int_equal(account.missed, 0);

	reading = reading_of(0, 95, 0, 3);
	tick_account_start(&account, &reading);
	reading = reading_of(50.7, 135, 0, 13);
	tick_account_update(&account, PERIOD_NS, &reading);
	assert_int_equal(account.expected, 150);
	assert_int_equal(account.asleep, 15);
	assert_int_equal(account.missed, 0);
}

/* No tick follows the clock of an event that ended, so none is late. */
static void the_last_tick_of_a_timer_that_ended_is_due_at_once(void **state)
{
	struct tick_account account = {};
	struct tick_reading reading = reading_of(10.1, 9, 0, 0);

	(void)state;
	tick_account_update(&account, PERIOD_NS, &reading);
	assert_int_equal(account.missed, 0);
	tick_account_end(&account, PERIOD_NS, &reading);
	assert_int_equal(account.missed, 1);
}

/* A CPU that is busy, idle with ticks, idle without ticks, or loses ticks, in random order. */
static void the_account_adds_up_and_never_decreases(void **state)
{
	struct tick_account account = {};
	struct tick_reading reading = {};
	uint64_t lost = 0;
	uint32_t seed = 1;

	(void)state;
	for (uint64_t tick = 1; tick <= 100000; tick++) {
		struct tick_account before = account;
		uint32_t random;

		seed = seed * 1664525u + 1013904223u;
		random = seed >> 24;
		reading.enabled_ns = tick * PERIOD_NS + PERIOD_NS * 6 / 10;
		if (random < 100) {
			reading.received++;
		} else if (random < 150) {
			reading.received++;
			reading.idle++;
			reading.idle_ns += PERIOD_NS;
		} else if (random < 200) {
			reading.idle_ns += PERIOD_NS;
		} else {
			lost++;
		}
		if (random % 16)
			continue;
		tick_account_update(&account, PERIOD_NS, &reading);
		assert_int_equal(account.expected,
				 reading.received + account.asleep + account.missed);
		assert_true(account.expected >= before.expected);
		assert_true(account.asleep >= before.asleep);
		assert_true(account.missed >= before.missed);
	}
	assert_in_range(account.missed, lost - lost / 100, lost + lost / 100);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(absent_ticks_are_missed_on_a_busy_cpu_and_asleep_on_an_idle_one),
		cmocka_unit_test(a_tick_that_is_late_by_less_than_half_a_period_is_not_missed),
		cmocka_unit_test(a_late_tick_that_was_counted_as_missed_offsets_the_next_loss),
		cmocka_unit_test(idle_time_does_not_excuse_a_tick_that_is_lost_afterwards),
		cmocka_unit_test(absent_ticks_are_stolen_while_the_hypervisor_runs_others),
		cmocka_unit_test(a_restarted_timer_continues_the_account_of_the_last_one),
		cmocka_unit_test(the_last_tick_of_a_timer_that_ended_is_due_at_once),
		cmocka_unit_test(the_account_adds_up_and_never_decreases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
