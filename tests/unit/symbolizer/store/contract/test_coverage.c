/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/contract/contract_fixture.h"

struct seen {
	uint32_t host;
	uint64_t first_slot, last_slot;
	size_t n_batches;
};

static int add_coverage(void *arg, uint32_t host, uint64_t first_slot, uint64_t last_slot)
{
	struct seen *seen = arg;

	assert_int_equal(host, seen->host);
	seen->first_slot = seen->n_batches ? MIN(seen->first_slot, first_slot) : first_slot;
	seen->last_slot = MAX(seen->last_slot, last_slot);
	seen->n_batches++;
	return 0;
}

static struct seen coverage_between(struct contract *contract, uint64_t from_ns, uint64_t to_ns)
{
	scoped(store_view_closep) struct store_view *view = open_view(contract->store, "default");
	struct seen seen = { .host = contract_host(contract, view) };

	assert_ok(store_scan_coverage(view, &seen.host, 1, from_ns / SLOT_NS, to_ns / SLOT_NS,
				      add_coverage, &seen));
	return seen;
}

static void idle_time_is_covered_and_a_gap_is_not(void **state)
{
	struct contract *contract = *state;
	struct batch_builder *idle =
		batch_builder_new(1, EPOCH, 2, NOON + 20 * NSEC_PER_SEC, NOON + 25 * NSEC_PER_SEC);
	struct seen seen;

	assert_int_equal(contract_write(contract, batch_at(1, NOON + 5 * NSEC_PER_SEC, true)),
			 STORE_STORED);
	assert_int_equal(contract_write(contract, idle), STORE_STORED);

	seen = coverage_between(contract, NOON, NOON + 10 * NSEC_PER_SEC);
	assert_int_equal(seen.n_batches, 1);
	assert_int_equal(seen.first_slot, NOON / SLOT_NS);
	assert_int_equal(seen.last_slot, (NOON + 5 * NSEC_PER_SEC) / SLOT_NS - 1);
	assert_int_equal(
		coverage_between(contract, NOON + 6 * NSEC_PER_SEC, NOON + 19 * NSEC_PER_SEC)
			.n_batches,
		0);
	seen = coverage_between(contract, NOON + 10 * NSEC_PER_SEC, NOON + 60 * NSEC_PER_SEC);
	assert_int_equal(seen.first_slot, (NOON + 20 * NSEC_PER_SEC) / SLOT_NS);
	assert_int_equal(seen.last_slot, (NOON + 25 * NSEC_PER_SEC) / SLOT_NS - 1);
}

static void a_batch_over_midnight_covers_both_days(void **state)
{
	const uint64_t midnight = NOON + 12 * 3600 * NSEC_PER_SEC;
	struct contract *contract = *state;
	struct batch_builder *builder = batch_builder_new(1, EPOCH, 1, midnight - 3 * NSEC_PER_SEC,
							  midnight + 2 * NSEC_PER_SEC);
	struct seen seen;

	assert_int_equal(contract_write(contract, builder), STORE_STORED);
	seen = coverage_between(contract, midnight - 60 * NSEC_PER_SEC,
				midnight + 60 * NSEC_PER_SEC);
	/* An engine with a database for each day may report the batch for each of them. */
	assert_in_range(seen.n_batches, 1, 2);
	assert_int_equal(seen.first_slot, (midnight - 3 * NSEC_PER_SEC) / SLOT_NS);
	assert_int_equal(seen.last_slot, (midnight + 2 * NSEC_PER_SEC) / SLOT_NS - 1);
}

/* An off-CPU row has the slot in which the wait began, which may be before the batch. */
static void rows_before_a_batch_cover_no_time(void **state)
{
	struct contract *contract = *state;
	struct batch_builder *builder =
		batch_builder_new(1, EPOCH, 1, NOON, NOON + 5 * NSEC_PER_SEC);
	struct seen seen;

	define_all(builder);
	batch_builder_row(builder, 1, 1, NOON - 600 * NSEC_PER_SEC, 1);
	assert_int_equal(contract_write(contract, builder), STORE_STORED);
	seen = coverage_between(contract, NOON - 3600 * NSEC_PER_SEC, NOON + 60 * NSEC_PER_SEC);
	assert_int_equal(seen.n_batches, 1);
	assert_int_equal(seen.first_slot, NOON / SLOT_NS);
	assert_int_equal(seen.last_slot, (NOON + 5 * NSEC_PER_SEC) / SLOT_NS - 1);
	assert_int_equal(coverage_between(contract, NOON - 3600 * NSEC_PER_SEC, NOON).n_batches, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_each_engine(idle_time_is_covered_and_a_gap_is_not),
		on_each_engine(a_batch_over_midnight_covers_both_days),
		on_each_engine(rows_before_a_batch_cover_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
