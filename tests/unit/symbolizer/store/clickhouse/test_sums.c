/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the same random batches, from a fixed seed, to SQLite and to ClickHouse. All sums of both
 * engines must be equal to the unit. Thread IDs identify series, and addresses of leaves stacks.
 */

#include "tests/unit/symbolizer/store/clickhouse/server_fixture.h"

#include <sys/stat.h>

#include "symbolizer/store/clickhouse/row_binary.h"
#include "symbolizer/store/clickhouse/sums.h"
#include "symbolizer/store/clickhouse/writer.h"
#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#define N_AGENTS  3
#define N_SERIES  4
#define N_STACKS  12
#define N_BATCHES 30
#define N_TIDS    (N_AGENTS * N_SERIES)
#define N_GROUPS  5

/* Batches cover 5 s each, from 40 s before midnight. */
#define FIRST (NOON + (12 * 3600 - 40) * NSEC_PER_SEC)

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

static void define(struct batch_builder *builder, uint8_t agent)
{
	const struct executable_id id = test_build_id(1);

	batch_builder_executable(builder, 1, &id, "server", ROLE_USER);
	batch_builder_process(builder, 1, 4711, 99, agent % 2 ? "web" : "shop", 1);
	for (uint32_t i = 0; i < N_SERIES; i++)
		batch_builder_series(builder, i + 1, 1, 1 + agent * N_SERIES + i, "thread",
				     i % 2 ? EVENT_ON_CPU : EVENT_OFF_CPU, 1 + i * 1000);
	for (uint32_t i = 0; i < N_STACKS; i++) {
		const struct batch_frame frames[] = {
			{ FRAME_NATIVE, 1, 0x1000 + i },
			{ FRAME_NATIVE, 1, 0x2000 + i / 4 },
		};

		batch_builder_stack(builder, i + 1, STACK_CUT_NONE, frames, 2);
	}
}

static struct batch_builder *random_batch(uint32_t number)
{
	const uint64_t opened = FIRST + number / N_AGENTS * 5 * NSEC_PER_SEC;
	const uint8_t agent = (uint8_t)(number % N_AGENTS);
	uint64_t state = 1000 + number;
	struct batch_builder *builder =
		batch_builder_new(agent, EPOCH, 1 + number, opened, opened + 5 * NSEC_PER_SEC);

	define(builder, agent);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t series = 1 + (uint32_t)(next_random(&state) % N_SERIES);
		uint32_t stack = (uint32_t)(next_random(&state) % (N_STACKS + 1));
		uint64_t slot = next_random(&state) % 500;

		batch_builder_row(builder, series, stack, opened + slot * SLOT_NS,
				  1 + next_random(&state) % 1000);
	}
	return builder;
}

struct engines {
	struct test_clock clock;
	struct store *sqlite;
	struct clickhouse_client *client;
};

static void write_clickhouse(struct clickhouse_writer *writer, uint32_t number)
{
	scoped(bytes_release) struct bytes body = BYTES_INIT(MIB);
	scoped(arena_freep) struct arena *arena = NULL;
	char reason[DECODE_MESSAGE_SIZE];
	struct store_missing missing;
	struct batch batch;
	struct store_write write = { .tenant = "default", .batch = &batch };
	struct store_write *writes[] = { &write };

	assert_ok(arena_new(16 * MIB, &arena));
	batch_builder_finish(random_batch(number), &body);
	if (batch_decode(bytes_view_of(&body), arena, &batch, reason) < 0)
		fail_msg("%s", reason);
	write.arena = arena;
	write.ret_missing = &missing;
	assert_int_equal(clickhouse_writer_write_group(writer, writes, 1), 1);
	assert_int_equal(write.result, STORE_STORED);
}

