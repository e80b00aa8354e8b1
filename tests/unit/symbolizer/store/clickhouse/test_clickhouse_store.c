/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the same batches to SQLite and to ClickHouse. All operations of a view must return the
 * same of both engines.
 */

#include "tests/unit/symbolizer/store/clickhouse/server_fixture.h"

#include <sys/stat.h>

#include "symbolizer/store/clickhouse/clickhouse_store.h"
#include "symbolizer/store/clickhouse/schema.h"
#include "tests/support/store_dump.h"
#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#define N_AGENTS  3
#define N_SERIES  5
#define N_STACKS  24
#define N_BATCHES 24

/* Batches cover 5 s each, from 20 s before midnight. */
#define FIRST (NOON + (12 * 3600 - 20) * NSEC_PER_SEC)
#define END   (FIRST + N_BATCHES / N_AGENTS * 5 * NSEC_PER_SEC)

#define MAX_DUMP_BYTES (64 * MIB)

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

static void define_process(struct batch_builder *builder, uint8_t agent)
{
	const struct executable_id id = test_build_id(1), library = test_build_id(2);
	const struct batch_process details = { .parent_pid = 1,
					       .executable_path = "/usr/bin/server",
					       .without_stacks = agent == 2 };

	batch_builder_executable(builder, 1, &id, "server", ROLE_USER);
	batch_builder_segment(builder, 0x1000, 0x401000, 0x8000);
	batch_builder_segment(builder, 0x9000, 0x40a000, 0x1000);
	batch_builder_executable(builder, 2, &library, "libc'x.so.6", ROLE_USER);
	batch_builder_executable(builder, 3, NULL, "gone", ROLE_USER);
	batch_builder_process(builder, 1, 4711, 99 + agent, agent % 2 ? "web" : "shop", 1);
	batch_builder_process_details(builder, &details);
	batch_builder_path(builder, 1, "/usr/bin/server");
	batch_builder_path(builder, 2, agent ? "/opt/libc.so" : "/usr/lib/libc.so");
	batch_builder_label(builder, "service", "it's");
	batch_builder_label(builder, agent ? "zone" : "pod", "a\\b");
	batch_builder_process(builder, 2, 4712, 1234, "kthread", 0);
}

static void define_series(struct batch_builder *builder, uint8_t agent, bool format_2)
{
	const struct batch_event_type faults = { "page-faults", "events", EVENT_VALUE_SUM };

	for (uint32_t i = 0; i < N_SERIES; i++) {
		if (format_2 && i == 4)
			batch_builder_described_series(builder, i + 1, 1, 100 + agent, &faults);
		else
			batch_builder_series(
				builder, i + 1, i == 3 ? 2 : 1, 1 + agent * N_SERIES + i, "thread",
				i % 2 ? EVENT_ON_CPU : EVENT_OFF_CPU, i % 2 ? 1 + i * 1000 : 0);
		batch_builder_cpu(builder, (int)i - 1);
		if (format_2)
			batch_builder_series_label(builder, "device", i % 2 ? "gpu0" : "gpu1");
	}
}

/* The object of frames that are no machine code: a code object, or in format 1 a name. */
static void define_stacks(struct batch_builder *builder, bool format_2)
{
	const struct batch_code_object code = { .number = 7,
						.language = "python",
						.function = "run",
						.qualified_name = "App.run",
						.file = "/app/main.py",
						.first_line = 12,
						.line_table = { (const uint8_t *)"\1\2\0\3", 4 } };
	uint64_t key = 0;

	if (format_2)
		batch_builder_code_object(builder, &code);
	else
		key = batch_builder_named_frame(builder, "bpf_prog_1");
	for (uint32_t i = 0; i < N_STACKS; i++) {
		const struct batch_frame frames[] = {
			{ FRAME_NATIVE, 1 + i % 3, 0x1000 + i },
			{ FRAME_NATIVE, 2, 0x2000 + i / 4 },
			{ format_2 ? FRAME_PYTHON : FRAME_KERNEL_NAMED,
			  format_2 ? FRAME_CODE_OBJECT | 7 : 0, format_2 ? 6 : key },
			{ FRAME_NATIVE, 1, 0x3000 },
		};

		batch_builder_stack(builder, i + 1, i % 5 ? STACK_CUT_NONE : STACK_CUT_NO_ROW,
				    frames + (i == 6), 1 + i % 4 - (i == 6));
	}
}

