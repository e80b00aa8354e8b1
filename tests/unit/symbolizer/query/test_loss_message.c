/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include <string.h>

#include "symbolizer/query/loss_message.h"

/* 2023-11-14T22:13:20Z */
#define SECOND           UINT64_C(1700000000)
#define SLOTS_PER_SECOND (NSEC_PER_SEC / SLOT_NS)

static const struct store_host names[] = { { .name = "a" }, { .name = "b" }, { .name = "c" } };

static const struct profile_request on_cpu = { .type = EVENT_ON_CPU };
static const struct profile_request off_cpu = { .type = EVENT_OFF_CPU };

static void small_losses_have_no_sentence(void **state)
{
	const struct host_losses host = {
		.machine.host = &names[0],
		.counts = { .ticks_sampled = 9910,
			    .ticks_ring_full = 50,
			    .ticks_missed = 40,
			    .samples = 10000,
			    .stacks_lost = 99,
			    .waits_sampled = 1000,
			    .waits_lost = 9 },
		.covered_slots = 10000,
		.gap_slots = 100,
	};
	const struct losses losses = { .n_hosts = 1, .n_gaps = 1, .n_listed_gaps = 1 };
	char message[PROFILE_MESSAGE_SIZE] = "";

	(void)state;
	loss_message_append(message, &on_cpu, &host, &losses);
	loss_message_append(message, &off_cpu, &host, &losses);
	assert_string_equal(message, "");
}

static void the_host_that_lost_most_is_named_with_the_time(void **state)
{
	const struct host_losses hosts[] = {
		{ .machine.host = &names[0],
		  .counts = { .ticks_sampled = 980, .ticks_ring_full = 20 } },
		{ .machine.host = &names[1],
		  .counts = { .ticks_sampled = 900, .ticks_ring_full = 31, .ticks_failed = 69 },
		  .ring_full_since_ns = SECOND * NSEC_PER_SEC,
		  .ring_full_until_ns = (SECOND + 120) * NSEC_PER_SEC },
		{ .machine.host = &names[2], .counts = { .ticks_sampled = 1000 } },
	};
	const struct losses losses = { .n_hosts = ARRAY_SIZE(hosts) };
	char message[PROFILE_MESSAGE_SIZE] = "";

	(void)state;
	loss_message_append(message, &on_cpu, hosts, &losses);
	assert_string_equal(message,
			    "3.1 % of the samples of host 'b' (and of 1 more) were lost in the "
			    "ring buffer between 2023-11-14T22:13:20Z and 2023-11-14T22:15:20Z; "
			    "6.9 % of the timer ticks of host 'b' were not taken");
}

static void lost_waits_are_named_in_off_cpu_profiles_only(void **state)
{
	const struct host_losses host = {
		.machine.host = &names[0],
		.counts = { .waits_sampled = 90, .waits_lost = 10 },
	};
	const struct losses losses = { .n_hosts = 1 };
	char message[PROFILE_MESSAGE_SIZE] = "";

	(void)state;
	loss_message_append(message, &on_cpu, &host, &losses);
	assert_string_equal(message, "");
	loss_message_append(message, &off_cpu, &host, &losses);
	assert_string_equal(message, "10 % of the waits of host 'a' were lost in the ring buffer");
}

static void losses_of_each_of_several_event_types_are_named(void **state)
{
	static const enum event_type types[] = { EVENT_OFF_CPU, EVENT_ON_CPU };
	const struct profile_request request = { .types = types, .n_types = ARRAY_SIZE(types) };
	const struct host_losses host = {
		.machine.host = &names[0],
		.counts = { .ticks_sampled = 900,
			    .ticks_failed = 100,
			    .waits_sampled = 90,
			    .waits_lost = 10 },
	};
	const struct losses losses = { .n_hosts = 1 };
	char message[PROFILE_MESSAGE_SIZE] = "";

	(void)state;
	loss_message_append(message, &request, &host, &losses);
	assert_string_equal(message, "10 % of the timer ticks of host 'a' were not taken; "
				     "10 % of the waits of host 'a' were lost in the ring buffer");
}

static void gaps_and_missing_batches_are_named(void **state)
{
	const struct host_losses host = {
		.machine.host = &names[0],
		.covered_slots = 900 * SLOTS_PER_SECOND,
		.gap_slots = 95 * SLOTS_PER_SECOND,
		.counts = { .batches_dropped = 2 },
		.n_missing = 3,
	};
	struct losses losses = {
		.n_hosts = 1,
		.gap_slots = 95 * SLOTS_PER_SECOND,
		.n_gaps = 1,
		.n_listed_gaps = 1,
		.gaps = { { .host = "a",
			    .first_slot = SECOND * SLOTS_PER_SECOND,
			    .end_slot = (SECOND + 95) * SLOTS_PER_SECOND } },
	};
	char message[PROFILE_MESSAGE_SIZE] = "";
	char at_end[PROFILE_MESSAGE_SIZE] = "";

	(void)state;
	loss_message_append(message, &on_cpu, &host, &losses);
	assert_string_equal(message,
			    "3 batches of host 'a' are missing: they were dropped, or wait in its "
			    "spool; no agent ran on host 'a' from 2023-11-14T22:13:20Z to "
			    "2023-11-14T22:14:55Z");
	losses.n_gaps = 2;
	losses.gaps[0].at_end = true;
	loss_message_append(at_end, &on_cpu, &host, &losses);
	assert_non_null(strstr(at_end, "host 'a' has sent nothing since 2023-11-14T22:13:20Z: its "
				       "agent stopped, or its batches are delayed (2 gaps, 95 s "
				       "in total)"));
}

static void many_cut_stacks_are_named_with_the_most_frequent_reason(void **state)
{
	struct profile_stats stats = { .value_total = 1000 };
	char message[PROFILE_MESSAGE_SIZE] = "";

	(void)state;
	profile_stats_add_cut(&stats, STACK_CUT_NONE, 900);
	profile_stats_add_cut(&stats, STACK_CUT_READ_FAULT, 99);
	loss_message_append_cut(message, &stats);
	assert_string_equal(message, "");
	profile_stats_add_cut(&stats, STACK_CUT_NO_ROW, 151);
	assert_int_equal(stats.value_cut, 250);
	loss_message_append_cut(message, &stats);
	assert_string_equal(message,
			    "25 % have stacks that end early (most of them: no-unwind-row)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_losses_have_no_sentence),
		cmocka_unit_test(the_host_that_lost_most_is_named_with_the_time),
		cmocka_unit_test(lost_waits_are_named_in_off_cpu_profiles_only),
		cmocka_unit_test(losses_of_each_of_several_event_types_are_named),
		cmocka_unit_test(gaps_and_missing_batches_are_named),
		cmocka_unit_test(many_cut_stacks_are_named_with_the_most_frequent_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
