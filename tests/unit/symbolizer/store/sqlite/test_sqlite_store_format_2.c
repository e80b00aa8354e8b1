/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conversion of a hearth.db without what batches of format 2 add: code objects, event types by
 * name, labels of series and frames of unknown kinds.
 */
#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#include "symbolizer/store/sqlite/schema.h"

/* A kind that common/frame_kinds.def does not have. */
#define UNKNOWN_KIND 19

static const struct batch_event_type page_faults = { "page-faults", "events", EVENT_VALUE_SUM };

static const struct batch_code_object step = {
	.number = 1,
	.language = "python",
	.function = "step",
	.qualified_name = "Model.step",
	.file = "/app/model.py",
	.first_line = 17,
	.line_table = { (const uint8_t *)"\1\2\3", 3 },
};

static const struct batch_frame frames[] = {
	{ FRAME_PYTHON, FRAME_CODE_OBJECT | 1, 42 },
	{ UNKNOWN_KIND, 1, 0x2000 },
	{ UNKNOWN_KIND, FRAME_CODE_OBJECT | 1, 7 },
	{ FRAME_NATIVE, 1, 0x1000 },
};

struct fixture {
	const char *folder;
	struct test_clock clock;
	struct store *store;
	struct arena *arena;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	void *folder;

	assert_non_null(fixture);
	assert_ok(temp_folder_setup(&folder));
	fixture->folder = folder;
	fixture->clock = test_clock_at(NOON);
	fixture->store = open_store(fixture->folder, &fixture->clock);
	assert_ok(arena_new(256 * MIB, &fixture->arena));
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	void *folder = (void *)fixture->folder;

	(void)store_free(fixture->store);
	(void)arena_free(fixture->arena);
	free(fixture);
	return temp_folder_teardown(&folder);
}

static struct batch_builder *new_batch(uint8_t agent, uint64_t sequence)
{
	struct batch_builder *builder =
		batch_builder_new(agent, EPOCH, sequence, NOON - NSEC_PER_SEC, NOON);

	batch_builder_use_format_2(builder);
	return builder;
}

/* Defines executable 1, process 1, series 1 (page-faults), code object 1, stack 1. */
static void define(struct batch_builder *builder)
{
	struct executable_id id = test_build_id(1);

	batch_builder_executable(builder, 1, &id, "server", ROLE_USER);
	batch_builder_process(builder, 1, 4711, 99, "server", 1);
	batch_builder_described_series(builder, 1, 1, 4711, &page_faults);
	batch_builder_series_label(builder, "device", "gpu0");
	batch_builder_code_object(builder, &step);
	batch_builder_stack(builder, 1, STACK_CUT_NONE, frames, ARRAY_SIZE(frames));
}

static struct batch_builder *defined_batch(uint8_t agent, uint64_t sequence)
{
	struct batch_builder *builder = new_batch(agent, sequence);

	define(builder);
	batch_builder_row(builder, 1, 1, NOON - NSEC_PER_SEC, 3);
	return builder;
}

static void write_in(struct fixture *fixture, const char *tenant, struct batch_builder *builder)
{
	assert_int_equal(write_batch_in(fixture->store, tenant, builder, fixture->arena, NULL),
			 STORE_STORED);
}

static struct store_series *series_of(struct fixture *fixture, const char *tenant,
				      size_t *ret_count)
{
	scoped(store_view_closep) struct store_view *view = open_view(fixture->store, tenant);
	const struct store_series_query query = {};
	struct store_series *series;

	assert_ok(store_find_series(view, &query, fixture->arena, &series, ret_count));
	return series;
}

/* The tables as format 2 of hearth.db had them, filled from those of format 3. */
static const char to_format_2[] =
	"ALTER TABLE node RENAME TO new_node;"
	"CREATE TABLE node(id INTEGER PRIMARY KEY, parent INTEGER NOT NULL,"
	" frame INTEGER NOT NULL, address INTEGER NOT NULL, UNIQUE(parent, frame, address));"
	"INSERT INTO node SELECT id, parent, (frame & 255) | ((frame >> 8) << 3), address"
	" FROM new_node; DROP TABLE new_node;"
	"ALTER TABLE series RENAME TO new_series; DROP INDEX series_type;"
	"CREATE TABLE series(id INTEGER PRIMARY KEY, process INTEGER NOT NULL,"
	" type INTEGER NOT NULL, tid INTEGER NOT NULL, cpu INTEGER NOT NULL,"
	" period_ns INTEGER NOT NULL, thread_name TEXT NOT NULL, host INTEGER NOT NULL,"
	" UNIQUE(process, type, tid, cpu, period_ns, thread_name));"
	"CREATE INDEX series_type ON series(type);"
	"INSERT INTO series SELECT id, process, type, tid, cpu, period_ns, thread_name, host"
	" FROM new_series; DROP TABLE new_series;"
	"DROP TABLE code_object; DROP TABLE event_type; PRAGMA user_version=2;";

