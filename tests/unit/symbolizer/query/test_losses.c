/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include <string.h>

#include "symbolizer/query/coverage.h"
#include "symbolizer/query/losses.h"

#define SLOTS_PER_SECOND (NSEC_PER_SEC / SLOT_NS)

/* A batch of a host: seconds, the sequence, and the milliseconds until it was stored. */
struct fake_batch {
	uint32_t host;
	uint64_t run, sequence, opened_s, closed_s;
	int64_t delay_ms;
	struct batch_counter counters[3];
};

struct fake_view {
	struct store_view view;
	const struct fake_batch *batches;
	size_t count;
};

static int scan_coverage(struct store_view *view, const uint32_t *hosts, size_t count,
			 uint64_t from_slot, uint64_t to_slot, store_coverage_function function,
			 void *arg)
{
	const struct fake_view *fake = container_of(view, struct fake_view, view);
	int r = 0;

	for (size_t i = 0; r == 0 && i < fake->count; i++) {
		const struct fake_batch *batch = &fake->batches[i];

		for (size_t k = 0; r == 0 && k < count; k++)
			if (hosts[k] == batch->host &&
			    batch->closed_s * SLOTS_PER_SECOND > from_slot &&
			    batch->opened_s * SLOTS_PER_SECOND < to_slot)
				r = function(arg, batch->host, batch->opened_s * SLOTS_PER_SECOND,
					     batch->closed_s * SLOTS_PER_SECOND - 1);
	}
	return r;
}

static void sum_counters(const struct store_counter_query *query, const struct fake_batch *batch,
			 uint64_t *values)
{
	memset(values, 0, query->n_names * sizeof(*values));
	for (size_t i = 0; i < ARRAY_SIZE(batch->counters) && batch->counters[i].name; i++)
		for (size_t k = 0; k < query->n_names; k++)
			if (strncmp(batch->counters[i].name, query->names[k],
				    strlen(query->names[k])) == 0) {
				values[k] += batch->counters[i].value;
				break;
			}
}

static int scan_counters(struct store_view *view, const struct store_counter_query *query,
			 store_counters_function function, void *arg)
{
	const struct fake_view *fake = container_of(view, struct fake_view, view);
	int r = 0;

	for (size_t k = 0; r == 0 && k < query->n_hosts; k++)
		for (size_t i = 0; r == 0 && i < fake->count; i++) {
			const struct fake_batch *batch = &fake->batches[i];
			uint64_t values[STORE_MAX_COUNTER_NAMES];
			const struct store_batch_counters counters = {
				.host_index = k,
				.run = batch->run,
				.sequence = batch->sequence,
				.opened_wall_ns = batch->opened_s * NSEC_PER_SEC,
				.closed_wall_ns = batch->closed_s * NSEC_PER_SEC,
				.delay_ms = batch->delay_ms,
				.values = values,
			};

			sum_counters(query, batch, values);
			if (batch->host == query->hosts[k])
				r = function(arg, &counters);
		}
	return r;
}

static const struct store_view_operations operations = {
	.scan_coverage = scan_coverage,
	.scan_counters = scan_counters,
};

static const struct store_host hosts[] = {
	{ .id = 1, .name = "web-1", .n_cpus = 2, .last_seen_ns = 90 * NSEC_PER_SEC },
	{ .id = 2, .name = "web-2", .n_cpus = 2, .first_seen_ns = 12 * NSEC_PER_SEC },
	{ .id = 3, .name = "web-1", .n_cpus = 2, .last_seen_ns = 50 * NSEC_PER_SEC },
};
static const struct store_process processes[] = {
	{ .host = &hosts[0] },
	{ .host = &hosts[1] },
	{ .host = &hosts[2] },
};

/* The losses of [from, to) s at @now s; hosts are web-1 (two boots) and web-2. */
static struct losses losses_between(const struct fake_batch *batches, size_t count, uint64_t from_s,
				    uint64_t to_s, uint64_t now_s, struct arena *arena,
				    struct host_losses **ret_hosts)
{
	const struct store_series series[] = {
		{ .process = &processes[0] },
		{ .process = &processes[1] },
		{ .process = &processes[2] },
		{ .process = &processes[0] },
	};
	const struct losses_range range = {
		.from_slot = from_s * SLOTS_PER_SECOND,
		.to_slot = to_s * SLOTS_PER_SECOND,
		.now_ns = now_s * NSEC_PER_SEC,
	};
	struct fake_view fake = { { .operations = &operations }, batches, count };
	struct losses losses;

