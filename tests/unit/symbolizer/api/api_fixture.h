/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fixture for tests of handlers: a fake store with a few samples behind the store interface, a
 * constant clock, and requests without a socket.
 *
 * The store has host "web-1"; process "shares" (pid 100) with its main thread and a thread
 * "worker", on-cpu at 99 Hz:
 *
 *   main     2 x  do_syscall in the kernel, called by [/opt/shares]
 *   worker   1 x  [/opt/shares]
 *
 * in the second FIXTURE_SECOND; and process "heap" with 1000 bytes of mem-alloc in [/opt/shares].
 */

#include <jansson.h>

#include "common/json_writer.h"
#include "common/limits.h"
#include "symbolizer/api/api.h"
#include "symbolizer/store/sum_table.h"
#include "tests/support/unit.h"

#define FIXTURE_SECOND    UINT64_C(1700000000)
#define FIXTURE_NOW       (FIXTURE_SECOND + 60)
#define FIXTURE_PERIOD_NS UINT64_C(10101010)
#define SLOTS_PER_SECOND  (NSEC_PER_SEC / SLOT_NS)

struct fake_store {
	struct store store;
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

#define FAKE_NAME_KEY 77

static const struct store_frame fake_frames[] = {
	{ .kind = FRAME_KERNEL_NAMED, .address = FAKE_NAME_KEY },
	{ .kind = FRAME_NATIVE, .object = 1, .address = 0x1000 },
	{ .kind = FRAME_NATIVE, .object = 1, .address = 0x2000 },
};

static inline int fake_error(struct store *store)
{
	return container_of(store, struct fake_store, store)->error;
}

static inline bool fake_selects(const struct store_series_query *query,
				const struct store_series *series)
{
	return strcmp(query->tenant, series->tenant) == 0 &&
	       (query->type == EVENT_NONE || query->type == series->type) &&
	       (!query->service || strcmp(query->service, series->process->name) == 0) &&
	       (query->to_slot == 0 || series->first_slot < query->to_slot) &&
	       series->last_slot >= query->from_slot;
}

static inline int fake_find_series(struct store *store, const struct store_series_query *query,
				   struct arena *arena, struct store_series **ret_series,
				   size_t *ret_count)
{
	struct store_series *series =
		arena_alloc_array(arena, ARRAY_SIZE(fake_series), sizeof(*series));
	size_t count = 0;

	if (fake_error(store) < 0)
		return fake_error(store);
	if (!series)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(fake_series); i++)
		if (fake_selects(query, &fake_series[i]))
			series[count++] = fake_series[i];
	*ret_series = series;
	*ret_count = count;
	return 0;
}

static inline int fake_sum(struct store *store, const struct store_sum_query *query,
			   struct store_sums *ret_sums)
{
	struct sum_table table;

	if (fake_error(store) < 0)
		return fake_error(store);
	if (cancel_is_requested(query->cancel))
		return -ECANCELED;
	*ret_sums = (struct store_sums){};
	assert_ok(sum_table_init(&table, query));
	for (size_t i = 0; i < query->n_series; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(fake_rows); j++) {
			const struct fake_row *row = &fake_rows[j];

			if (row->series != query->series[i].id || row->slot < query->from_slot ||
			    row->slot >= query->to_slot)
				continue;
			assert_ok(sum_table_add(&table, &query->series[i],
						query->without_stacks ? 0 : row->stack, row->slot,
						row->value));
			ret_sums->n_rows++;
		}
	}
	sum_table_take(&table, ret_sums);
	return 0;
}

static inline int fake_load_stacks(struct store *store, const uint64_t *stack_ids, size_t count,
				   struct arena *arena, struct store_stack *ret_stacks)
{
	(void)arena;
	for (size_t i = 0; i < count; i++) {
		ret_stacks[i] = (struct store_stack){};
		if (stack_ids[i] == 1)
			ret_stacks[i] =
				(struct store_stack){ .frames = &fake_frames[0], .n_frames = 2 };
		else if (stack_ids[i] == 2)
			ret_stacks[i] =
				(struct store_stack){ .frames = &fake_frames[2], .n_frames = 1 };
	}
	return fake_error(store);
}

