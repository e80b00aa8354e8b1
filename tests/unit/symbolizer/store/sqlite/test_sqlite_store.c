/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stored batches are read back: series, rows, stacks, executables, hosts; over several days,
 * restarts and retention.
 */

#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#define MIDNIGHT (NOON + 12 * 3600 * NSEC_PER_SEC)

static void stored_rows_are_found(void **state)
{
	const struct store_series_query query = { .type = EVENT_ON_CPU, .service = "server" };
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_series *series;
	size_t count;

	assert_ok(arena_new(16 * MIB, &arena));
	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	view = open_view(store, "default");
	assert_ok(store_find_series(view, &query, arena, &series, &count));
	assert_int_equal(count, 1);
	assert_string_equal(series->tenant, "default");
	assert_string_equal(series->thread_name, "main");
	assert_int_equal(series->tid, 4711);
	assert_int_equal(series->cpu, -1);
	assert_int_equal(series->period_ns, 10 * NSEC_PER_MSEC);
	assert_int_equal(series->first_slot, (NOON - 4 * NSEC_PER_SEC) / SLOT_NS);
	assert_int_equal(series->last_slot, (NOON - NSEC_PER_SEC) / SLOT_NS);
	assert_string_equal(series->process->name, "server");
	assert_int_equal(series->process->pid, 4711);
	assert_int_equal(series->process->n_labels, 1);
	assert_string_equal(series->process->labels[0].name, "service");
	assert_string_equal(series->process->labels[0].value, "shop");
	assert_string_equal(series->process->host->name, "host-1");
	assert_string_equal(series->process->host->agent_id, "01010101010101010101010101010101");
	assert_totals(store, 0, 0, 3, 7);
}

static void queries_select_by_service_type_tenant_and_time(void **state)
{
	static const struct {
		const char *tenant;
		struct store_series_query query;
		size_t count;
	} cases[] = {
		{ "default", {}, 1 },
		{ "default", { .service = "server" }, 1 },
		{ "default", { .service = "serve" }, 0 },
		{ "default", { .service = "server", .type = EVENT_OFF_CPU }, 0 },
		{ "default", { .type = EVENT_OFF_CPU }, 0 },
		{ "other", {}, 0 },
		{ "other", { .service = "server" }, 0 },
		{ "default", { .from_slot = NOON / SLOT_NS }, 0 },
		{ "default", { .from_slot = NOON / SLOT_NS - 100 }, 1 },
		{ "default", { .to_slot = NOON / SLOT_NS - 400 }, 0 },
		{ "default", { .to_slot = NOON / SLOT_NS - 399 }, 1 },
		{ "default", { .service = "server", .from_slot = UINT64_MAX / 2 }, 0 },
	};
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	scoped(arena_freep) struct arena *arena = NULL;

	assert_ok(arena_new(16 * MIB, &arena));
	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(store_view_closep) struct store_view *view =
			open_view(store, cases[i].tenant);
		struct store_series *series;
		size_t count;

		assert_ok(store_find_series(view, &cases[i].query, arena, &series, &count));
		if (count != cases[i].count)
			fail_msg("case %zu: %zu series", i, count);
	}
}

struct last_rows {
	uint64_t stacks[8];
	size_t count;
};

static int keep_stack(void *arg, uint32_t series_index, uint64_t stack_id, uint64_t slot,
		      uint64_t value)
{
	struct last_rows *rows = arg;

	(void)series_index;
	(void)slot;
	(void)value;
	rows->stacks[rows->count++] = stack_id;
	return 0;
}

static int count_and_cancel(void *arg, uint32_t series_index, uint64_t stack_id, uint64_t slot,
			    uint64_t value)
{
	(void)series_index;
	(void)stack_id;
	(void)slot;
	(void)value;
	cancel_request(arg);
	return 0;
}

static void a_scan_ends_at_the_next_block_when_its_cancellation_is_requested(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	scoped(store_view_closep) struct store_view *view = NULL;
	struct cancel cancel = {};
	uint64_t series = 1;
	const struct store_range range = {
		.series_ids = &series,
		.n_series = 1,
		.to_slot = UINT64_MAX,
	};
	const struct store_view_options options = { .tenant = "default", .cancel = &cancel };

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	assert_ok(store_view_open(store, &options, &view));
	assert_ok(store_scan(view, &range, count_and_cancel, &cancel));
	assert_int_equal(write_batch(store, batch_at(2, NOON, false)), STORE_STORED);
	cancel = (struct cancel){};
	assert_errno(store_scan(view, &range, count_and_cancel, &cancel), -ECANCELED);
	assert_errno(store_sum(view,
			       &(struct store_sum_query){
				       .series = &(struct store_sum_series){ .id = 1, .factor = 1 },
				       .n_series = 1,
				       .to_slot = UINT64_MAX },
			       &(struct store_sums){}),
		     -ECANCELED);
}