static void write_all(struct engines *engines)
{
	scoped(clickhouse_writer_freep) struct clickhouse_writer *writer = NULL;
	const struct clickhouse_writer_options options = {
		.client = engines->client,
		.clock = &engines->clock.clock,
		.max_numbers_bytes = MIB,
		.max_agents = 16,
		.max_rows_bytes = MIB,
	};

	assert_ok(clickhouse_schema_migrate(engines->client, NULL));
	assert_ok(clickhouse_writer_new(&options, &writer));
	for (uint32_t i = 0; i < N_BATCHES; i++) {
		assert_int_equal(write_batch(engines->sqlite, random_batch(i)), STORE_STORED);
		write_clickhouse(writer, i);
	}
	/* Every row twice, as if two servers had written all batches. */
	run_sql(engines->client, "INSERT INTO samples SELECT * FROM samples");
}

static void init_engines(struct engines *engines, const struct clickhouse_server *server,
			 const char *name)
{
	scoped_free char *folder = path_in(server->folder, name);
	scoped_free char *sql = NULL;

	*engines = (struct engines){ .clock = test_clock_at(FIRST + 600 * NSEC_PER_SEC) };
	assert_int_equal(mkdir(folder, 0700), 0);
	engines->sqlite = open_store(folder, &engines->clock);
	engines->client = server_client(server, NULL);
	assert_true(asprintf(&sql, "CREATE DATABASE %s", name) > 0);
	run_sql(engines->client, sql);
	(void)clickhouse_client_free(engines->client);
	engines->client = server_client(server, name);
	write_all(engines);
}

static void release_engines(struct engines *engines)
{
	engines->sqlite = store_free(engines->sqlite);
	engines->client = clickhouse_client_free(engines->client);
}

/* One sum of an engine: items by group and stack (leaf's address - 0xfff, 0 none). */
struct result {
	uint64_t values[N_GROUPS][N_STACKS + 1];
	uint64_t last_slots[N_GROUPS][N_STACKS + 1];
	uint64_t n_items, n_rows, marked_value;
};

static struct store_sum_series sum_series_of(uint64_t id, uint32_t tid)
{
	return (struct store_sum_series){
		.id = id, .factor = 1 + tid * 7, .group = tid % N_GROUPS, .marked = tid % 3 == 0
	};
}

static void add_item(struct result *result, const struct store_sum *item, uint64_t leaf)
{
	uint64_t stack = leaf ? leaf - 0xfff : 0;

	assert_true(item->group < N_GROUPS && stack <= N_STACKS);
	assert_int_equal(result->values[item->group][stack], 0);
	result->values[item->group][stack] = item->value;
	result->last_slots[item->group][stack] = item->last_slot;
}

/* Steps take the places of stacks. */
static uint64_t leaf_of_step(const struct store_sum *item)
{
	return item->stack ? 0xfff + item->stack : 0;
}

static uint64_t leaf_in(struct store_view *view, struct arena *arena, uint64_t id)
{
	struct store_stack stack;

	assert_ok(store_load_stacks(view, &id, 1, arena, &stack));
	return stack.n_frames ? stack.frames[0].address : 0;
}

static struct result sum_sqlite(const struct engines *engines, struct store_sum_query query)
{
	const struct store_view_options options = { .tenant = "default" };
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_sum_series summed[N_TIDS];
	struct store_view *view = NULL;
	struct store_series *series;
	struct store_sums sums = {};
	struct result result = {};

	assert_ok(arena_new(16 * MIB, &arena));
	assert_ok(store_view_open(engines->sqlite, &options, &view));
	assert_ok(store_find_series(view, &(struct store_series_query){}, arena, &series,
				    &query.n_series));
	assert_int_equal(query.n_series, N_TIDS);
	for (size_t i = 0; i < N_TIDS; i++)
		summed[i] = sum_series_of(series[i].id, series[i].tid);
	query.series = summed;
	assert_ok(store_sum(view, &query, &sums));
	for (size_t i = 0; i < sums.count; i++)
		add_item(&result, &sums.items[i],
			 query.step_slots ? leaf_of_step(&sums.items[i])
					  : leaf_in(view, arena, sums.items[i].stack));
	result.n_items = sums.count;
	result.n_rows = sums.n_rows;
	result.marked_value = sums.marked_value;
	store_sums_release(&sums);
	(void)store_view_close(view);
	return result;
}

