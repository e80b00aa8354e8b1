/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A store with a few samples, for tests of handlers. IDs differ from view to view, and a view fails
 * the test if it gets one of another view.
 *
 * The store has host "web-1"; process "shares" (pid 100) with its main thread and a thread
 * "worker", on-cpu at 99 Hz:
 *
 *   main     2 x  do_syscall in the kernel, called by [/opt/shares]
 *   worker   1 x  [/opt/shares]
 *
 * in the second FIXTURE_SECOND; and process "heap" with 1000 bytes of mem-alloc in [/opt/shares].
 */

#include "common/limits.h"
#include "symbolizer/store/store.h"
#include "symbolizer/store/sum_table.h"
#include "tests/support/unit.h"

#define FIXTURE_SECOND    UINT64_C(1700000000)
#define FIXTURE_NOW       (FIXTURE_SECOND + 60)
#define FIXTURE_PERIOD_NS UINT64_C(10101010)
#define SLOTS_PER_SECOND  (NSEC_PER_SEC / SLOT_NS)

struct fake_store {
	struct store store;
	uint64_t n_views; /* opened so far */
	int open_error;   /* of store_view_open(); 0: success */
	int error;        /* returned by all reads; 0: success */
	int check_error;  /* returned by store_check() */
	const char *path; /* of executable 1; NULL: /opt/shares */
	uint64_t n_lost;  /* further ticks lost in the ring buffer */
};

static const struct store_host fake_host = {
	.id = 1,
	.name = "web-1",
	.agent_id = "00112233445566778899aabbccddeeff",
	.kernel_release = "6.1.0",
	.architecture = "x86_64",
	.agent_version = "0.1.0",
	.boot_id = "b00t",
	.n_cpus = 4,
	.ips = (const char *[]){ "10.0.0.1", "fe80::1" },
	.n_ips = 2,
	.labels = (struct label[]){ { "rack", "r7" } },
	.n_labels = 1,
	.first_seen_ns = (FIXTURE_SECOND - 100) * NSEC_PER_SEC,
	.last_seen_ns = FIXTURE_SECOND * NSEC_PER_SEC,
};

static const struct store_process fake_processes[] = {
	{ .id = 1,
	  .host = &fake_host,
	  .name = "shares",
	  .executable_path = "/opt/shares",
	  .pid = 100,
	  .main_executable = 1 },
	{ .id = 2,
	  .host = &fake_host,
	  .name = "heap",
	  .executable_path = "/opt/shares",
	  .pid = 200,
	  .main_executable = 1 },
};

#define FAKE_FIRST_SLOT (FIXTURE_SECOND * SLOTS_PER_SECOND)

static const struct store_series fake_series[] = {
	{ .id = 1,
	  .tenant = "default",
	  .process = &fake_processes[0],
	  .tid = 100,
	  .thread_name = "shares",
	  .type = EVENT_ON_CPU,
	  .cpu = -1,
	  .period_ns = FIXTURE_PERIOD_NS,
	  .first_slot = FAKE_FIRST_SLOT,
	  .last_slot = FAKE_FIRST_SLOT + 50 },
	{ .id = 2,
	  .tenant = "default",
	  .process = &fake_processes[0],
	  .tid = 101,
	  .thread_name = "worker",
	  .type = EVENT_ON_CPU,
	  .cpu = -1,
	  .period_ns = FIXTURE_PERIOD_NS,
	  .first_slot = FAKE_FIRST_SLOT + 99,
	  .last_slot = FAKE_FIRST_SLOT + 99 },
	{ .id = 3,
	  .tenant = "default",
	  .process = &fake_processes[1],
	  .tid = 200,
	  .thread_name = "heap",
	  .type = EVENT_MEM_ALLOC,
	  .cpu = -1,
	  .first_slot = FAKE_FIRST_SLOT,
	  .last_slot = FAKE_FIRST_SLOT },
};

static const struct fake_row {
	uint32_t series;
	uint64_t stack;
	uint64_t slot;
	uint64_t value;
} fake_rows[] = {
	{ 1, 1, FAKE_FIRST_SLOT, 1 },
	{ 1, 1, FAKE_FIRST_SLOT + 50, 1 },
	{ 2, 2, FAKE_FIRST_SLOT + 99, 1 },
	{ 3, 2, FAKE_FIRST_SLOT, 1000 },
};

#define FAKE_NAME_KEY   77
#define FAKE_EVENT_TYPE 50