static void stacks_are_loaded_leaf_first(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_executable executable;
	struct store_stack stacks[4];
	struct last_rows rows = {};
	uint64_t series = 1;

	assert_ok(arena_new(16 * MIB, &arena));
	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	view = open_view(store, "default");
	assert_ok(store_scan(view,
			     &(struct store_range){
				     .series_ids = &series, .n_series = 1, .to_slot = UINT64_MAX },
			     keep_stack, &rows));
	assert_int_equal(rows.count, 3);
	rows.stacks[3] = 99999;
	/* First from the file, then from the cache. */
	for (int i = 0; i < 2; i++) {
		assert_ok(store_load_stacks(view, rows.stacks, 4, arena, stacks));
		assert_int_equal(stacks[0].n_frames, 3);
		assert_int_equal(stacks[0].cut, STACK_CUT_NONE);
		assert_int_equal(stacks[0].frames[0].address, 0x3000);
		assert_int_equal(stacks[0].frames[2].address, 0x1000);
		assert_int_equal(stacks[0].frames[2].kind, FRAME_NATIVE);
		assert_int_equal(stacks[1].n_frames, 2);
		assert_int_equal(stacks[1].cut, STACK_CUT_DEPTH);
		assert_int_equal(stacks[1].frames[0].address, 0x2000);
		assert_int_equal(stacks[2].n_frames, 0);
		assert_int_equal(stacks[3].n_frames, 0);
	}
	assert_ok(store_load_executables(view, &stacks[0].frames[0].object, 1, arena, &executable));
	assert_string_equal(executable.name, "server");
	assert_int_equal(executable.n_segments, 1);
	assert_int_equal(executable.segments[0].vaddr, 0x400000);
}

static void executables_and_paths_are_looked_up(void **state)
{
	static const struct store_mapped_file files[] = {
		{ 1, 1 }, { 0, 1 }, { 0, 2 }, { 1, 2 }, { 2, 1 },
	};
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	scoped(store_view_closep) struct store_view *view = NULL;
	struct batch_builder *builder = batch_at(1, NOON, true);
	scoped(arena_freep) struct arena *arena = NULL;
	struct executable_id known = test_build_id(1);
	struct executable_id unknown = test_build_id(9);
	struct store_executable executables[3];
	uint32_t ids[3] = { 0, 1, 1000 };
	const char *paths[ARRAY_SIZE(files)];

	assert_ok(arena_new(16 * MIB, &arena));
	assert_int_equal(write_batch(store, builder), STORE_STORED);
	view = open_view(store, "default");
	assert_int_equal(store_find_executable(view, &known, arena, executables), 1);
	assert_int_equal(executables[0].id, 1);
	assert_true(executable_id_equal(&executables[0].identity, &known));
	assert_int_equal(store_find_executable(view, &unknown, arena, executables), 0);
	assert_ok(store_load_executables(view, ids, 3, arena, executables));
	assert_int_equal(executables[0].identity.kind, EXECUTABLE_ID_NONE);
	assert_string_equal(executables[1].name, "server");
	assert_int_equal(executables[2].identity.kind, EXECUTABLE_ID_NONE);
	assert_ok(store_paths_of(view, files, ARRAY_SIZE(files), arena, paths));
	assert_string_equal(paths[0], "/usr/bin/server");
	assert_string_equal(paths[1], "/usr/bin/server");
	for (size_t i = 2; i < ARRAY_SIZE(files); i++)
		assert_null(paths[i]);
}

static void equal_stacks_of_two_agents_have_one_id(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	struct store_stats one_host, two_hosts;
	struct batch_builder *builder;

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	assert_ok(store_stats(store, &one_host));
	assert_int_equal(one_host.n_stacks, 2);
	/* Another host has the same executable, with another number. */
	builder = batch_builder_new(2, EPOCH + 1, 1, NOON - NSEC_PER_SEC, NOON);
	{
		struct executable_id id = test_build_id(1);
		const struct batch_frame frames[] = { { FRAME_NATIVE, 8, 0x3000 },
						      { FRAME_NATIVE, 8, 0x2000 },
						      { FRAME_NATIVE, 8, 0x1000 } };

		batch_builder_executable(builder, 8, &id, "server", ROLE_USER);
		batch_builder_process(builder, 5, 1, 1, "server", 8);
		batch_builder_series(builder, 6, 5, 1, "server", EVENT_ON_CPU, 1);
		batch_builder_stack(builder, 7, STACK_CUT_NONE, frames, 3);
		batch_builder_row(builder, 6, 7, NOON - NSEC_PER_SEC, 1);
	}
	assert_int_equal(write_batch(store, builder), STORE_STORED);
	assert_ok(store_stats(store, &two_hosts));
	assert_int_equal(two_hosts.n_stacks, 2);
	assert_int_equal(two_hosts.n_processes, 2);
	assert_int_equal(two_hosts.n_series, 2);
	assert_int_equal(two_hosts.n_batches, 2);
	assert_int_equal(two_hosts.n_rows, 4);
	assert_true(two_hosts.disk_bytes > 0);
}

