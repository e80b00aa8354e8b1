/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/contract/contract_fixture.h"

#include "symbolizer/store/segment_db/day_file.h"
#include "symbolizer/store/segment_store/segment_backup.h"
#include "symbolizer/store/sqlite/day_files.h"
#include "symbolizer/store/sqlite/store_backup.h"

static int open_sqlite(const char *folder, const struct test_clock *clock,
		       const struct retention_limits *limits, struct store **ret_store)
{
	int r;

	sqlite_store_make_room(folder, &clock->clock, limits);
	r = sqlite_store_open(folder, &clock->clock, ret_store);
	if (r == 0) {
		store_set_retention(*ret_store, limits->age_ns);
		store_set_max_bytes(*ret_store, limits->max_bytes);
	}
	return r;
}

static uint64_t sqlite_bytes(const char *folder, size_t *ret_days)
{
	scoped_fd int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	scoped(arena_freep) struct arena *arena = NULL;
	struct day_file *files;

	assert_true(fd >= 0);
	assert_ok(arena_new(MIB, &arena));
	assert_ok(day_samples_list(fd, arena, &files, ret_days));
	return store_files_bytes(fd);
}

static int back_up_sqlite(const char *folder, const char *target)
{
	scoped(store_snapshots_freep) struct store_snapshots *snapshots = NULL;
	int r = store_snapshots_open(folder, &snapshots);

	return r < 0 ? r : store_snapshots_copy(snapshots, target);
}

static int open_segments(const char *folder, const struct test_clock *clock,
			 const struct retention_limits *limits, struct store **ret_store)
{
	const struct segment_store_options options = {
		.folder = folder,
		.clock = &clock->clock,
		.decoder = segment_test_decoder(),
		.retention_ns = limits->age_ns,
		.max_bytes = limits->max_bytes,
	};

	return segment_store_open(&options, ret_store);
}

static uint64_t segments_bytes(const char *folder, size_t *ret_days)
{
	scoped(segment_days_release) struct segment_days days = {};
	uint64_t bytes = segment_db_inbox_bytes(folder);

	assert_ok(day_files_list(folder, &days));
	for (size_t i = 0; i < days.count; i++)
		bytes += day_file_bytes(folder, days.items[i]);
	*ret_days = days.count;
	return bytes;
}

static int back_up_segments(const char *folder, const char *target)
{
	scoped(snapshot_set_release) struct snapshot_set set = {};
	int r = segment_backup_add(&set, folder);

	assert_int_equal(segment_backup_has_store(folder), r == 0);
	return r < 0 ? r : snapshot_set_copy(&set, target);
}

static int setup(void **state, const struct contract_engine *engine)
{
	struct contract *contract = calloc(1, sizeof(*contract));

	assert_non_null(contract);
	contract->engine = engine;
	contract->clock = test_clock_at(NOON);
	assert_ok(temp_folder_setup((void **)&contract->folder));
	assert_ok(arena_new(BATCH_MAX_DECODED_BYTES, &contract->arena));
	contract_reopen(contract);
	*state = contract;
	return 0;
}

int contract_setup_sqlite(void **state)
{
	static const struct contract_engine sqlite = { .name = "sqlite",
						       .open = open_sqlite,
						       .folder_bytes = sqlite_bytes,
						       .back_up = back_up_sqlite };

	return setup(state, &sqlite);
}

int contract_setup_memory(void **state)
{
	static const struct contract_engine memory = { .name = "segments, rows in memory",
						       .open = open_segments,
						       .settle = segment_store_settle,
						       .folder_bytes = segments_bytes,
						       .back_up = back_up_segments };

	return setup(state, &memory);
}

int contract_setup_segments(void **state)
{
	static const struct contract_engine segments = { .name = "segments",
							 .open = open_segments,
							 .settle = segment_store_settle,
							 .settles_each_batch = true };

	return setup(state, &segments);
}

static void close_views(struct contract *contract)
{
	while (contract->n_views > 0)
		(void)store_view_close(contract->views[--contract->n_views]);
}

int contract_teardown(void **state)
{
	struct contract *contract = *state;

	close_views(contract);
	(void)store_free(contract->store);
	(void)arena_free(contract->arena);
	assert_ok(temp_folder_teardown((void **)&contract->folder));
	free(contract);
	return 0;
}

int contract_write_in(struct contract *contract, const char *tenant, struct batch_builder *builder,
		      struct store_missing *ret_missing)
{
	int r = write_batch_in(contract->store, tenant, builder, contract->arena, ret_missing);

	if (contract->engine->settles_each_batch)
		contract_settle(contract);
	return r;
}

int contract_write(struct contract *contract, struct batch_builder *builder)
{
	int r = write_batch(contract->store, builder);

	if (contract->engine->settles_each_batch)
		contract_settle(contract);
	return r;
}

struct store_view *contract_view(struct contract *contract, const char *tenant)
{
	assert_true(contract->n_views < ARRAY_SIZE(contract->views));
	contract->views[contract->n_views] = open_view(contract->store, tenant);
	return contract->views[contract->n_views++];
}

void contract_settle(struct contract *contract)
{
	if (contract->engine->settle)
		assert_ok(contract->engine->settle(contract->store));
}

void contract_reopen(struct contract *contract)
{
	close_views(contract);
	contract->store = store_free(contract->store);
	assert_ok(contract->engine->open(contract->folder, &contract->clock, &contract->limits,
					 &contract->store));
}

void assert_no_faults(struct store *store)
{
	size_t n_faults = 0;
	int r = store_verify(store, &n_faults);

	if (r != -EOPNOTSUPP)
		assert_ok(r);
	assert_int_equal(n_faults, 0);
}

struct store_series *contract_series(struct contract *contract, struct store_view *view,
				     size_t *ret_count)
{
	const struct store_series_query query = {};
	struct store_series *series;

	assert_ok(store_find_series(view, &query, contract->arena, &series, ret_count));
	return series;
}

uint32_t contract_host(struct contract *contract, struct store_view *view)
{
	struct store_host *hosts;
	size_t count;

	assert_ok(store_list_hosts(view, contract->arena, &hosts, &count));
	assert_int_equal(count, 1);
	return hosts[0].id;
}

struct last_row {
	uint64_t stack, slot;
};

static int keep_last(void *arg, uint32_t series_index, uint64_t stack_id, uint64_t slot,
		     uint64_t value)
{
	struct last_row *last = arg;

	(void)series_index;
	(void)value;
	if (slot >= last->slot)
		*last = (struct last_row){ .stack = stack_id, .slot = slot };
	return 0;
}

uint64_t contract_last_stack(struct contract *contract, struct store_view *view,
			     struct store_stack *ret_stack)
{
	struct store_range range = { .n_series = 1, .to_slot = UINT64_MAX };
	struct last_row last = {};
	struct store_series *series;
	size_t count;

	series = contract_series(contract, view, &count);
	assert_true(count > 0);
	range.series_ids = &series[0].id;
	assert_ok(store_scan(view, &range, keep_last, &last));
	assert_ok(store_load_stacks(view, &last.stack, 1, contract->arena, ret_stack));
	return last.stack;
}