static const struct store_frame fake_frames[] = {
	{ .kind = FRAME_KERNEL_NAMED, .address = FAKE_NAME_KEY },
	{ .kind = FRAME_NATIVE, .object = 1, .address = 0x1000 },
	{ .kind = FRAME_NATIVE, .object = 1, .address = 0x2000 },
};

struct fake_view {
	struct store_view view;
	struct fake_store *store;
	uint64_t first_handle; /* IDs of objects are handed out plus this */
	char program[8];       /* name of each executable; overwritten when the view is closed */
};

static inline struct fake_view *fake_view_of(struct store_view *view)
{
	return container_of(view, struct fake_view, view);
}

static inline int fake_error(struct store_view *view)
{
	return fake_view_of(view)->store->error;
}

/* Handles of a view. Further ones are of no object, or of another view. */
#define FAKE_HANDLES 100

static inline uint64_t fake_handle(struct store_view *view, uint64_t id)
{
	return fake_view_of(view)->first_handle + id;
}

/* Fails the test if @handle is of another view. */
static inline uint64_t fake_id(struct store_view *view, uint64_t handle)
{
	uint64_t first = fake_view_of(view)->first_handle;

	assert_in_range(handle, first, first + FAKE_HANDLES - 1);
	return handle - first;
}

static inline bool fake_selects(struct store_view *view, const struct store_series_query *query,
				const struct store_series *series)
{
	return strcmp(view->tenant, series->tenant) == 0 &&
	       (query->type == EVENT_NONE || query->type == series->type) &&
	       (!query->service || strcmp(query->service, series->process->name) == 0) &&
	       (query->to_slot == 0 || series->first_slot < query->to_slot) &&
	       series->last_slot >= query->from_slot;
}

static inline struct store_host *fake_copy_host(struct store_view *view, struct arena *arena)
{
	struct store_host *host = arena_copy(arena, &fake_host, sizeof(fake_host));

	if (host)
		host->id = (uint32_t)fake_handle(view, fake_host.id);
	return host;
}

/* Copies a series, and its process, with handles instead of IDs. */
static inline struct store_series fake_copy_series(struct store_view *view, struct arena *arena,
						   const struct store_series *series,
						   const struct store_host *host)
{
	struct store_process *process =
		arena_copy(arena, series->process, sizeof(*series->process));
	struct store_series copy = *series;

	assert_non_null(process);
	process->id = fake_handle(view, process->id);
	process->main_executable = (uint32_t)fake_handle(view, process->main_executable);
	process->host = host;
	copy.id = fake_handle(view, series->id);
	copy.process = process;
	return copy;
}

static inline int fake_find_series(struct store_view *view, const struct store_series_query *query,
				   struct arena *arena, struct store_series **ret_series,
				   size_t *ret_count)
{
	struct store_series *series =
		arena_alloc_array(arena, ARRAY_SIZE(fake_series), sizeof(*series));
	const struct store_host *host = fake_copy_host(view, arena);
	size_t count = 0;

	if (!event_type_info(query->type) && query->type != EVENT_NONE)
		assert_int_equal(fake_id(view, query->type), FAKE_EVENT_TYPE);
	if (fake_error(view) < 0)
		return fake_error(view);
	if (!series || !host)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(fake_series); i++)
		if (fake_selects(view, query, &fake_series[i]))
			series[count++] = fake_copy_series(view, arena, &fake_series[i], host);
	*ret_series = series;
	*ret_count = count;
	return 0;
}

/* The tenant has one event type that the table does not have. */
static inline int fake_find_event_type(struct store_view *view, const char *name,
				       struct arena *arena, struct event_type_info *ret_info)
{
	(void)arena;
	if (strcmp(name, "page-faults") != 0)
		return 0;
	*ret_info = (struct event_type_info){
		.type = (enum event_type)fake_handle(view, FAKE_EVENT_TYPE),
		.name = "page-faults",
		.unit = "events",
		.kind = EVENT_VALUE_SUM,
	};
	return fake_error(view) < 0 ? fake_error(view) : 1;
}

/* The stack or step of an item that includes the row. */
static inline uint64_t fake_item_key(struct store_view *view, const struct store_sum_query *query,
				     const struct fake_row *row)
{
	if (query->step_slots)
		return (row->slot - query->from_slot) / query->step_slots;
	return query->without_stacks ? 0 : fake_handle(view, row->stack);
}

static inline int fake_sum(struct store_view *view, const struct store_sum_query *query,
			   struct store_sums *ret_sums)
{
	struct sum_table table;
	int r;