struct sources {
	struct sum_source items[N_TIDS];
	struct store_sum_series summed[N_TIDS];
	size_t count;
};

static int read_source(void *arg, struct bytes_reader *row)
{
	struct sources *sources = arg;
	struct hash128 id = row_read_hash(row);
	uint64_t lane = row_read_u64(row);
	uint32_t tid = row_read_u32(row);

	if (row->error < 0)
		return 0;
	assert_true(sources->count < N_TIDS);
	sources->items[sources->count] = (struct sum_source){ .id = id, .lane = lane };
	sources->summed[sources->count] = sum_series_of(sources->count, tid);
	sources->count++;
	return 0;
}

struct leaves {
	struct hash128 ids[N_STACKS];
	uint64_t addresses[N_STACKS];
	size_t count;
};

static int read_leaf(void *arg, struct bytes_reader *row)
{
	struct leaves *leaves = arg;
	struct hash128 id = row_read_hash(row);
	uint64_t address = row_read_u64(row);

	if (row->error < 0)
		return 0;
	assert_true(leaves->count < N_STACKS);
	leaves->ids[leaves->count] = id;
	leaves->addresses[leaves->count++] = address;
	return 0;
}

static uint64_t leaf_of(const struct leaves *leaves, const struct hash128 *id)
{
	for (size_t i = 0; i < leaves->count; i++)
		if (hash128_equal(&leaves->ids[i], id))
			return leaves->addresses[i];
	return 0;
}

static int run_query(void *arg, const struct clickhouse_query *query)
{
	return clickhouse_client_run(arg, query);
}

static struct result sum_clickhouse(const struct engines *engines, struct store_sum_query query)
{
	scoped(id_table_freep) struct id_table *stacks = NULL;
	struct sources sources = {};
	struct leaves leaves = {};
	struct sum_request request = { .run = run_query,
				       .run_arg = engines->client,
				       .sources = sources.items };
	struct store_sums sums = {};
	struct result result = {};

	assert_ok(clickhouse_client_run(
		engines->client,
		&(struct clickhouse_query){ .sql = "SELECT id, lane, tid FROM series"
						   " LIMIT 1 BY lane, id FORMAT RowBinary",
					    .read_row = read_source,
					    .arg = &sources }));
	assert_ok(clickhouse_client_run(
		engines->client,
		&(struct clickhouse_query){ .sql = "SELECT id, address FROM stacks"
						   " LIMIT 1 BY id FORMAT RowBinary",
					    .read_row = read_leaf,
					    .arg = &leaves }));
	assert_int_equal(sources.count, N_TIDS);
	assert_ok(id_table_new(1000, NULL, &stacks));
	request.stacks = stacks;
	query.series = sources.summed;
	query.n_series = sources.count;
	if (sums_query(&request, &query, &sums) < 0)
		fail_msg("%s", clickhouse_client_message(engines->client));
	for (size_t i = 0; i < sums.count; i++)
		add_item(&result, &sums.items[i],
			 query.step_slots
				 ? leaf_of_step(&sums.items[i])
				 : leaf_of(&leaves, id_table_id(stacks, sums.items[i].stack)));
	result.n_items = sums.count;
	result.n_rows = sums.n_rows;
	result.marked_value = sums.marked_value;
	store_sums_release(&sums);
	return result;
}

