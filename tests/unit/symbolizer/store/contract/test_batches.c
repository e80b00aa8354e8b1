/* SPDX-License-Identifier: Apache-2.0 */
/* Stored batches are read back: series, rows, stacks, executables, hosts; also after a restart. */

#include "tests/unit/symbolizer/store/contract/contract_fixture.h"

#define MIDNIGHT (NOON + 12 * 3600 * NSEC_PER_SEC)

static void stored_rows_are_found(void **state)
{
	const struct store_series_query query = { .type = EVENT_ON_CPU, .service = "server" };
	struct contract *contract = *state;
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_series *series;
	size_t count;

	assert_ok(arena_new(16 * MIB, &arena));
	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_STORED);
	view = open_view(contract->store, "default");
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
	assert_totals(contract->store, 0, 0, 3, 7);
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
	struct contract *contract = *state;
	scoped(arena_freep) struct arena *arena = NULL;

	assert_ok(arena_new(16 * MIB, &arena));
	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_STORED);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(store_view_closep) struct store_view *view =
			open_view(contract->store, cases[i].tenant);
		struct store_series *series;
		size_t count;

		assert_ok(store_find_series(view, &cases[i].query, arena, &series, &count));
		if (count != cases[i].count)
			fail_msg("case %zu: %zu series", i, count);
	}
}

static int ignore_row(void *arg, uint32_t series_index, uint64_t stack_id, uint64_t slot,
		      uint64_t value)
{
	(void)arg;
	(void)series_index;
	(void)stack_id;
	(void)slot;
	(void)value;
	return 0;
}

static void scans_and_sums_end_when_their_cancellation_is_requested(void **state)
{
	struct contract *contract = *state;
	scoped(store_view_closep) struct store_view *view = NULL;
	struct cancel cancel = {};
	const struct store_view_options options = { .tenant = "default", .cancel = &cancel };
	struct store_range range = { .n_series = 1, .to_slot = UINT64_MAX };
	struct store_sum_series summed = { .factor = 1 };
	const struct store_sum_query query = { .series = &summed,
					       .n_series = 1,
					       .to_slot = UINT64_MAX };
	struct store_series *series;
	struct store_sums sums = {};
	size_t count;

	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_STORED);
	assert_ok(store_view_open(contract->store, &options, &view));
	series = contract_series(contract, view, &count);
	range.series_ids = &series[0].id;
	summed.id = series[0].id;
	cancel_request(&cancel);
	assert_errno(store_scan(view, &range, ignore_row, NULL), -ECANCELED);
	assert_errno(store_sum(view, &query, &sums), -ECANCELED);
}

/* The rows of batch_at() are in three slots. */
struct stacks_by_slot {
	uint64_t stacks[3];
	size_t count;
};

static int keep_stack(void *arg, uint32_t series_index, uint64_t stack_id, uint64_t slot,
		      uint64_t value)
{
	struct stacks_by_slot *rows = arg;
	const uint64_t seconds = (NOON / SLOT_NS - slot) / (NSEC_PER_SEC / SLOT_NS);

	(void)series_index;
	(void)value;
	rows->stacks[seconds == 4 ? 0 : seconds == 3 ? 1 : 2] = stack_id;
	rows->count++;
	return 0;
}

