/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

static uint64_t clock_now(const struct clock *clock)
{
	return container_of(clock, struct test_clock, clock)->wall_ns;
}

struct test_clock test_clock_at(uint64_t wall_ns)
{
	return (struct test_clock){
		.clock = { .monotonic_ns = clock_now, .wall_ns = clock_now },
		.wall_ns = wall_ns,
	};
}

void advance_clock(struct store *store, struct test_clock *clock, uint64_t wall_ns)
{
	while (clock->wall_ns < wall_ns) {
		size_t removed;

		clock->wall_ns = MIN(wall_ns, clock->wall_ns + 12 * 3600 * NSEC_PER_SEC);
		assert_ok(store_retain(store, &removed));
	}
}

struct store *open_store(const char *folder, const struct test_clock *clock)
{
	struct store *store = NULL;

	assert_ok(sqlite_store_open(folder, &clock->clock, &store));
	return store;
}

int write_batch_in(struct store *store, const char *tenant, struct batch_builder *builder,
		   struct arena *arena, struct store_missing *ret_missing)
{
	scoped(bytes_release) struct bytes body = BYTES_INIT(64 * MIB);
	char reason[DECODE_MESSAGE_SIZE];
	struct store_missing missing;
	struct batch batch;
	int r;

	batch_builder_finish(builder, &body);
	r = batch_decode(bytes_view_of(&body), arena, &batch, reason);
	if (r < 0)
		fail_msg("%s", reason);
	return store_write(store, tenant, &batch, arena, ret_missing ? ret_missing : &missing);
}

int write_batch(struct store *store, struct batch_builder *builder)
{
	scoped(arena_freep) struct arena *arena = NULL;

	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	return write_batch_in(store, "default", builder, arena, NULL);
}

void define_all(struct batch_builder *builder)
{
	static const struct batch_frame frames[] = {
		{ FRAME_NATIVE, 1, 0x3000 },
		{ FRAME_NATIVE, 1, 0x2000 },
		{ FRAME_NATIVE, 1, 0x1000 },
	};
	struct executable_id id = test_build_id(1);

	batch_builder_executable(builder, 1, &id, "server", ROLE_USER);
	batch_builder_segment(builder, 0, 0x400000, 0x1000);
	batch_builder_process(builder, 1, 4711, 99, "server", 1);
	batch_builder_path(builder, 1, "/usr/bin/server");
	batch_builder_label(builder, "service", "shop");
	batch_builder_series(builder, 1, 1, 4711, "main", EVENT_ON_CPU, 10 * NSEC_PER_MSEC);
	batch_builder_stack(builder, 1, STACK_CUT_NONE, frames, 3);
	batch_builder_stack(builder, 2, STACK_CUT_DEPTH, frames + 1, 2);
}

struct batch_builder *batch_at(uint64_t sequence, uint64_t closed_wall_ns, bool defined)
{
	struct batch_builder *builder = batch_builder_new(
		1, EPOCH, sequence, closed_wall_ns - 5 * NSEC_PER_SEC, closed_wall_ns);

	if (defined)
		define_all(builder);
	batch_builder_row(builder, 1, 1, closed_wall_ns - 4 * NSEC_PER_SEC, 1);
	batch_builder_row(builder, 1, 2, closed_wall_ns - 3 * NSEC_PER_SEC, 2);
	batch_builder_row(builder, 1, 0, closed_wall_ns - 1 * NSEC_PER_SEC, 4);
	return builder;
}

static int add_row(void *arg, uint32_t series_index, uint64_t stack_id, uint64_t slot,
		   uint64_t value)
{
	struct totals *totals = arg;

	(void)series_index;
	(void)stack_id;
	(void)slot;
	totals->n_rows++;
	totals->sum += value;
	return 0;
}

/* store_sum() must agree with store_scan(), with and without stacks. */
static void check_sums(struct store_view *view, const struct store_series *series, size_t count,
		       uint64_t from_slot, uint64_t to_slot, const struct totals *expected)
{
	struct store_sum_series *summed = calloc(count + 1, sizeof(*summed));

	assert_non_null(summed);
	for (size_t i = 0; i < count; i++)
		summed[i] = (struct store_sum_series){
			.id = series[i].id, .group = (uint32_t)i % 3, .factor = 1, .marked = true
		};
	for (int without_stacks = 0; without_stacks < 2; without_stacks++) {
		const struct store_sum_query query = {
			.series = summed,
			.n_series = count,
			.from_slot = from_slot,
			.to_slot = to_slot,
			.without_stacks = without_stacks,
		};
		struct store_sums sums = {};
		uint64_t sum = 0;

		assert_ok(store_sum(view, &query, &sums));
		for (size_t i = 0; i < sums.count; i++)
			sum += sums.items[i].value;
		assert_int_equal(sum, expected->sum);
		assert_int_equal(sums.marked_value, expected->sum);
		assert_int_equal(sums.n_rows, expected->n_rows);
		store_sums_release(&sums);
	}
	free(summed);
}

struct totals total_of(struct store *store, uint64_t from_ns, uint64_t to_ns)
{
	const struct store_series_query query = {
		.from_slot = from_ns / SLOT_NS,
		.to_slot = to_ns / SLOT_NS,
	};
	scoped(store_view_closep) struct store_view *view = open_view(store, "default");
	scoped(arena_freep) struct arena *arena = NULL;
	struct totals totals = {};
	struct store_series *series;
	uint64_t *ids;
	size_t count;

	assert_ok(arena_new(256 * MIB, &arena));
	assert_ok(store_find_series(view, &query, arena, &series, &count));
	ids = arena_alloc_array(arena, count, sizeof(*ids));
	for (size_t i = 0; i < count; i++)
		ids[i] = series[i].id;
	totals.n_damaged =
		store_scan(view,
			   &(struct store_range){ .series_ids = ids,
						  .n_series = count,
						  .from_slot = query.from_slot,
						  .to_slot = to_ns ? query.to_slot : UINT64_MAX },
			   add_row, &totals);
	assert_true(totals.n_damaged >= 0);
	if (totals.n_damaged == 0)
		check_sums(view, series, count, query.from_slot, to_ns ? query.to_slot : UINT64_MAX,
			   &totals);
	return totals;
}

int removed_until(struct store *store, uint64_t *ret_slot, enum store_removal *ret_reason)
{
	scoped(store_view_closep) struct store_view *view = open_view(store, "default");

	return store_removed_until(view, ret_slot, ret_reason);
}