static void reopen_as_format_2(struct fixture *fixture)
{
	scoped(sqlite_db_freep) struct sqlite_db *hearth = NULL;

	fixture->store = store_free(fixture->store);
	assert_ok(hearth_db_open(fixture->folder, true, &hearth));
	assert_ok(sqlite_db_run(hearth, to_format_2));
	hearth = sqlite_db_free(hearth);
	fixture->store = open_store(fixture->folder, &fixture->clock);
}

static void load_stacks(struct fixture *fixture, const uint64_t *ids, size_t count,
			struct store_stack *ret_stacks)
{
	scoped(store_view_closep) struct store_view *view = open_view(fixture->store, "default");

	assert_ok(store_load_stacks(view, ids, count, fixture->arena, ret_stacks));
}

static void assert_same_frames(const struct store_stack *left, const struct store_stack *right)
{
	assert_int_equal(left->n_frames, right->n_frames);
	for (uint32_t i = 0; i < left->n_frames; i++) {
		assert_int_equal(left->frames[i].kind, right->frames[i].kind);
		assert_int_equal(left->frames[i].object, right->frames[i].object);
		assert_int_equal(left->frames[i].address, right->frames[i].address);
	}
}

/*
 * Executables 1 and 32 and kind 1: in an update in place, the new number of one frame would be the
 * old number of another frame with the same caller and address.
 */
static void a_database_of_format_2_is_converted_with_all_its_stacks(void **state)
{
	struct fixture *fixture = *state;
	struct batch_builder *builder = batch_at(1, NOON, true);
	const uint64_t name_key = batch_builder_named_frame(builder, "bpf_prog_7");
	struct store_stack before[40], after[40];
	uint64_t ids[40];

	for (uint32_t i = 2; i < 40; i++) {
		const struct batch_frame pair[] = { { FRAME_KERNEL_NAMED, 0, name_key },
						    { FRAME_NATIVE, i, 0x1000 } };
		struct executable_id id = test_build_id((uint8_t)i);

		batch_builder_executable(builder, i, &id, "lib", ROLE_USER);
		batch_builder_stack(builder, i + 1, STACK_CUT_NONE, pair, 2);
	}
	write_in(fixture, "default", builder);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		ids[i] = i + 1;
	load_stacks(fixture, ids, ARRAY_SIZE(ids), before);

	reopen_as_format_2(fixture);
	load_stacks(fixture, ids, ARRAY_SIZE(ids), after);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		assert_int_equal(after[i].cut, before[i].cut);
		assert_true(after[i].n_frames > 0);
		assert_same_frames(&after[i], &before[i]);
	}
	assert_totals(fixture->store, NOON - 5 * NSEC_PER_SEC, NOON, 3, 7);
}

static void a_converted_database_knows_its_series_and_stacks_again(void **state)
{
	struct fixture *fixture = *state;
	struct store_series *series;
	struct store_stats before, after;
	size_t count;

	assert_int_equal(write_batch(fixture->store, batch_at(1, NOON, true)), STORE_STORED);
	assert_ok(store_stats(fixture->store, &before));
	reopen_as_format_2(fixture);
	/* The same definitions of another run of the agent. */
	assert_int_equal(write_batch(fixture->store, batch_at(2, NOON, true)), STORE_STORED);
	assert_int_equal(write_batch(fixture->store, batch_at(3, NOON, false)), STORE_STORED);
	assert_ok(store_stats(fixture->store, &after));
	assert_int_equal(after.n_stacks, before.n_stacks);
	series = series_of(fixture, "default", &count);
	assert_int_equal(count, 1);
	assert_int_equal(series[0].n_labels, 0);
	assert_totals(fixture->store, NOON - 5 * NSEC_PER_SEC, NOON, 9, 21);
	/* And it takes format 2. */
	write_in(fixture, "default", defined_batch(2, 1));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_database_of_format_2_is_converted_with_all_its_stacks),
		TEST(a_converted_database_knows_its_series_and_stacks_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