static struct batch_builder *random_batch(uint32_t number, bool format_2)
{
	const uint64_t opened = FIRST + number / N_AGENTS * 5 * NSEC_PER_SEC;
	const uint8_t agent = (uint8_t)(number % N_AGENTS);
	uint64_t state = 1000 + number;
	struct batch_builder *builder =
		batch_builder_new(agent, EPOCH, 1 + number, opened, opened + 5 * NSEC_PER_SEC);

	if (format_2)
		batch_builder_use_format_2(builder);
	define_process(builder, agent);
	define_series(builder, agent, format_2);
	define_stacks(builder, format_2);
	for (uint32_t i = 0; i < 60; i++) {
		uint32_t series = 1 + (uint32_t)(next_random(&state) % N_SERIES);
		uint32_t stack = (uint32_t)(next_random(&state) % (N_STACKS + 1));
		uint64_t slot = next_random(&state) % 500;

		batch_builder_row(builder, series, stack, opened + slot * SLOT_NS,
				  1 + next_random(&state) % 1000);
	}
	batch_builder_counter(builder, "ticks_total{cpu=\"0\"}", 10 + number);
	batch_builder_counter(builder, "ticks_total{cpu=\"1\"}", 20 + number);
	batch_builder_counter(builder, "lost_total", number);
	return builder;
}

struct engines {
	struct test_clock clock;
	char *folder;
	struct store *sqlite, *clickhouse;
};

static void open_clickhouse(struct engines *engines, const struct clickhouse_server *server,
			    const char *database)
{
	const struct clickhouse_store_options options = {
		.server = { .url = server->url, .database = database },
		.folder = engines->folder,
		.clock = &engines->clock.clock,
	};
	char message[CLICKHOUSE_STORE_MESSAGE_SIZE];

	if (clickhouse_store_open(&options, &engines->clickhouse, message) < 0)
		fail_msg("%s", message);
}

static void init_engines(struct engines *engines, const struct clickhouse_server *server,
			 const char *name)
{
	*engines = (struct engines){ .clock = test_clock_at(END + 2 * NSEC_PER_SEC),
				     .folder = path_in(server->folder, name) };
	assert_int_equal(mkdir(engines->folder, 0700), 0);
	engines->sqlite = open_store(engines->folder, &engines->clock);
	open_clickhouse(engines, server, name);
}

static void release_engines(struct engines *engines)
{
	engines->sqlite = store_free(engines->sqlite);
	engines->clickhouse = store_free(engines->clickhouse);
	free(engines->folder);
}

static void write_both(struct engines *engines, const char *tenant, bool format_2)
{
	scoped(arena_freep) struct arena *arena = NULL;

	assert_ok(arena_new(64 * MIB, &arena));
	for (uint32_t i = 0; i < N_BATCHES; i++) {
		struct store *const stores[] = { engines->sqlite, engines->clickhouse,
						 engines->clickhouse };
		const int expected[] = { STORE_STORED, STORE_STORED, STORE_DUPLICATE };

		for (size_t k = 0; k < ARRAY_SIZE(stores); k++)
			assert_int_equal(write_batch_in(stores[k], tenant,
							random_batch(i, format_2), arena, NULL),
					 expected[k]);
	}
}

/* Shows the first lines that differ. */
static void assert_equal_lines(const struct bytes *expected, const struct bytes *actual)
{
	const char *a = (const char *)expected->data, *b = (const char *)actual->data;

	while (*a && *b) {
		size_t a_length = strcspn(a, "\n"), b_length = strcspn(b, "\n");

		if (a_length != b_length || memcmp(a, b, a_length) != 0)
			break;
		a += a_length + 1;
		b += b_length + 1;
	}
	if (*a || *b)
		fail_msg("expected %.*s\nactual   %.*s", (int)strcspn(a, "\n"), a,
			 (int)strcspn(b, "\n"), b);
}