static void a_resent_batch_is_a_duplicate(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	struct store *store = open_store(*state, &clock);

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_DUPLICATE);
	assert_int_equal(write_batch(store, batch_at(1, NOON, false)), STORE_DUPLICATE);
	(void)store_free(store);
	store = open_store(*state, &clock);
	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_DUPLICATE);
	assert_int_equal(write_batch(store, batch_at(2, NOON, false)), STORE_STORED);
	assert_totals(store, 0, 0, 6, 14);
	(void)store_free(store);
}

static void a_batch_over_midnight_is_stored_in_both_days(void **state)
{
	struct test_clock clock = test_clock_at(MIDNIGHT);
	struct store *store = open_store(*state, &clock);
	struct store_stats stats;

	/* Rows 2 s before midnight, 1 s before, and 1 s after it. */
	assert_int_equal(write_batch(store, batch_at(1, MIDNIGHT + 2 * NSEC_PER_SEC, true)),
			 STORE_STORED);
	assert_totals(store, 0, 0, 3, 7);
	assert_totals(store, 0, MIDNIGHT, 2, 3);
	assert_totals(store, MIDNIGHT, 0, 1, 4);
	assert_totals(store, MIDNIGHT - NSEC_PER_SEC, MIDNIGHT + 2 * NSEC_PER_SEC, 2, 6);
	assert_ok(store_stats(store, &stats));
	assert_int_equal(stats.n_batches, 1);
	assert_int_equal(stats.n_rows, 3);
	assert_int_equal(write_batch(store, batch_at(1, MIDNIGHT + 2 * NSEC_PER_SEC, true)),
			 STORE_DUPLICATE);
	(void)store_free(store);

	store = open_store(*state, &clock);
	assert_int_equal(write_batch(store, batch_at(1, MIDNIGHT + 2 * NSEC_PER_SEC, true)),
			 STORE_DUPLICATE);
	assert_totals(store, 0, 0, 3, 7);
	(void)store_free(store);
}

static void a_resent_batch_adds_the_missing_day(void **state)
{
	struct test_clock clock = test_clock_at(MIDNIGHT);
	struct store *store = open_store(*state, &clock);
	size_t removed;

	/* The state after a crash between the two days, except that the second day was stored. */
	assert_int_equal(write_batch(store, batch_at(1, MIDNIGHT + 2 * NSEC_PER_SEC, true)),
			 STORE_STORED);
	assert_ok(sqlite_store_prune(store, MIDNIGHT, &removed));
	assert_int_equal(removed, 1);
	assert_totals(store, 0, 0, 1, 4);
	assert_int_equal(write_batch(store, batch_at(1, MIDNIGHT + 2 * NSEC_PER_SEC, true)),
			 STORE_STORED);
	assert_totals(store, 0, 0, 3, 7);
	(void)store_free(store);
}

static void retention_removes_whole_days(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	const uint64_t day = 24 * 3600 * NSEC_PER_SEC;
	scoped_free char *path = path_in(*state, "samples-2026-01-01.db");
	size_t removed;

	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(write_batch(store, batch_at(1 + i, NOON + i * day, i == 0)),
				 STORE_STORED);
	assert_totals(store, 0, 0, 12, 28);
	assert_int_equal(access(path, F_OK), 0);
	/* A day is kept until all of it is older than the retention. */
	assert_ok(sqlite_store_prune(store, NOON + 2 * day, &removed));
	assert_int_equal(removed, 2);
	assert_totals(store, 0, 0, 6, 14);
	assert_int_equal(access(path, F_OK), -1);
	/* A late batch creates the day again, and readers that had it open find the new file. */
	assert_int_equal(write_batch(store, batch_at(9, NOON, false)), STORE_STORED);
	assert_totals(store, 0, 0, 9, 21);
}

static void samples_from_before_an_exec_keep_their_name(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	scoped(store_view_closep) struct store_view *view = NULL;
	struct batch_builder *builder;
	struct store_stats stats;

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	builder = batch_builder_new(1, EPOCH, 2, NOON, NOON + NSEC_PER_SEC);
	batch_builder_process(builder, 1, 4711, 99, "worker", 1);
	batch_builder_series(builder, 2, 1, 4711, "worker", EVENT_ON_CPU, 10 * NSEC_PER_MSEC);
	batch_builder_row(builder, 2, 1, NOON, 1);
	assert_int_equal(write_batch(store, builder), STORE_STORED);
	assert_ok(store_stats(store, &stats));
	assert_int_equal(stats.n_processes, 2);
	{
		static const char *const services[] = { "server", "worker" };
		scoped(arena_freep) struct arena *arena = NULL;

		assert_ok(arena_new(MIB, &arena));
		view = open_view(store, "default");
		for (size_t i = 0; i < 2; i++) {
			const struct store_series_query query = { .service = services[i] };
			struct store_series *series;
			size_t count;

			assert_ok(store_find_series(view, &query, arena, &series, &count));
			assert_int_equal(count, 1);
		}
	}
}