static void sums_of_both_engines_are_equal(void **state)
{
	static const struct {
		uint64_t from_ns, to_ns; /* since FIRST */
	} ranges[] = {
		{ 0, 100 * NSEC_PER_SEC },
		{ 7 * NSEC_PER_SEC, 33 * NSEC_PER_SEC },
		{ 38 * NSEC_PER_SEC, 43 * NSEC_PER_SEC },
		{ 40 * NSEC_PER_SEC, 41 * NSEC_PER_SEC },
		{ 90 * NSEC_PER_SEC, 95 * NSEC_PER_SEC },
	};
	const struct clickhouse_server *server = *state;
	scoped(release_engines) struct engines engines = {};
	uint64_t n_rows = 0;

	skip_without_server(server);
	init_engines(&engines, server, "equal_sums");
	for (size_t i = 0; i < ARRAY_SIZE(ranges) * 9; i++) {
		uint64_t slots = (ranges[i / 9].to_ns - ranges[i / 9].from_ns) / SLOT_NS;
		unsigned int flags = i % 9;
		const struct store_sum_query query = {
			.from_slot = (FIRST + ranges[i / 9].from_ns) / SLOT_NS,
			.to_slot = (FIRST + ranges[i / 9].to_ns) / SLOT_NS,
			.policy = flags & 1 ? STORE_SUM_LAST : STORE_SUM_ADD,
			.without_stacks = flags == 8 || flags & 2,
			.last_slots = flags & 4,
			.step_slots = flags == 8 ? slots / N_STACKS : 0,
		};
		struct result expected = sum_sqlite(&engines, query);
		struct result actual = sum_clickhouse(&engines, query);

		assert_memory_equal(&actual, &expected, sizeof(actual));
		n_rows += actual.n_rows;
	}
	assert_true(n_rows > N_BATCHES * 100);
}

static void a_sum_above_the_largest_number_saturates(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	scoped(id_table_freep) struct id_table *stacks = NULL;
	const struct sum_source source = { .id = { .bytes = "series" }, .lane = 1 };
	const struct store_sum_series series = { .factor = UINT64_C(1) << 40, .marked = true };
	const struct store_sum_query query = { .series = &series, .n_series = 1, .to_slot = 1000 };
	struct sum_request request = { .sources = &source };
	struct store_sums sums = {};

	skip_without_server(server);
	client = server_client(server, NULL);
	run_sql(client, "CREATE DATABASE saturated");
	(void)clickhouse_client_free(client);
	client = server_client(server, "saturated");
	assert_ok(clickhouse_schema_migrate(client, NULL));
	run_sql(client,
		"INSERT INTO samples SELECT 0, 1, 0, toFixedString('series', 16), 1, 1, 5, 6,"
		" [toFixedString('', 16), toFixedString('', 16)], [toUInt32(5), toUInt32(6)],"
		" [toUInt64(8388608), toUInt64(8388608)]");
	assert_ok(id_table_new(10, NULL, &stacks));
	request.run = run_query;
	request.run_arg = client;
	request.stacks = stacks;
	assert_ok(sums_query(&request, &query, &sums));
	assert_int_equal(sums.count, 1);
	assert_int_equal(sums.items[0].value, UINT64_MAX);
	assert_int_equal(sums.marked_value, UINT64_MAX);
	store_sums_release(&sums);
}

static void a_cancelled_sum_returns_no_items(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	scoped(id_table_freep) struct id_table *stacks = NULL;
	const struct sum_source source = {};
	const struct store_sum_series series = { .factor = 1 };
	const struct store_sum_query query = { .series = &series, .n_series = 1, .to_slot = 1000 };
	struct cancel cancel = {};
	struct sum_request request = { .sources = &source, .cancel = &cancel };
	struct store_sums sums = {};

	skip_without_server(server);
	client = server_client(server, NULL);
	assert_ok(id_table_new(10, NULL, &stacks));
	request.run = run_query;
	request.run_arg = client;
	request.stacks = stacks;
	cancel_request(&cancel);
	assert_errno(sums_query(&request, &query, &sums), -ECANCELED);
	assert_int_equal(sums.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_of_both_engines_are_equal),
		cmocka_unit_test(a_sum_above_the_largest_number_saturates),
		cmocka_unit_test(a_cancelled_sum_returns_no_items),
	};

	return cmocka_run_group_tests(tests, server_group_setup, server_group_teardown);
}