	assert_ok(losses_of_series(&fake.view, &range, series, ARRAY_SIZE(series), arena, ret_hosts,
				   &losses));
	assert_int_equal(losses.n_hosts, 2);
	return losses;
}

static void counters_are_summed_per_host_and_over_all(void **state)
{
	static const struct fake_batch batches[] = {
		{ 1,
		  1,
		  1,
		  10,
		  15,
		  0,
		  { { "ticks_total{outcome=\"ring_full\"}", 3 },
		    { "stacks_cut_total{reason=\"no-unwind-row\"}", 5 },
		    { "samples_total{}", 100 } } },
		{ 3,
		  2,
		  7,
		  20,
		  25,
		  0,
		  { { "ticks_total{outcome=\"ring_full\"}", 4 },
		    { "stacks_cut_total{reason=\"of-a-later-version\"}", 2 },
		    { "samples_total{}", 10 } } },
		{ 2, 3, 9, 10, 20, 0, { { "cpu_ns_total{}", 70 }, { "bpf_ns_total{}", 7 } } },
	};
	scoped(arena_freep) struct arena *arena = NULL;
	struct host_losses *found;
	struct losses losses;

	(void)state;
	assert_ok(arena_new(MIB, &arena));
	losses = losses_between(batches, ARRAY_SIZE(batches), 10, 30, 30, arena, &found);
	assert_string_equal(found[0].machine.host->name, "web-1");
	assert_int_equal(found[0].machine.host->id, 1);
	assert_int_equal(found[0].n_batches, 2);
	assert_int_equal(found[0].counts.ticks_ring_full, 7);
	assert_int_equal(found[0].ring_full_since_ns, 10 * NSEC_PER_SEC);
	assert_int_equal(found[0].ring_full_until_ns, 25 * NSEC_PER_SEC);
	assert_int_equal(found[0].counts.samples, 110);
	assert_int_equal(found[0].counts.stacks_cut[STACK_CUT_NO_ROW], 5);
	assert_int_equal(found[0].counts.stacks_cut[STACK_CUT_NONE], 2);
	assert_int_equal(loss_counts_cut(&found[0].counts), 7);
	assert_int_equal(found[1].counts.agent_cpu_ns, 77);
	assert_int_equal(found[1].counts.ticks_ring_full, 0);
	assert_int_equal(losses.counts.ticks_ring_full, 7);
	assert_int_equal(losses.counts.agent_cpu_ns, 77);
	assert_int_equal(losses.n_batches, 3);
	assert_int_equal(losses.counted_ns, 20 * NSEC_PER_SEC);
	assert_int_equal(losses.covered_slots, 15 * SLOTS_PER_SECOND);
}

/* web-1 is rebooted between 15 and 40 s. web-2 is new at 12 s, so it has no gap before. */
static void time_without_an_agent_is_a_gap_and_the_largest_is_first(void **state)
{
	static const struct fake_batch batches[] = {
		{ .host = 3, .run = 1, .sequence = 1, .opened_s = 5, .closed_s = 10 },
		{ .host = 3, .run = 1, .sequence = 2, .opened_s = 12, .closed_s = 15 },
		{ .host = 1, .run = 2, .sequence = 1, .opened_s = 40, .closed_s = 50 },
		{ .host = 2, .run = 3, .sequence = 1, .opened_s = 12, .closed_s = 50 },
	};
	scoped(arena_freep) struct arena *arena = NULL;
	struct host_losses *found;
	struct losses losses;

	(void)state;
	assert_ok(arena_new(MIB, &arena));
	losses = losses_between(batches, ARRAY_SIZE(batches), 4, 50, 50, arena, &found);
	assert_int_equal(losses.n_gaps, 3);
	assert_int_equal(losses.n_listed_gaps, 3);
	assert_int_equal(losses.gap_slots, (1 + 2 + 25) * SLOTS_PER_SECOND);
	assert_string_equal(losses.gaps[0].host, "web-1");
	assert_int_equal(losses.gaps[0].first_slot, 15 * SLOTS_PER_SECOND);
	assert_int_equal(losses.gaps[0].end_slot, 40 * SLOTS_PER_SECOND);
	assert_false(losses.gaps[0].at_end);
	assert_int_equal(losses.gaps[1].first_slot, 10 * SLOTS_PER_SECOND);
	assert_int_equal(losses.gaps[2].first_slot, 4 * SLOTS_PER_SECOND);
	assert_int_equal(found[1].n_gaps, 0);
}