static void paths_and_labels_are_updated_in_place(void **state)
{
	const struct store_series_query query = {};
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch_builder *builder;
	struct store_mapped_file file = { .executable = 1 };
	struct store_series *series;
	const char *path;
	size_t count;

	assert_ok(arena_new(MIB, &arena));
	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	builder = batch_at(3, NOON + 10 * NSEC_PER_SEC, false);
	batch_builder_process(builder, 1, 4711, 99, "server", 1);
	batch_builder_path(builder, 1, "/opt/server");
	batch_builder_label(builder, "service", "store");
	assert_int_equal(write_batch(store, builder), STORE_STORED);
	/* A late batch from a spool. */
	builder = batch_at(2, NOON + 5 * NSEC_PER_SEC, true);
	assert_int_equal(write_batch(store, builder), STORE_STORED);

	view = open_view(store, "default");
	assert_ok(store_find_series(view, &query, arena, &series, &count));
	assert_int_equal(count, 1);
	assert_string_equal(series->process->labels[0].value, "store");
	file.process = series->process->id;
	assert_ok(store_paths_of(view, &file, 1, arena, &path));
	assert_string_equal(path, "/opt/server");
}

static void hosts_are_listed_with_their_latest_state(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(store_view_closep) struct store_view *other = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch_builder *builder;
	struct store_host *hosts;
	size_t count;

	assert_ok(arena_new(MIB, &arena));
	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	builder = batch_at(2, NOON + 5 * NSEC_PER_SEC, false);
	batch_builder_host(builder, "renamed", "0.2.0");
	assert_int_equal(write_batch(store, builder), STORE_STORED);
	assert_int_equal(write_batch(store, batch_at(3, NOON - 60 * NSEC_PER_SEC, false)),
			 STORE_STORED);

	view = open_view(store, "default");
	assert_ok(store_list_hosts(view, arena, &hosts, &count));
	assert_int_equal(count, 1);
	assert_string_equal(hosts->name, "renamed");
	assert_string_equal(hosts->agent_version, "0.2.0");
	assert_string_equal(hosts->kernel_release, "6.1.0");
	assert_int_equal(hosts->n_cpus, 2);
	assert_int_equal(hosts->last_seen_ns, NOON + 5 * NSEC_PER_SEC);
	other = open_view(store, "other");
	assert_ok(store_list_hosts(other, arena, &hosts, &count));
	assert_int_equal(count, 0);
}

static void tenants_do_not_see_each_other(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_missing missing;

	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &arena));
	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	/* Agent, epoch and sequence are equal, but the numbers belong to the other tenant. */
	assert_int_equal(write_batch_in(store, "other", batch_at(1, NOON, false), arena, &missing),
			 STORE_NEEDS_NUMBERS);
	assert_int_equal(write_batch_in(store, "other", batch_at(1, NOON, true), arena, &missing),
			 STORE_STORED);
	assert_totals(store, 0, 0, 3, 7);
}

static void a_second_server_cannot_open_the_folder(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	struct store *second;

	assert_errno(sqlite_store_open(*state, &clock.clock, &second), -EBUSY);
	assert_ok(store_check(store));
}

#define in_folder(test)                                                                            \
	cmocka_unit_test_setup_teardown(test, temp_folder_setup, temp_folder_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(stored_rows_are_found),
		in_folder(queries_select_by_service_type_tenant_and_time),
		in_folder(a_scan_ends_at_the_next_block_when_its_cancellation_is_requested),
		in_folder(stacks_are_loaded_leaf_first),
		in_folder(executables_and_paths_are_looked_up),
		in_folder(equal_stacks_of_two_agents_have_one_id),
		in_folder(a_resent_batch_is_a_duplicate),
		in_folder(a_batch_over_midnight_is_stored_in_both_days),
		in_folder(a_resent_batch_adds_the_missing_day),
		in_folder(retention_removes_whole_days),
		in_folder(samples_from_before_an_exec_keep_their_name),
		in_folder(paths_and_labels_are_updated_in_place),
		in_folder(hosts_are_listed_with_their_latest_state),
		in_folder(tenants_do_not_see_each_other),
		in_folder(a_second_server_cannot_open_the_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
