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

/* Services with samples in a range of seconds after NOON, and their processes. */
struct listed {
	size_t n_services;
	uint32_t n_processes;
	uint64_t first_slot, last_slot;
	char names[128];
};

static int compare_event_names(const void *a, const void *b)
{
	return strcmp(((const struct store_active_service *)a)->event->name,
		      ((const struct store_active_service *)b)->event->name);
}

static struct listed list_in(struct store_view *view, uint64_t from_s, uint64_t to_s)
{
	const struct store_series_query query = {
		.from_slot = (NOON + from_s * NSEC_PER_SEC) / SLOT_NS,
		.to_slot = (NOON + to_s * NSEC_PER_SEC) / SLOT_NS,
	};
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_active_service *services;
	struct listed listed = { .first_slot = UINT64_MAX };

	assert_ok(arena_new(MIB, &arena));
	assert_ok(store_active_services(view, &query, arena, &services, &listed.n_services));
	qsort(services, listed.n_services, sizeof(*services), compare_event_names);
	for (size_t i = 0; i < listed.n_services; i++) {
		listed.n_processes += services[i].n_processes;
		listed.first_slot = MIN(listed.first_slot, services[i].first_slot);
		listed.last_slot = MAX(listed.last_slot, services[i].last_slot);
		assert_string_equal(services[i].name, "server");
		(void)snprintf(listed.names + strlen(listed.names),
			       sizeof(listed.names) - strlen(listed.names), "%s %s %d;",
			       services[i].event->name, services[i].event->unit,
			       services[i].event->kind);
	}
	return listed;
}

/*
 * One process has samples in the seconds 10 and 50, a second one in second 30. The samples of the
 * third one have an event type that the server does not know.
 */
static struct batch_builder *batch_of_three(void)
{
	const struct batch_event_type unknown = { "page-faults-new", "faults", EVENT_VALUE_SUM };
	struct batch_builder *builder =
		batch_builder_new(1, EPOCH, 1, NOON, NOON + 60 * NSEC_PER_SEC);

	batch_builder_use_format_2(builder);
	for (uint32_t i = 1; i <= 3; i++)
		batch_builder_process(builder, i, 4710 + i, 99, "server", 0);
	batch_builder_series(builder, 1, 1, 4711, "main", EVENT_MEM_INUSE, 0);
	batch_builder_series(builder, 2, 2, 4712, "main", EVENT_MEM_INUSE, 0);
	batch_builder_described_series(builder, 3, 3, 4713, &unknown);
	batch_builder_row(builder, 1, 0, NOON + 10 * NSEC_PER_SEC, 1);
	batch_builder_row(builder, 1, 0, NOON + 50 * NSEC_PER_SEC, 1);
	batch_builder_row(builder, 2, 0, NOON + 30 * NSEC_PER_SEC, 1);
	batch_builder_row(builder, 3, 0, NOON + 40 * NSEC_PER_SEC, 1);
	return builder;
}

/* In the ranges from second 20 to 40, the first process has samples before and after only. */
static void rows_in_memory_are_listed_like_rows_on_disk(void **state)
{
	struct test_clock clock = test_clock_at(NOON + 60 * NSEC_PER_SEC);
	scoped(store_freep) struct store *store = open_segment_store(*state, &clock.clock, 0);
	struct listed listed[8][8];

	assert_int_equal(write_batch(store, batch_of_three()), STORE_STORED);
	for (uint64_t from = 0; from < 7; from++) {
		for (uint64_t to = from + 1; to < 8; to++) {
			scoped(store_view_closep) struct store_view *view =
				open_view(store, "default");

			listed[from][to] = list_in(view, 10 * from, 10 * to);
		}
	}
	assert_int_equal(listed[2][3].n_services, 0);
	assert_int_equal(listed[2][4].n_processes, 1);
	assert_int_equal(listed[1][4].n_processes, 2);
	assert_int_equal(listed[1][5].n_processes, 3);
	assert_string_equal(listed[4][5].names, "page-faults-new faults 2;");
	assert_ok(segment_store_settle(store));
	for (uint64_t from = 0; from < 7; from++) {
		for (uint64_t to = from + 1; to < 8; to++) {
			scoped(store_view_closep) struct store_view *view =
				open_view(store, "default");
			const struct listed on_disk = list_in(view, 10 * from, 10 * to);
			const struct listed *in_memory = &listed[from][to];

			assert_int_equal(in_memory->n_services, on_disk.n_services);
			assert_int_equal(in_memory->n_processes, on_disk.n_processes);
			assert_string_equal(in_memory->names, on_disk.names);
		}
	}
}

static void a_view_reads_the_rows_in_memory_after_a_list(void **state)
{
	struct test_clock clock = test_clock_at(NOON + 60 * NSEC_PER_SEC);
	scoped(store_freep) struct store *store = open_segment_store(*state, &clock.clock, 0);
	const struct store_series_query query = { .type = EVENT_MEM_INUSE };
	scoped(store_view_closep) struct store_view *view = NULL;
	struct store_sum_series selected[2];
	struct store_sum_query sum = { .series = selected, .to_slot = UINT64_MAX };
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_sums sums;
	struct store_series *series;

	assert_ok(arena_new(MIB, &arena));
	assert_int_equal(write_batch(store, batch_of_three()), STORE_STORED);
	view = open_view(store, "default");
	assert_int_equal(list_in(view, 0, 60).n_processes, 3);
	assert_ok(store_find_series(view, &query, arena, &series, &sum.n_series));
	assert_int_equal(sum.n_series, 2);
	for (size_t i = 0; i < 2; i++)
		selected[i] = (struct store_sum_series){ .id = series[i].id, .factor = 1 };
	assert_ok(store_sum(view, &sum, &sums));
	assert_int_equal(sums.n_rows, 3);
	store_sums_release(&sums);
	assert_int_equal(list_in(view, 0, 60).n_processes, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_merged_segment_with_the_id_of_another_one_is_read),
		in_folder(a_service_that_was_deleted_is_not_listed),
		in_folder(rows_in_memory_are_listed_like_rows_on_disk),
		in_folder(a_view_reads_the_rows_in_memory_after_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