static void a_host_that_sends_no_more_has_a_gap_at_the_end(void **state)
{
	static const struct fake_batch batches[] = {
		{ .host = 2, .run = 3, .sequence = 1, .opened_s = 12, .closed_s = 17 },
	};
	scoped(arena_freep) struct arena *arena = NULL;
	struct host_losses *found;
	struct losses losses;

	(void)state;
	assert_ok(arena_new(MIB, &arena));
	/* Two intervals of 5 s and 20 s have not passed. */
	losses = losses_between(batches, ARRAY_SIZE(batches), 10, 100, 47, arena, &found);
	assert_int_equal(losses.n_gaps, 0);
	losses = losses_between(batches, ARRAY_SIZE(batches), 10, 100, 48, arena, &found);
	assert_int_equal(losses.n_gaps, 1);
	assert_true(losses.gaps[0].at_end);
	assert_int_equal(losses.gaps[0].first_slot, 17 * SLOTS_PER_SECOND);
	assert_int_equal(losses.gaps[0].end_slot, 48 * SLOTS_PER_SECOND);
	losses = losses_between(batches, ARRAY_SIZE(batches), 10, 30, 1000, arena, &found);
	assert_int_equal(losses.gap_slots, 13 * SLOTS_PER_SECOND);
}

static void imported_profiles_have_no_gaps_and_are_not_late(void **state)
{
	static const struct store_host imported = { .id = 2, .name = "imported" };
	static const struct store_process process = { .host = &imported };
	static const struct fake_batch batches[] = {
		{ .host = 2, .run = 1, .sequence = 1, .opened_s = 10, .closed_s = 15 },
		{ .host = 2,
		  .run = 2,
		  .sequence = 1,
		  .opened_s = 40,
		  .closed_s = 45,
		  .delay_ms = 86400000 },
	};
	const struct losses_range range = { .from_slot = 5 * SLOTS_PER_SECOND,
					    .to_slot = 90 * SLOTS_PER_SECOND,
					    .now_ns = 86445 * NSEC_PER_SEC };
	const struct store_series series = { .process = &process };
	struct fake_view fake = { { .operations = &operations }, batches, ARRAY_SIZE(batches) };
	scoped(arena_freep) struct arena *arena = NULL;
	struct host_losses *found;
	struct losses losses;

	(void)state;
	assert_ok(arena_new(MIB, &arena));
	assert_ok(losses_of_series(&fake.view, &range, &series, 1, arena, &found, &losses));
	assert_int_equal(losses.n_gaps, 0);
	assert_int_equal(losses.n_late, 0);
	assert_int_equal(losses.covered_slots, 10 * SLOTS_PER_SECOND);
}

static void only_the_largest_gaps_are_listed(void **state)
{
	struct fake_batch batches[20];
	scoped(arena_freep) struct arena *arena = NULL;
	struct host_losses *found;
	struct losses losses;

	(void)state;
	assert_ok(arena_new(MIB, &arena));
	for (size_t i = 0; i < ARRAY_SIZE(batches); i++)
		batches[i] = (struct fake_batch){
			.host = 2,
			.run = 3,
			.sequence = i,
			/* The gap before batch i is i seconds longer than a batch. */
			.opened_s = 100 + i * (i + 1) / 2 + i,
			.closed_s = 101 + i * (i + 1) / 2 + i,
		};
	losses = losses_between(batches, ARRAY_SIZE(batches), 100, 1000, 0, arena, &found);
	assert_int_equal(losses.n_gaps, 19);
	assert_int_equal(losses.n_listed_gaps, LOSSES_MAX_GAPS);
	assert_int_equal(losses.gap_slots, 190 * SLOTS_PER_SECOND);
	for (size_t i = 0; i < LOSSES_MAX_GAPS; i++)
		assert_int_equal(losses.gaps[i].end_slot - losses.gaps[i].first_slot,
				 (19 - i) * SLOTS_PER_SECOND);
}