static inline int fake_load_executables(struct store *store, const uint32_t *ids, size_t count,
					struct arena *arena,
					struct store_executable *ret_executables)
{
	(void)arena;
	for (size_t i = 0; i < count; i++) {
		ret_executables[i] = (struct store_executable){ .id = ids[i], .name = "shares" };
		if (ids[i] == 1)
			assert_ok(executable_id_set(&ret_executables[i].identity, EXECUTABLE_ID_GNU,
						    "01234567", 8));
	}
	return fake_error(store);
}

/* Finds every executable as a program "shares". */
static inline int fake_find_executable(struct store *store, const char *tenant,
				       const struct executable_id *identity, struct arena *arena,
				       struct store_executable *ret_executable)
{
	(void)tenant;
	(void)arena;
	*ret_executable =
		(struct store_executable){ .id = 1, .identity = *identity, .name = "shares" };
	return fake_error(store) < 0 ? fake_error(store) : 1;
}

static inline int fake_path_of(struct store *store, uint64_t process, uint32_t executable,
			       struct arena *arena, const char **ret_path)
{
	(void)process;
	(void)arena;
	if (executable != 1)
		return 0;
	*ret_path = container_of(store, struct fake_store, store)->path;
	if (!*ret_path)
		*ret_path = "/opt/shares";
	return fake_error(store) < 0 ? fake_error(store) : 1;
}

static inline int fake_named_frame(struct store *store, uint64_t key, struct arena *arena,
				   const char **ret_name)
{
	(void)arena;
	if (key != FAKE_NAME_KEY)
		return 0;
	*ret_name = "do_syscall";
	return fake_error(store) < 0 ? fake_error(store) : 1;
}

static inline int fake_list_hosts(struct store *store, const char *tenant, struct arena *arena,
				  struct store_host **ret_hosts, size_t *ret_count)
{
	if (fake_error(store) < 0)
		return fake_error(store);
	*ret_hosts = arena_copy(arena, &fake_host, sizeof(fake_host));
	assert_non_null(*ret_hosts);
	*ret_count = strcmp(tenant, "default") == 0 ? 1 : 0;
	return 0;
}