	if (fake_error(view) < 0)
		return fake_error(view);
	if (cancel_is_requested(view->cancel))
		return -ECANCELED;
	*ret_sums = (struct store_sums){};
	r = sum_table_init(&table, query, view->memory);
	if (r < 0)
		return r;
	for (size_t i = 0; i < query->n_series; i++) {
		const uint64_t series = fake_id(view, query->series[i].id);

		for (size_t j = 0; j < ARRAY_SIZE(fake_rows); j++) {
			const struct fake_row *row = &fake_rows[j];

			if (row->series != series || row->slot < query->from_slot ||
			    row->slot >= query->to_slot)
				continue;
			assert_ok(sum_table_add(&table, &query->series[i],
						fake_item_key(view, query, row), row->slot,
						row->value));
			ret_sums->n_rows++;
		}
	}
	sum_table_take(&table, ret_sums);
	return 0;
}

static inline int fake_load_stacks(struct store_view *view, const uint64_t *stack_ids, size_t count,
				   struct arena *arena, struct store_stack *ret_stacks)
{
	struct store_frame *frames = arena_copy(arena, fake_frames, sizeof(fake_frames));

	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(fake_frames); i++)
		if (frames[i].object != 0)
			frames[i].object = (uint32_t)fake_handle(view, frames[i].object);
	for (size_t i = 0; i < count; i++) {
		ret_stacks[i] = (struct store_stack){ .frames = &frames[0], .n_frames = 2 };
		if (fake_id(view, stack_ids[i]) == 2)
			ret_stacks[i] = (struct store_stack){ .frames = &frames[2], .n_frames = 1 };
	}
	return fake_error(view);
}

/* Every executable is a program "shares". */
static inline struct store_executable fake_executable(struct store_view *view, uint32_t handle,
						      const struct executable_id *identity)
{
	return (struct store_executable){
		.id = handle,
		.identity = *identity,
		.name = fake_view_of(view)->program,
	};
}

static inline int fake_load_executables(struct store_view *view, const uint32_t *ids, size_t count,
					struct arena *arena,
					struct store_executable *ret_executables)
{
	struct executable_id identity;

	(void)arena;
	assert_ok(executable_id_set(&identity, EXECUTABLE_ID_GNU, "01234567", 8));
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(fake_id(view, ids[i]), 1);
		ret_executables[i] = fake_executable(view, ids[i], &identity);
	}
	return fake_error(view);
}

static inline int fake_find_executable(struct store_view *view,
				       const struct executable_id *identity, struct arena *arena,
				       struct store_executable *ret_executable)
{
	(void)arena;
	*ret_executable = fake_executable(view, (uint32_t)fake_handle(view, 1), identity);
	return fake_error(view) < 0 ? fake_error(view) : 1;
}

static inline int fake_paths_of(struct store_view *view, const struct store_mapped_file *files,
				size_t count, struct arena *arena, const char **ret_paths)
{
	const char *path = fake_view_of(view)->store->path;

	(void)arena;
	for (size_t i = 0; i < count; i++) {
		if (files[i].process != 0)
			assert_in_range(fake_id(view, files[i].process), 1, 2);
		assert_int_equal(fake_id(view, files[i].executable), 1);
		ret_paths[i] = path ? path : "/opt/shares";
	}
	return fake_error(view);
}

static inline int fake_named_frames(struct store_view *view, const uint64_t *keys, size_t count,
				    struct arena *arena, const char **ret_names)
{
	(void)arena;
	for (size_t i = 0; i < count; i++)
		ret_names[i] = keys[i] == FAKE_NAME_KEY ? "do_syscall" : NULL;
	return fake_error(view);
}

static inline int fake_list_hosts(struct store_view *view, struct arena *arena,
				  struct store_host **ret_hosts, size_t *ret_count)
{
	if (fake_error(view) < 0)
		return fake_error(view);
	*ret_hosts = fake_copy_host(view, arena);
	*ret_count = strcmp(view->tenant, "default") == 0 ? 1 : 0;
	return *ret_hosts ? 0 : -ENOMEM;
}

/* The agent of the host covers the ten seconds from FIXTURE_SECOND. */
static inline int fake_scan_coverage(struct store_view *view, const uint32_t *hosts, size_t count,
				     uint64_t from_slot, uint64_t to_slot,
				     store_coverage_function function, void *arg)
{
	if (fake_error(view) < 0)
		return fake_error(view);
	if (count == 0 || FAKE_FIRST_SLOT >= to_slot ||
	    FAKE_FIRST_SLOT + 10 * SLOTS_PER_SECOND <= from_slot)
		return 0;
	assert_int_equal(fake_id(view, hosts[0]), fake_host.id);
	return function(arg, hosts[0], FAKE_FIRST_SLOT,
			FAKE_FIRST_SLOT + 10 * SLOTS_PER_SECOND - 1);
}