static void stacks_are_loaded_leaf_first(void **state)
{
	struct contract *contract = *state;
	scoped(store_view_closep) struct store_view *view = NULL;
	struct store_range range = { .n_series = 1, .to_slot = UINT64_MAX };
	struct store_executable executable;
	struct store_stack stacks[3];
	struct stacks_by_slot rows = {};
	struct store_series *series;
	size_t count;

	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_STORED);
	view = open_view(contract->store, "default");
	series = contract_series(contract, view, &count);
	range.series_ids = &series[0].id;
	assert_ok(store_scan(view, &range, keep_stack, &rows));
	assert_int_equal(rows.count, 3);
	/* First from the file, then from the cache. */
	for (int i = 0; i < 2; i++) {
		assert_ok(store_load_stacks(view, rows.stacks, 3, contract->arena, stacks));
		assert_int_equal(stacks[0].n_frames, 3);
		assert_int_equal(stacks[0].cut, STACK_CUT_NONE);
		assert_int_equal(stacks[0].frames[0].address, 0x3000);
		assert_int_equal(stacks[0].frames[2].address, 0x1000);
		assert_int_equal(stacks[0].frames[2].kind, FRAME_NATIVE);
		assert_int_equal(stacks[1].n_frames, 2);
		assert_int_equal(stacks[1].cut, STACK_CUT_DEPTH);
		assert_int_equal(stacks[1].frames[0].address, 0x2000);
		assert_int_equal(stacks[2].n_frames, 0);
	}
	assert_ok(store_load_executables(view, &stacks[0].frames[0].object, 1, contract->arena,
					 &executable));
	assert_string_equal(executable.name, "server");
	assert_int_equal(executable.n_segments, 1);
	assert_int_equal(executable.segments[0].vaddr, 0x400000);
}

static void unknown_handles_have_no_content(void **state)
{
	static const uint64_t stacks[] = { 0, 99999, STORE_OTHER_STACKS };
	static const uint32_t executables[] = { 0, 99999 };
	struct contract *contract = *state;
	scoped(store_view_closep) struct store_view *view = NULL;
	struct store_executable found[2];
	struct store_stack loaded[3];

	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_STORED);
	view = open_view(contract->store, "default");
	assert_ok(store_load_stacks(view, stacks, 3, contract->arena, loaded));
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(loaded[i].n_frames, 0);
	assert_ok(store_load_executables(view, executables, 2, contract->arena, found));
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(found[i].identity.kind, EXECUTABLE_ID_NONE);
}

static void executables_are_found_by_their_identity(void **state)
{
	struct contract *contract = *state;
	scoped(store_view_closep) struct store_view *view = NULL;
	struct executable_id known = test_build_id(1);
	struct executable_id unknown = test_build_id(9);
	struct store_executable executable;

	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_STORED);
	view = open_view(contract->store, "default");
	assert_int_equal(store_find_executable(view, &known, contract->arena, &executable), 1);
	assert_true(executable_id_equal(&executable.identity, &known));
	assert_string_equal(executable.name, "server");
	assert_int_equal(store_find_executable(view, &unknown, contract->arena, &executable), 0);
}

static void paths_are_those_of_the_process(void **state)
{
	struct contract *contract = *state;
	scoped(store_view_closep) struct store_view *view = NULL;
	const struct store_process *process;
	struct store_series *series;
	const char *paths[5];
	size_t count;

	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_STORED);
	view = open_view(contract->store, "default");
	series = contract_series(contract, view, &count);
	process = series[0].process;
	assert_int_not_equal(process->main_executable, 0);
	{
		const struct store_mapped_file files[] = {
			{ process->id, process->main_executable },
			{ 0, process->main_executable },
			{ process->id, process->main_executable + 1 },
			{ process->id + 1, process->main_executable },
			{ process->id, 0 },
		};

		assert_ok(store_paths_of(view, files, ARRAY_SIZE(files), contract->arena, paths));
	}
	assert_string_equal(paths[0], "/usr/bin/server");
	assert_string_equal(paths[1], "/usr/bin/server");
	for (size_t i = 2; i < ARRAY_SIZE(paths); i++)
		assert_null(paths[i]);
}

static void a_resent_batch_is_a_duplicate(void **state)
{
	struct contract *contract = *state;

	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_STORED);
	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_DUPLICATE);
	assert_int_equal(contract_write(contract, batch_at(1, NOON, false)), STORE_DUPLICATE);
	contract_reopen(contract);
	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_DUPLICATE);
	assert_int_equal(contract_write(contract, batch_at(2, NOON, false)), STORE_STORED);
	assert_totals(contract->store, 0, 0, 6, 14);
}