static void compare(const struct engines *engines, const char *tenant, uint64_t from_ns,
		    uint64_t to_ns)
{
	static const char *const counters[] = { "lost_total", "ticks_total{", "ticks" };
	const struct dump_request request = { .tenant = tenant,
					      .from_slot = from_ns / SLOT_NS,
					      .to_slot = to_ns / SLOT_NS,
					      .counters = counters,
					      .n_counters = ARRAY_SIZE(counters) };
	scoped(bytes_release) struct bytes expected = BYTES_INIT(MAX_DUMP_BYTES);
	scoped(bytes_release) struct bytes actual = BYTES_INIT(MAX_DUMP_BYTES);

	store_dump(engines->sqlite, &request, &expected);
	store_dump(engines->clickhouse, &request, &actual);
	assert_true(expected.size > 1000);
	assert_equal_lines(&expected, &actual);
}

static void merge_all_rows(const struct clickhouse_server *server, const char *database)
{
	scoped(clickhouse_client_freep) struct clickhouse_client *client =
		server_client(server, database);
	char sql[80];

	for (size_t i = 0; i < clickhouse_n_day_tables; i++) {
		(void)snprintf(sql, sizeof(sql), "OPTIMIZE TABLE %s FINAL",
			       clickhouse_day_tables[i]);
		run_sql(client, sql);
	}
}

static void all_operations_return_the_same_as_sqlite(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(release_engines) struct engines engines = {};

	skip_without_server(server);
	init_engines(&engines, server, "equal_views");
	write_both(&engines, "default", true);
	write_both(&engines, "other", false);
	compare(&engines, "default", FIRST, END);
	compare(&engines, "other", FIRST, END);
	compare(&engines, "other", FIRST + 5 * NSEC_PER_SEC, FIRST + 25 * NSEC_PER_SEC);
	merge_all_rows(server, "equal_views");
	compare(&engines, "default", FIRST, END);
}

static struct store_series *find_all(struct store_view *view, struct arena *arena, size_t *count)
{
	struct store_series *series = NULL;

	assert_ok(store_find_series(view, &(struct store_series_query){}, arena, &series, count));
	assert_true(*count > 0);
	return series;
}

static void executables_are_found_by_identity_and_by_agent(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(release_engines) struct engines engines = {};
	scoped(arena_freep) struct arena *arena = NULL;
	const struct executable_id known = test_build_id(2), unknown = test_build_id(9);
	struct store_executable executable, loaded, *list;
	struct hash128 agent;
	struct store_view *view;
	size_t count;

	skip_without_server(server);
	init_engines(&engines, server, "executables");
	write_both(&engines, "default", true);
	assert_ok(arena_new(MIB, &arena));
	view = open_view(engines.clickhouse, "default");
	assert_int_equal(store_find_executable(view, &known, arena, &executable), 1);
	assert_string_equal(executable.name, "libc'x.so.6");
	assert_ok(store_load_executables(view, &executable.id, 1, arena, &loaded));
	assert_true(executable_id_equal(&loaded.identity, &known));
	assert_int_equal(store_find_executable(view, &unknown, arena, &executable), 0);
	(void)store_view_close(view);
	view = open_view(engines.clickhouse, "other");
	assert_int_equal(store_find_executable(view, &known, arena, &executable), 0);
	(void)store_view_close(view);

	memset(&agent, 1, sizeof(agent));
	assert_ok(store_agent_executables(engines.clickhouse, "default", &agent, EPOCH, 10, arena,
					  &list, &count));
	assert_int_equal(count, 2);
	assert_ok(store_agent_executables(engines.clickhouse, "other", &agent, EPOCH, 10, arena,
					  &list, &count));
	assert_int_equal(count, 0);
}

static void a_view_obeys_its_cancel_and_its_memory_budget(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(release_engines) struct engines engines = {};
	scoped(arena_freep) struct arena *arena = NULL;
	struct memory_budget memory = { .limit_bytes = 4 * MIB };
	struct cancel cancel = {};
	const struct store_view_options options = { .tenant = "default",
						    .cancel = &cancel,
						    .memory = &memory };
	struct store_sum_series summed = { .factor = 1 };
	struct store_sum_query query = { .series = &summed,
					 .n_series = 1,
					 .from_slot = FIRST / SLOT_NS,
					 .to_slot = END / SLOT_NS };
	struct store_sums sums = {};
	struct store_view *view;
	size_t count;

	skip_without_server(server);
	init_engines(&engines, server, "limits");
	write_both(&engines, "default", true);
	assert_ok(arena_new(MIB, &arena));
	assert_ok(store_view_open(engines.clickhouse, &options, &view));
	summed.id = find_all(view, arena, &count)[0].id;
	assert_ok(store_sum(view, &query, &sums));
	assert_true(sums.count > 0);
	store_sums_release(&sums);
	memory.limit_bytes = memory.used_bytes;
	assert_errno(store_sum(view, &query, &sums), -ENOMEM);
	memory.limit_bytes = 4 * MIB;
	cancel_request(&cancel);
	assert_errno(store_sum(view, &query, &sums), -ECANCELED);
	(void)store_view_close(view);
	assert_int_equal(memory.used_bytes, 0);
}