/* The agent of the host covers the ten seconds from FIXTURE_SECOND. */
static inline int fake_scan_coverage(struct store *store, const uint32_t *hosts, size_t count,
				     uint64_t from_slot, uint64_t to_slot,
				     store_coverage_function function, void *arg)
{
	if (fake_error(store) < 0)
		return fake_error(store);
	if (count == 0 || hosts[0] != fake_host.id || FAKE_FIRST_SLOT >= to_slot ||
	    FAKE_FIRST_SLOT + 10 * SLOTS_PER_SECOND <= from_slot)
		return 0;
	return function(arg, fake_host.id, FAKE_FIRST_SLOT,
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
static inline int fake_scan_counters(struct store *store, const struct store_counter_query *query,
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

	if (fake_error(store) < 0 || query->n_hosts == 0)
		return fake_error(store);
	fake_sum_counters(query, values);
	for (size_t i = 0; i < query->n_names; i++)
		if (strcmp(query->names[i], "ticks_total{outcome=\"ring_full\"}") == 0)
			values[i] += container_of(store, struct fake_store, store)->n_lost;
	return function(arg, &batch);
}

static inline int fake_check(struct store *store)
{
	return container_of(store, struct fake_store, store)->check_error;
}

static inline int fake_stats(struct store *store, struct store_stats *ret_stats)
{
	*ret_stats = (struct store_stats){ .n_rows = 4, .n_series = 3, .disk_bytes = 12345 };
	return fake_error(store);
}

static const struct store_operations fake_operations = {
	.find_series = fake_find_series,
	.sum = fake_sum,
	.scan_coverage = fake_scan_coverage,
	.scan_counters = fake_scan_counters,
	.load_stacks = fake_load_stacks,
	.load_executables = fake_load_executables,
	.path_of = fake_path_of,
	.find_executable = fake_find_executable,
	.named_frame = fake_named_frame,
	.list_hosts = fake_list_hosts,
	.check = fake_check,
	.stats = fake_stats,
};

static inline uint64_t fixture_monotonic_ns(const struct clock *clock)
{
	(void)clock;
	return 1000;
}

static inline uint64_t fixture_wall_ns(const struct clock *clock)
{
	(void)clock;
	return FIXTURE_NOW * NSEC_PER_SEC;
}

static const struct clock fixture_clock = { fixture_monotonic_ns, fixture_wall_ns };

struct api_fixture {
	char *folder;
	struct fake_store store;
	struct api_context context;
	struct http_caller caller;
	http_error_style error_style; /* of the route */
};

static inline int api_fixture_setup(void **state)
{
	struct api_fixture *fixture = calloc(1, sizeof(*fixture));
	void *folder = NULL;

	if (!fixture || temp_folder_setup(&folder) != 0)
		return -1;
	fixture->folder = folder;
	fixture->store.store.operations = &fake_operations;
	fixture->context.store = &fixture->store.store;
	fixture->context.clock = &fixture_clock;
	fixture->context.agents_may_upload = true;
	fixture->context.max_upload_bytes = 64 * MIB;
	fixture->caller = (struct http_caller){ .tenant = "default",
						.scopes = HTTP_SCOPE_ALL,
						.anonymous = true };
	assert_ok(
		debuginfo_store_open(fixture->folder, &fixture_clock, &fixture->context.debuginfo));
	assert_ok(resolver_new(
		&(struct symbol_cache_options){ .debuginfo = fixture->context.debuginfo,
						.clock = &fixture_clock,
						.folder = fixture->folder,
						.helper = "/proc/self/exe",
						.max_bytes = 16 * MIB,
						.stored_bytes = GIB },
		&fixture->context.resolver));
	assert_ok(api_start_readings(&fixture->context));
	*state = fixture;
	return 0;
}

static inline int api_fixture_teardown(void **state)
{
	struct api_fixture *fixture = *state;
	void *folder = fixture->folder;

	api_stop_readings(&fixture->context);
	(void)resolver_free(fixture->context.resolver);
	(void)debuginfo_store_free(fixture->context.debuginfo);
	free(fixture);
	return temp_folder_teardown(&folder);
}

#define API_TEST(name)                                                                             \
	cmocka_unit_test_setup_teardown(name, api_fixture_setup, api_fixture_teardown)

typedef void (*api_handler)(struct api_context *context, const struct http_request *request,
			    struct http_response *response);

/* Calls a handler. The caller calls http_response_release(). @parameters has up to 8 fields and
 * ends with a NULL name; it may be NULL. */
static inline void ask_handler(struct api_fixture *fixture, api_handler handler,
			       const struct http_field *parameters, const char *body,
			       struct http_response *response)
{
	struct http_request request = {
		.path = "/asked/for",
		.argument = "",
		.parameters = parameters,
		.caller = &fixture->caller,
	};

	while (parameters && parameters[request.n_parameters].name)
		request.n_parameters++;
	if (body)
		request.body =
			(struct bytes_view){ .data = (const uint8_t *)body, .size = strlen(body) };
	http_response_init(response);
	response->error_style = fixture->error_style;
	handler(&fixture->context, &request, response);
}

/* Returns the body as JSON; the caller calls json_decref(). */
static inline json_t *json_of(const struct http_response *response)
{
	json_error_t error;
	json_t *json =
		json_loadb((const char *)response->body.data, response->body.size, 0, &error);

	if (!json)
		fail_msg("%s: %.*s", error.text, (int)response->body.size,
			 (const char *)response->body.data);
	return json;
}

static inline const char *json_text_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static inline json_int_t json_number_at(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		fail_msg("'%s' is no integer", key);
	return json_integer_value(value);
}

/* Asserts that the response is {"error": "..."} with this status and @part in the text. */
static inline void assert_error(const struct http_response *response, unsigned int status,
				const char *part)
{
	scoped(json_decrefp) json_t *json = json_of(response);

	if (response->status != status || !strstr(json_text_at(json, "error"), part))
		fail_msg("%u: %s", response->status, json_text_at(json, "error"));
	assert_int_equal(json_object_size(json), 1);
}
