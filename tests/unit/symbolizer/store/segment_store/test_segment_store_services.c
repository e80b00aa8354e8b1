/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of services while segments are written, merged and removed. */

#include "tests/unit/symbolizer/store/segment_store/segment_store_fixture.h"

#include "symbolizer/store/segment_db/reader.h"
#include "symbolizer/store/segment_store/segment_store_private.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)

/* A batch of @host with a sample of one process. There are no roll-ups of this event type. */
static struct batch_builder *batch_of_process(uint32_t host, uint64_t closed_wall_ns)
{
	struct batch_builder *builder = batch_builder_new(
		host, EPOCH, 1, closed_wall_ns - 5 * NSEC_PER_SEC, closed_wall_ns);

	batch_builder_process(builder, 1, 4711, 99, "server", 0);
	batch_builder_series(builder, 1, 1, 4711, "main", EVENT_MEM_INUSE, 0);
	batch_builder_row(builder, 1, 0, closed_wall_ns - NSEC_PER_SEC, 1);
	return builder;
}

static void assert_services(struct store *store, size_t n_services, uint32_t n_processes)
{
	const struct store_series_query query = { .from_slot = (NOON - 2 * HOUR_NS) / SLOT_NS };
	scoped(store_view_closep) struct store_view *view = open_view(store, "default");
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_active_service *services;
	size_t count;

	assert_ok(arena_new(MIB, &arena));
	assert_ok(store_active_services(view, &query, arena, &services, &count));
	assert_int_equal(count, n_services);
	if (count > 0)
		assert_int_equal(services[0].n_processes, n_processes);
}

/* The ID of the only segment. */
static uint64_t segment_id(struct store *store)
{
	const struct segment_db_reading reading = { .query = { .to_slot = UINT64_MAX } };
	scoped(segment_db_reader_freep) struct segment_db_reader *reader = NULL;
	const struct stored_segment *segments;

	assert_ok(segment_db_read(segment_store_of(store)->db, &reading, &reader));
	assert_int_equal(segment_db_reader_stored(reader, &segments), 1);
	return segments[0].info.id;
}

static void a_merged_segment_with_the_id_of_another_one_is_read(void **state)
{
	struct test_clock clock = test_clock_at(NOON + 2 * HOUR_NS);
	scoped(store_freep) struct store *store = open_segment_store(*state, &clock.clock, 0);
	uint64_t id = 0;

	for (uint32_t host = 1; host <= 4; host++) {
		assert_int_equal(write_batch(store, batch_of_process(host, NOON)), STORE_STORED);
		assert_services(store, 1, host);
		assert_ok(segment_store_settle(store));
		/* The first list reads the segment, the second one is made from the cache. */
		assert_services(store, 1, host);
		assert_services(store, 1, host);
		assert_true(host == 1 || segment_id(store) == id);
		id = segment_id(store);
	}
	assert_true(process_cache_bytes(segment_store_of(store)->processes) > 0);
}

static void a_service_that_was_deleted_is_not_listed(void **state)
{
	struct test_clock clock = test_clock_at(NOON + 2 * HOUR_NS);
	scoped(store_freep) struct store *store = open_segment_store(*state, &clock.clock, 0);

	assert_int_equal(write_batch(store, batch_of_process(1, NOON)), STORE_STORED);
	assert_ok(segment_store_settle(store));
	assert_services(store, 1, 1);
	assert_true(store_delete_service(store, "default", "server") > 0);
	assert_services(store, 0, 0);
	assert_int_equal(write_batch(store, batch_of_process(2, NOON)), STORE_STORED);
	assert_ok(segment_store_settle(store));
	assert_services(store, 1, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_merged_segment_with_the_id_of_another_one_is_read),
		in_folder(a_service_that_was_deleted_is_not_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