static inline void fake_sum_counters(const struct store_counter_query *query, uint64_t *values)
{
	static const struct batch_counter counters[] = {
		{ "ticks_expected_total{}", 3960 },
		{ "ticks_total{outcome=\"sampled\"}", 8800 },
		{ "ticks_total{outcome=\"ring_full\"}", 3 },
		{ "ticks_total{outcome=\"failed\"}", 4 },
		{ "ticks_total{outcome=\"missed\"}", 5 },
		{ "ticks_total{outcome=\"idle\"}", 1000 },
		{ "samples_total{}", 8800 },
		{ "stacks_cut_total{reason=\"depth\"}", 6 },
		{ "stacks_cut_total{reason=\"no-mapping\"}", 7 },
		{ "stacks_cut_total{reason=\"of-a-later-version\"}", 1 },
		{ "cpu_ns_total{}", 20 * NSEC_PER_MSEC },
		{ "bpf_ns_total{}", NSEC_PER_MSEC },
		{ "budget_reduced_ns_total{measure=\"frequency\"}", 4 * NSEC_PER_SEC },
		{ "a_counter_of_a_later_version{}", 1 },
	};

	memset(values, 0, query->n_names * sizeof(*values));
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		for (size_t k = 0; k < query->n_names; k++)
			if (strncmp(counters[i].name, query->names[k], strlen(query->names[k])) ==
			    0) {
				values[k] += counters[i].value;
				break;
			}
}

/* One batch of ten seconds, the third of its run, stored 100 ms after it was closed. */
static inline int fake_scan_counters(struct store_view *view,
				     const struct store_counter_query *query,
				     store_counters_function function, void *arg)
{
	uint64_t values[STORE_MAX_COUNTER_NAMES];
	const struct store_batch_counters batch = {
		.run = 1,
		.sequence = 3,
		.opened_wall_ns = FIXTURE_SECOND * NSEC_PER_SEC,
		.closed_wall_ns = (FIXTURE_SECOND + 10) * NSEC_PER_SEC,
		.delay_ms = 100,
		.values = values,
	};

	if (fake_error(view) < 0 || query->n_hosts == 0)
		return fake_error(view);
	assert_int_equal(fake_id(view, query->hosts[0]), fake_host.id);
	fake_sum_counters(query, values);
	for (size_t i = 0; i < query->n_names; i++)
		if (strcmp(query->names[i], "ticks_total{outcome=\"ring_full\"}") == 0)
			values[i] += fake_view_of(view)->store->n_lost;
	return function(arg, &batch);
}

static inline struct store_view *fake_close(struct store_view *view)
{
	memset(fake_view_of(view)->program, 0xff, sizeof(fake_view_of(view)->program));
	free(fake_view_of(view));
	return NULL;
}

static const struct store_view_operations fake_view_operations = {
	.find_series = fake_find_series,
	.sum = fake_sum,
	.scan_coverage = fake_scan_coverage,
	.scan_counters = fake_scan_counters,
	.load_stacks = fake_load_stacks,
	.load_executables = fake_load_executables,
	.find_event_type = fake_find_event_type,
	.paths_of = fake_paths_of,
	.find_executable = fake_find_executable,
	.named_frames = fake_named_frames,
	.list_hosts = fake_list_hosts,
	.close = fake_close,
};

static inline int fake_open_view(struct store *store, const struct store_view_options *options,
				 struct store_view **ret_view)
{
	struct fake_store *fake = container_of(store, struct fake_store, store);
	struct fake_view *self;

	if (fake->open_error < 0)
		return fake->open_error;
	self = calloc(1, sizeof(*self));
	assert_non_null(self);
	*self = (struct fake_view){
		.view = { .operations = &fake_view_operations,
			  .tenant = options->tenant,
			  .cancel = options->cancel,
			  .memory = options->memory },
		.store = fake,
		.program = "shares",
	};
	self->first_handle = ++fake->n_views * 1000;
	*ret_view = &self->view;
	return 0;
}

static inline int fake_check(struct store *store)
{
	return container_of(store, struct fake_store, store)->check_error;
}

static inline int fake_stats(struct store *store, struct store_stats *ret_stats)
{
	*ret_stats = (struct store_stats){
		.n_rows = 4, .n_series = 3, .n_refused_series = 7, .disk_bytes = 12345
	};
	return container_of(store, struct fake_store, store)->error;
}

static const struct store_operations fake_operations = {
	.open_view = fake_open_view,
	.check = fake_check,
	.stats = fake_stats,
};