static void days_beyond_the_limits_are_removed(void **state)
{
	const struct clickhouse_server *server = *state;
	const uint64_t midnight = NOON + 12 * 3600 * NSEC_PER_SEC;
	scoped(release_engines) struct engines engines = {};
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_stats stats = {};
	enum store_removal reason;
	size_t removed, count;
	struct store_view *view;
	uint64_t slot;

	skip_without_server(server);
	init_engines(&engines, server, "removal");
	write_both(&engines, "default", true);
	assert_ok(store_stats(engines.clickhouse, &stats));
	assert_int_equal(stats.n_batches, N_BATCHES);
	assert_true(stats.disk_bytes > 1000);
	assert_ok(store_retain(engines.clickhouse, &removed));
	assert_int_equal(removed, 0);

	store_set_max_bytes(engines.clickhouse, 1);
	assert_ok(store_retain(engines.clickhouse, &removed));
	assert_int_equal(removed, 1);
	assert_ok(arena_new(MIB, &arena));
	view = open_view(engines.clickhouse, "default");
	assert_true(find_all(view, arena, &count)[0].first_slot >= midnight / SLOT_NS);
	assert_int_equal(store_removed_until(view, &slot, &reason), 1);
	assert_int_equal(slot, midnight / SLOT_NS);
	assert_int_equal(reason, STORE_REMOVED_BY_SIZE);
	(void)store_view_close(view);
}

static void without_a_server_all_operations_fail_with_its_absence(void **state)
{
	struct clickhouse_server *server = *state;
	const struct clickhouse_server absent = { .url = "http://127.0.0.1:1" };
	scoped(release_engines) struct engines engines = {};
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_series *series;
	struct store_view *view;
	size_t count;

	engines.clock = test_clock_at(END);
	engines.folder = path_in(server->folder, "absent");
	assert_int_equal(mkdir(engines.folder, 0700), 0);
	open_clickhouse(&engines, &absent, "absent");
	assert_errno(store_check(engines.clickhouse), -ECONNREFUSED);
	assert_errno(write_batch(engines.clickhouse, random_batch(1, true)), -ECONNREFUSED);
	assert_ok(arena_new(MIB, &arena));
	view = open_view(engines.clickhouse, "default");
	assert_errno(
		store_find_series(view, &(struct store_series_query){}, arena, &series, &count),
		-ECONNREFUSED);
	(void)store_view_close(view);
}

static void a_wrong_password_prevents_the_start(void **state)
{
	const struct clickhouse_server *server = *state;
	const struct clickhouse_store_options options = {
		.server = { .url = server->url,
			    .database = "default",
			    .user = "hearth",
			    .password = "wrong" },
		.folder = server->folder,
		.clock = &system_clock,
	};
	char message[CLICKHOUSE_STORE_MESSAGE_SIZE];
	struct store *store = NULL;

	skip_without_server(server);
	assert_errno(clickhouse_store_open(&options, &store, message), -EACCES);
	assert_non_null(strstr(message, server->url));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_operations_return_the_same_as_sqlite),
		cmocka_unit_test(executables_are_found_by_identity_and_by_agent),
		cmocka_unit_test(a_view_obeys_its_cancel_and_its_memory_budget),
		cmocka_unit_test(days_beyond_the_limits_are_removed),
		cmocka_unit_test(without_a_server_all_operations_fail_with_its_absence),
		cmocka_unit_test(a_wrong_password_prevents_the_start),
	};

	return cmocka_run_group_tests(tests, server_group_setup, server_group_teardown);
}