/* Numbers 4 and 5 of the first run are missing. The runs of an agent are counted separately. */
static void numbers_between_the_batches_of_a_run_are_missing(void **state)
{
	static const struct fake_batch batches[] = {
		{ .host = 1, .run = 1, .sequence = 6, .opened_s = 25, .closed_s = 30 },
		{ .host = 1, .run = 1, .sequence = 3, .opened_s = 20, .closed_s = 25 },
		{ .host = 1, .run = 2, .sequence = 100, .opened_s = 40, .closed_s = 45 },
		{ .host = 2, .run = 3, .sequence = 8, .opened_s = 40, .closed_s = 45 },
		{ .host = 2, .run = 3, .sequence = 10, .opened_s = 50, .closed_s = 55 },
	};
	scoped(arena_freep) struct arena *arena = NULL;
	struct host_losses *found;
	struct losses losses;

	(void)state;
	assert_ok(arena_new(MIB, &arena));
	losses = losses_between(batches, ARRAY_SIZE(batches), 0, 60, 60, arena, &found);
	assert_int_equal(found[0].n_missing, 2);
	assert_int_equal(found[1].n_missing, 1);
	assert_int_equal(losses.n_missing, 3);
}

/* The clock of web-1 is two minutes behind, that of web-2 is five seconds ahead. */
static void a_wrong_clock_makes_no_batch_late(void **state)
{
	static const struct fake_batch batches[] = {
		{ .host = 1, .sequence = 1, .opened_s = 10, .closed_s = 15, .delay_ms = 120100 },
		{ .host = 1, .sequence = 2, .opened_s = 15, .closed_s = 20, .delay_ms = 180099 },
		{ .host = 1, .sequence = 3, .opened_s = 20, .closed_s = 25, .delay_ms = 180100 },
		{ .host = 2, .sequence = 1, .opened_s = 10, .closed_s = 15, .delay_ms = -4900 },
		{ .host = 2, .sequence = 2, .opened_s = 15, .closed_s = 20, .delay_ms = 70000 },
	};
	scoped(arena_freep) struct arena *arena = NULL;
	struct host_losses *found;
	struct losses losses;

	(void)state;
	assert_ok(arena_new(MIB, &arena));
	losses = losses_between(batches, ARRAY_SIZE(batches), 10, 30, 30, arena, &found);
	assert_int_equal(losses_clock_offset_ms(&found[0]), -120100);
	assert_int_equal(losses_clock_offset_ms(&found[1]), 4900);
	assert_int_equal(found[0].n_late, 1);
	assert_int_equal(found[1].n_late, 1);
	assert_int_equal(losses.n_late, 2);
}

static int scan_too_much(struct store_view *view, const uint32_t *ids, size_t count,
			 uint64_t from_slot, uint64_t to_slot, store_coverage_function function,
			 void *arg)
{
	int r = 0;

	(void)view;
	(void)count;
	(void)to_slot;
	for (size_t i = 0; r == 0 && i <= COVERAGE_MAX_BATCHES; i++)
		r = function(arg, ids[0], from_slot, from_slot);
	return r;
}

static void coverage_is_unknown_with_too_many_batches(void **state)
{
	static const struct store_view_operations too_much = { .scan_coverage = scan_too_much };
	const struct losses_range range = { .to_slot = 1000 };
	const struct store_series series = { .process = &processes[0] };
	struct store_view view = { .operations = &too_much };
	scoped(arena_freep) struct arena *arena = NULL;
	struct host_losses *found;
	struct losses losses;

	(void)state;
	assert_ok(arena_new(MIB, &arena));
	assert_ok(losses_of_series(&view, &range, &series, 1, arena, &found, &losses));
	assert_int_equal(losses.covered_slots, 0);
	assert_int_equal(losses.n_gaps, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_are_summed_per_host_and_over_all),
		cmocka_unit_test(time_without_an_agent_is_a_gap_and_the_largest_is_first),
		cmocka_unit_test(a_host_that_sends_no_more_has_a_gap_at_the_end),
		cmocka_unit_test(imported_profiles_have_no_gaps_and_are_not_late),
		cmocka_unit_test(only_the_largest_gaps_are_listed),
		cmocka_unit_test(numbers_between_the_batches_of_a_run_are_missing),
		cmocka_unit_test(a_wrong_clock_makes_no_batch_late),
		cmocka_unit_test(coverage_is_unknown_with_too_many_batches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