static void a_batch_over_midnight_is_stored_in_both_days(void **state)
{
	struct contract *contract = *state;
	struct store_stats stats;

	/* Rows 2 s before midnight, 1 s before, and 1 s after it. */
	assert_int_equal(contract_write(contract, batch_at(1, MIDNIGHT + 2 * NSEC_PER_SEC, true)),
			 STORE_STORED);
	assert_totals(contract->store, 0, 0, 3, 7);
	assert_totals(contract->store, 0, MIDNIGHT, 2, 3);
	assert_totals(contract->store, MIDNIGHT, 0, 1, 4);
	assert_totals(contract->store, MIDNIGHT - NSEC_PER_SEC, MIDNIGHT + 2 * NSEC_PER_SEC, 2, 6);
	assert_ok(store_stats(contract->store, &stats));
	assert_int_equal(stats.n_batches, 1);
	assert_int_equal(stats.n_rows, 3);
	assert_int_equal(contract_write(contract, batch_at(1, MIDNIGHT + 2 * NSEC_PER_SEC, true)),
			 STORE_DUPLICATE);
	contract_reopen(contract);
	assert_int_equal(contract_write(contract, batch_at(1, MIDNIGHT + 2 * NSEC_PER_SEC, true)),
			 STORE_DUPLICATE);
	assert_totals(contract->store, 0, 0, 3, 7);
}

static void samples_from_before_an_exec_keep_their_name(void **state)
{
	struct contract *contract = *state;
	scoped(store_view_closep) struct store_view *view = NULL;
	struct batch_builder *builder;

	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_STORED);
	builder = batch_builder_new(1, EPOCH, 2, NOON, NOON + NSEC_PER_SEC);
	batch_builder_process(builder, 1, 4711, 99, "worker", 1);
	batch_builder_series(builder, 2, 1, 4711, "worker", EVENT_ON_CPU, 10 * NSEC_PER_MSEC);
	batch_builder_row(builder, 2, 1, NOON, 1);
	assert_int_equal(contract_write(contract, builder), STORE_STORED);
	{
		static const char *const services[] = { "server", "worker" };
		scoped(arena_freep) struct arena *arena = NULL;

		assert_ok(arena_new(MIB, &arena));
		view = open_view(contract->store, "default");
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
	struct contract *contract = *state;
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch_builder *builder;
	struct store_mapped_file file = { .executable = 1 };
	struct store_series *series;
	const char *path;
	size_t count;

	assert_ok(arena_new(MIB, &arena));
	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_STORED);
	builder = batch_at(3, NOON + 10 * NSEC_PER_SEC, false);
	batch_builder_process(builder, 1, 4711, 99, "server", 1);
	batch_builder_path(builder, 1, "/opt/server");
	batch_builder_label(builder, "service", "store");
	assert_int_equal(contract_write(contract, builder), STORE_STORED);
	/* A late batch from a spool. */
	builder = batch_at(2, NOON + 5 * NSEC_PER_SEC, true);
	assert_int_equal(contract_write(contract, builder), STORE_STORED);

	view = open_view(contract->store, "default");
	assert_ok(store_find_series(view, &query, arena, &series, &count));
	assert_int_equal(count, 1);
	assert_string_equal(series->process->labels[0].value, "store");
	file.process = series->process->id;
	assert_ok(store_paths_of(view, &file, 1, arena, &path));
	assert_string_equal(path, "/opt/server");
}

/* Writes a batch after the earlier ones that gives process 1 this label. */
static void write_label(struct contract *contract, uint64_t sequence, const char *value)
{
	struct batch_builder *builder =
		batch_at(sequence, NOON + (sequence - 1) * 10 * NSEC_PER_SEC, sequence == 1);

	if (sequence > 1) {
		batch_builder_process(builder, 1, 4711, 99, "server", 1);
		batch_builder_label(builder, "service", value);
	}
	assert_int_equal(contract_write(contract, builder), STORE_STORED);
}

