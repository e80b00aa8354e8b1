/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of old days are removed, and the sums of their hours stay. */

#include "tests/unit/symbolizer/store/segment_store/segment_store_fixture.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)
#define DAY_NS  (24 * HOUR_NS)

/* Of batch_at(), in ns: its series has a period of 10 ms. */
#define SUM_NS (7 * 10 * NSEC_PER_MSEC)

struct answer {
	uint64_t sum, from_slot, to_slot, other_stacks;
	size_t n_series, n_items;
};

static struct answer ask(struct store *store, uint64_t from_ns, uint64_t to_ns)
{
	scoped(store_view_closep) struct store_view *view = open_view(store, "default");
	const struct store_series_query find = { .from_slot = from_ns / SLOT_NS,
						 .to_slot = to_ns / SLOT_NS };
	struct store_sum_series selected[8];
	struct store_sum_query query = { .series = selected,
					 .from_slot = find.from_slot,
					 .to_slot = find.to_slot };
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_series *series;
	struct store_sums sums = {};
	struct answer answer = {};

	assert_ok(arena_new(16 * MIB, &arena));
	assert_ok(store_find_series(view, &find, arena, &series, &query.n_series));
	assert_true(query.n_series <= ARRAY_SIZE(selected));
	for (size_t i = 0; i < query.n_series; i++)
		selected[i] = (struct store_sum_series){ .id = series[i].id,
							 .factor = series[i].period_ns };
	assert_ok(store_sum(view, &query, &sums));
	answer = (struct answer){ .from_slot = sums.from_slot,
				  .to_slot = sums.to_slot,
				  .n_series = query.n_series,
				  .n_items = sums.count };
	for (size_t i = 0; i < sums.count; i++) {
		answer.sum += sums.items[i].value;
		answer.other_stacks += sums.items[i].stack == STORE_OTHER_STACKS;
	}
	store_sums_release(&sums);
	return answer;
}

static void hours_keep_their_sums_without_samples(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_segment_store(*state, &clock.clock, 0);
	struct answer answer;

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	assert_int_equal(write_batch(store, batch_at(2, NOON - HOUR_NS, false)), STORE_STORED);
	advance_clock(store, &clock, NOON + 2 * HOUR_NS);
	assert_ok(segment_store_settle(store));
	store_set_retention(store, 2 * DAY_NS);
	store_set_hourly_retention(store, 10 * DAY_NS);
	advance_clock(store, &clock, NOON + 4 * DAY_NS);

	/* The whole day. */
	answer = ask(store, NOON - 12 * HOUR_NS, NOON + 12 * HOUR_NS);
	assert_int_equal(answer.sum, 2 * SUM_NS);
	assert_int_equal(answer.other_stacks, 0);
	assert_int_equal(answer.n_items, 3);
	assert_int_equal(answer.n_series, 1);
	/* A minute of the hour before noon: its answer is the hour. */
	answer = ask(store, NOON - 60 * NSEC_PER_SEC, NOON);
	assert_int_equal(answer.sum, SUM_NS);
	assert_int_equal(answer.from_slot, (NOON - HOUR_NS) / SLOT_NS);
	assert_int_equal(answer.to_slot, NOON / SLOT_NS);
	/* Rows cannot be read any more. */
	assert_int_equal(total_of(store, NOON - 12 * HOUR_NS, NOON + 12 * HOUR_NS).n_rows, 0);

	advance_clock(store, &clock, NOON + 12 * DAY_NS);
	assert_int_equal(ask(store, NOON - 12 * HOUR_NS, NOON + 12 * HOUR_NS).sum, 0);
}

static void a_late_batch_is_added_to_the_sums_of_its_hour(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_segment_store(*state, &clock.clock, 0);

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	advance_clock(store, &clock, NOON + 2 * HOUR_NS);
	assert_ok(segment_store_settle(store));
	store_set_retention(store, 2 * DAY_NS);
	store_set_hourly_retention(store, 10 * DAY_NS);
	advance_clock(store, &clock, NOON + 4 * DAY_NS);

	assert_int_equal(write_batch(store, batch_at(2, NOON - 60 * NSEC_PER_SEC, false)),
			 STORE_STORED);
	assert_int_equal(ask(store, NOON - HOUR_NS, NOON).sum, 2 * SUM_NS);
	assert_ok(segment_store_settle(store));
	assert_int_equal(ask(store, NOON - HOUR_NS, NOON).sum, 2 * SUM_NS);
	advance_clock(store, &clock, NOON + 5 * DAY_NS);
	assert_int_equal(ask(store, NOON - HOUR_NS, NOON).sum, 2 * SUM_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(hours_keep_their_sums_without_samples),
		in_folder(a_late_batch_is_added_to_the_sums_of_its_hour),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