/* Asserts that one series has all samples of the range, and its process this label only. */
static void assert_label(struct contract *contract, uint64_t to_slot, const char *value)
{
	const struct store_series_query query = { .to_slot = to_slot };
	scoped(store_view_closep) struct store_view *view = open_view(contract->store, "default");
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_series *series;
	size_t count;

	assert_ok(arena_new(MIB, &arena));
	assert_ok(store_find_series(view, &query, arena, &series, &count));
	assert_int_equal(count, 1);
	assert_int_equal(series->first_slot, (NOON - 4 * NSEC_PER_SEC) / SLOT_NS);
	assert_int_equal(series->process->n_labels, 1);
	assert_string_equal(series->process->labels[0].value, value);
}

static void labels_learned_later_are_also_those_of_earlier_samples(void **state)
{
	/* "shop" is the label that the first batch defines. */
	static const char *const values[] = { "shop", "store", "shop", "a" };
	struct contract *contract = *state;

	for (uint64_t i = 0; i < ARRAY_SIZE(values); i++) {
		write_label(contract, i + 1, values[i]);
		assert_label(contract, 0, values[i]);
	}
	/* The next batch may be stored apart from the earlier ones. */
	contract_reopen(contract);
	assert_label(contract, 0, "a");
	write_label(contract, ARRAY_SIZE(values) + 1, "shop");
	assert_label(contract, 0, "shop");
}

static void hosts_are_listed_with_their_latest_state(void **state)
{
	struct contract *contract = *state;
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(store_view_closep) struct store_view *other = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	struct batch_builder *builder;
	struct store_host *hosts;
	size_t count;

	assert_ok(arena_new(MIB, &arena));
	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_STORED);
	builder = batch_at(2, NOON + 5 * NSEC_PER_SEC, false);
	batch_builder_host(builder, "renamed", "0.2.0");
	assert_int_equal(contract_write(contract, builder), STORE_STORED);
	assert_int_equal(contract_write(contract, batch_at(3, NOON - 60 * NSEC_PER_SEC, false)),
			 STORE_STORED);

	view = open_view(contract->store, "default");
	assert_ok(store_list_hosts(view, arena, &hosts, &count));
	assert_int_equal(count, 1);
	assert_string_equal(hosts->name, "renamed");
	assert_string_equal(hosts->agent_version, "0.2.0");
	assert_string_equal(hosts->kernel_release, "6.1.0");
	assert_int_equal(hosts->n_cpus, 2);
	assert_int_equal(hosts->last_seen_ns, NOON + 5 * NSEC_PER_SEC);
	other = open_view(contract->store, "other");
	assert_ok(store_list_hosts(other, arena, &hosts, &count));
	assert_int_equal(count, 0);
}

static void tenants_do_not_see_each_other(void **state)
{
	struct contract *contract = *state;
	struct store_missing missing;

	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_STORED);
	/* Agent, epoch and sequence are equal, but the numbers belong to the other tenant. */
	assert_int_equal(contract_write_in(contract, "other", batch_at(1, NOON, false), &missing),
			 STORE_NEEDS_NUMBERS);
	assert_int_equal(contract_write_in(contract, "other", batch_at(1, NOON, true), &missing),
			 STORE_STORED);
	assert_totals(contract->store, 0, 0, 3, 7);
}

static void a_second_server_cannot_open_the_folder(void **state)
{
	struct contract *contract = *state;
	struct store *second;

	assert_errno(contract->engine->open(contract->folder, &contract->clock, &contract->limits,
					    &second),
		     -EBUSY);
	assert_ok(store_check(contract->store));
}

static void more_views_than_readers_can_be_open(void **state)
{
	enum { N_VIEWS = 100 };
	struct contract *contract = *state;
	struct store_view *views[N_VIEWS];
	size_t count;

	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_STORED);
	for (size_t i = 0; i < N_VIEWS; i++) {
		views[i] = open_view(contract->store, i % 2 ? "other" : "default");
		(void)contract_series(contract, views[i], &count);
		assert_int_equal(count, i % 2 ? 0 : 1);
	}
	assert_int_equal(contract_write(contract, batch_at(2, NOON, false)), STORE_STORED);
	for (size_t i = 0; i < N_VIEWS; i++) {
		(void)contract_series(contract, views[i], &count);
		assert_int_equal(count, i % 2 ? 0 : 1);
		assert_null(store_view_close(views[i]));
	}
}

static void a_sum_is_taken_from_the_memory_of_its_view(void **state)
{
	struct contract *contract = *state;
	struct memory_budget budget = { .limit_bytes = 64 * MIB };
	const struct store_view_options options = { .tenant = "default", .memory = &budget };
	struct store_sum_series summed = { .factor = 1 };
	const struct store_sum_query query = { .series = &summed,
					       .n_series = 1,
					       .to_slot = UINT64_MAX };
	struct store_view *view = NULL;
	struct store_series *series;
	struct store_sums sums;
	uint64_t left_bytes;
	size_t count;

	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_STORED);
	assert_ok(store_view_open(contract->store, &options, &view));
	series = contract_series(contract, view, &count);
	summed.id = series[0].id;
	assert_ok(store_sum(view, &query, &sums));
	assert_true(budget.used_bytes > 0);
	store_sums_release(&sums);
	left_bytes = budget.limit_bytes - budget.used_bytes;
	assert_true(memory_budget_take(&budget, left_bytes));
	assert_errno(store_sum(view, &query, &sums), -ENOMEM);
	memory_budget_give(&budget, left_bytes);
	(void)store_view_close(view);
	assert_int_equal(budget.used_bytes, 0);
}

static void a_deleted_service_has_no_samples_of_its_tenant(void **state)
{
	struct contract *contract = *state;
	int r;

	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_STORED);
	assert_int_equal(contract_write_in(contract, "other", batch_at(1, NOON, true), NULL),
			 STORE_STORED);
	r = store_delete_service(contract->store, "other", "server");
	if (r == -EOPNOTSUPP)
		return;
	assert_int_equal(r, 1);
	assert_int_equal(store_delete_service(contract->store, "other", "server"), 0);
	assert_int_equal(store_delete_service(contract->store, "default", "worker"), 0);
	assert_totals(contract->store, 0, 0, 3, 7);
	assert_int_equal(store_delete_service(contract->store, "default", "server"), 1);
	assert_totals(contract->store, 0, 0, 0, 0);
	assert_int_equal(contract_write(contract, batch_at(1, NOON, true)), STORE_DUPLICATE);
	assert_int_equal(contract_write(contract, batch_at(2, NOON, false)), STORE_STORED);
	assert_totals(contract->store, 0, 0, 3, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_each_engine(stored_rows_are_found),
		on_each_engine(queries_select_by_service_type_tenant_and_time),
		on_each_engine(scans_and_sums_end_when_their_cancellation_is_requested),
		on_each_engine(stacks_are_loaded_leaf_first),
		on_each_engine(unknown_handles_have_no_content),
		on_each_engine(executables_are_found_by_their_identity),
		on_each_engine(paths_are_those_of_the_process),
		on_each_engine(a_resent_batch_is_a_duplicate),
		on_each_engine(a_batch_over_midnight_is_stored_in_both_days),
		on_each_engine(samples_from_before_an_exec_keep_their_name),
		on_each_engine(paths_and_labels_are_updated_in_place),
		on_each_engine(labels_learned_later_are_also_those_of_earlier_samples),
		on_each_engine(hosts_are_listed_with_their_latest_state),
		on_each_engine(tenants_do_not_see_each_other),
		on_each_engine(a_second_server_cannot_open_the_folder),
		on_each_engine(more_views_than_readers_can_be_open),
		on_each_engine(a_sum_is_taken_from_the_memory_of_its_view),
		on_each_engine(a_deleted_service_has_no_samples_of_its_tenant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
