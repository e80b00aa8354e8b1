/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the same random batches, from a fixed seed, to both embedded engines. All sums must be
 * equal to the unit: of rows in memory, in segments, and in roll-ups. Thread IDs identify series,
 * and addresses of leaves stacks.
 */

#include "tests/unit/symbolizer/store/segment_store/segment_store_fixture.h"

#include <sys/stat.h>

#define N_AGENTS  3
#define N_SERIES  4
#define N_STACKS  12
#define N_BATCHES 60
#define N_TIDS    (N_AGENTS * N_SERIES)
#define N_GROUPS  5

/* Batches cover 5 minutes each. 20 of each agent are 100 minutes, with midnight in the middle. */
#define BATCH_NS (300 * NSEC_PER_SEC)
#define HOUR_NS  (3600 * NSEC_PER_SEC)
#define FIRST    (NOON + 12 * HOUR_NS - 50 * 60 * NSEC_PER_SEC)
#define MIDNIGHT (NOON + 12 * HOUR_NS)
#define LAST     (FIRST + N_BATCHES / N_AGENTS * BATCH_NS)

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
				     i % 2 ? EVENT_ON_CPU : EVENT_OFF_CPU,
				     i % 2 ? 1 + i * 1000 : 0);
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
	const uint64_t opened = FIRST + number / N_AGENTS * BATCH_NS;
	const uint8_t agent = (uint8_t)(number % N_AGENTS);
	uint64_t state = 1000 + number;
	struct batch_builder *builder =
		batch_builder_new(agent, EPOCH, 1 + number, opened, opened + BATCH_NS);

	define(builder, agent);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t series = 1 + (uint32_t)(next_random(&state) % N_SERIES);
		uint32_t stack = (uint32_t)(next_random(&state) % (N_STACKS + 1));
		uint64_t slot = next_random(&state) % (BATCH_NS / SLOT_NS);

		batch_builder_row(builder, series, stack, opened + slot * SLOT_NS,
				  1 + next_random(&state) % 1000);
	}
	return builder;
}

struct engines {
	struct test_clock clock;
	char *segments_folder;
	struct store *sqlite, *segments;
};

static void write_all(struct engines *engines, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		assert_int_equal(write_batch(engines->sqlite, random_batch(i)), STORE_STORED);
		assert_int_equal(write_batch(engines->segments, random_batch(i)), STORE_STORED);
		assert_int_equal(write_batch(engines->segments, random_batch(i)), STORE_DUPLICATE);
	}
}

static void reopen_segments(struct engines *engines)
{
	engines->segments = store_free(engines->segments);
	engines->segments = open_segment_store(engines->segments_folder, &engines->clock.clock, 0);
}

static void init_engines(struct engines *engines, const char *folder)
{
	scoped_free char *sqlite_folder = path_in(folder, "sqlite");

	*engines = (struct engines){ .clock = test_clock_at(LAST + 2 * HOUR_NS),
				     .segments_folder = path_in(folder, "segments") };
	assert_int_equal(mkdir(sqlite_folder, 0700), 0);
	engines->sqlite = open_store(sqlite_folder, &engines->clock);
	reopen_segments(engines);
}

static void release_engines(struct engines *engines)
{
	engines->sqlite = store_free(engines->sqlite);
	engines->segments = store_free(engines->segments);
	free(engines->segments_folder);
}

/* One sum of an engine: items by group and stack (leaf's address - 0xfff, 0 none). */
struct result {
	uint64_t values[N_GROUPS][N_STACKS + 1];
	uint64_t last_slots[N_GROUPS][N_STACKS + 1];
	uint64_t n_series, n_items, marked_value, n_damaged;
};

/* What is asked: the range, and how the series are divided. */
struct question {
	struct store_series_query series;
	struct store_sum_query sum;
	uint32_t n_groups;
	uint32_t left_out_tid; /* 0: none */
};

static uint64_t leaf_in(struct store_view *view, struct arena *arena, uint64_t id)
{
	struct store_stack stack;

	assert_ok(store_load_stacks(view, &id, 1, arena, &stack));
	return stack.n_frames ? stack.frames[0].address : 0;
}

static size_t select_series(const struct question *question, const struct store_series *series,
			    size_t count, struct store_sum_series *ret_selected)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (series[i].tid == question->left_out_tid)
			continue;
		assert_true(n < N_TIDS);
		ret_selected[n++] = (struct store_sum_series){
			.id = series[i].id,
			.factor = series[i].period_ns ? series[i].period_ns : 1,
			.group = series[i].tid % question->n_groups,
			.marked = series[i].tid % 3 == 0,
		};
	}
	return n;
}

static struct result ask(struct store *store, const struct question *question)
{
	const struct store_view_options options = { .tenant = "default" };
	struct store_sum_query query = question->sum;
	struct store_sum_series selected[N_TIDS];
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_view *view = NULL;
	struct store_series *series;
	struct store_sums sums = {};
	struct result result = {};
	size_t count;

	assert_ok(arena_new(16 * MIB, &arena));
	assert_ok(store_view_open(store, &options, &view));
	assert_ok(store_find_series(view, &question->series, arena, &series, &count));
	query.n_series = select_series(question, series, count, selected);
	query.series = selected;
	assert_ok(store_sum(view, &query, &sums));
	for (size_t i = 0; i < sums.count; i++) {
		const struct store_sum *item = &sums.items[i];
		uint64_t leaf = leaf_in(view, arena, item->stack);
		uint64_t stack = leaf ? leaf - 0xfff : 0;

		assert_true(item->group < N_GROUPS && stack <= N_STACKS);
		assert_int_equal(result.values[item->group][stack], 0);
		result.values[item->group][stack] = item->value;
		result.last_slots[item->group][stack] = item->last_slot;
	}
	result.n_items = sums.count;
	result.marked_value = sums.marked_value;
	result.n_damaged = sums.n_damaged_blocks;
	store_sums_release(&sums);
	(void)store_view_close(view);
	return result;
}

static void assert_equal_answers(const struct engines *engines, const struct question *question)
{
	struct result expected = ask(engines->sqlite, question);
	struct result actual = ask(engines->segments, question);

	assert_memory_equal(&actual, &expected, sizeof(actual));
}

static void assert_equal_sums(const struct engines *engines)
{
	static const struct {
		uint64_t from_ns, to_ns;
	} ranges[] = {
		{ FIRST - HOUR_NS, LAST + HOUR_NS },
		{ MIDNIGHT - HOUR_NS, MIDNIGHT + HOUR_NS },
		{ MIDNIGHT, MIDNIGHT + HOUR_NS },
		{ FIRST + 7 * NSEC_PER_SEC, FIRST + 1000 * NSEC_PER_SEC },
		{ MIDNIGHT - 100 * NSEC_PER_SEC, LAST - NSEC_PER_SEC },
		{ LAST + HOUR_NS, LAST + 2 * HOUR_NS },
	};
	static const char *const services[] = { NULL, "web", "shop", "none" };
	static const enum event_type types[] = { EVENT_NONE, EVENT_ON_CPU, EVENT_OFF_CPU };

	/* Each seventh combination: the numbers of values have no factor in common with it. */
	for (size_t i = 0; i < ARRAY_SIZE(ranges) * 8 * 4 * 3 * 3; i += 7) {
		const size_t range = i / (8 * 4 * 3 * 3);
		const uint64_t from_slot = ranges[range].from_ns / SLOT_NS;
		const uint64_t to_slot = ranges[range].to_ns / SLOT_NS;
		const struct question question = {
			.series = { .service = services[i / 8 % 4],
				    .type = types[i / 32 % 3],
				    .from_slot = from_slot,
				    .to_slot = to_slot },
			.sum = { .from_slot = from_slot,
				 .to_slot = to_slot,
				 .policy = i & 1 ? STORE_SUM_LAST : STORE_SUM_ADD,
				 .without_stacks = i & 2,
				 .last_slots = i & 4 },
			.n_groups = i / 96 % 3 == 0 ? N_GROUPS : 1,
			.left_out_tid = i / 96 % 3 == 1 ? 2 : 0,
		};

		assert_equal_answers(engines, &question);
	}
}

static void sums_of_both_engines_are_equal(void **state)
{
	scoped(release_engines) struct engines engines = {};

	init_engines(&engines, *state);
	write_all(&engines, 0, N_BATCHES / 2);
	assert_equal_sums(&engines); /* rows in memory */
	reopen_segments(&engines);
	assert_equal_sums(&engines); /* from the inbox */
	assert_ok(segment_store_settle(engines.segments));
	assert_equal_sums(&engines); /* roll-ups */
	write_all(&engines, N_BATCHES / 2, N_BATCHES);
	assert_equal_sums(&engines); /* rows in memory that roll-ups lack */
	assert_ok(segment_store_settle(engines.segments));
	assert_equal_sums(&engines);
	reopen_segments(&engines);
	assert_equal_sums(&engines);
}

/* Compares services with an event type, by name. */
static const struct store_active_service *find_service(const struct store_active_service *services,
						       size_t count,
						       const struct store_active_service *wanted)
{
	for (size_t i = 0; i < count; i++)
		if (services[i].type == wanted->type && strcmp(services[i].name, wanted->name) == 0)
			return &services[i];
	return NULL;
}

static void assert_equal_services(const struct engines *engines, uint64_t from_ns, uint64_t to_ns)
{
	const struct store_series_query query = { .from_slot = from_ns / SLOT_NS,
						  .to_slot = to_ns / SLOT_NS };
	struct store *const stores[] = { engines->sqlite, engines->segments };
	struct store_active_service *services[2];
	struct store_view *views[2];
	scoped(arena_freep) struct arena *arena = NULL;
	size_t counts[2];

	assert_ok(arena_new(16 * MIB, &arena));
	for (size_t i = 0; i < 2; i++) {
		views[i] = open_view(stores[i], "default");
		assert_ok(store_active_services(views[i], &query, arena, &services[i], &counts[i]));
	}
	assert_int_equal(counts[0], counts[1]);
	for (size_t i = 0; i < counts[0]; i++) {
		const struct store_active_service *other =
			find_service(services[1], counts[1], &services[0][i]);

		assert_non_null(other);
		assert_int_equal(other->n_hosts, services[0][i].n_hosts);
		assert_int_equal(other->n_processes, services[0][i].n_processes);
	}
	for (size_t i = 0; i < 2; i++)
		(void)store_view_close(views[i]);
}

/* The second time, lists of processes are in the cache. */
static void assert_equal_services_twice(const struct engines *engines)
{
	for (int i = 0; i < 2; i++) {
		assert_equal_services(engines, FIRST - HOUR_NS, LAST + HOUR_NS);
		assert_equal_services(engines, MIDNIGHT, MIDNIGHT + HOUR_NS);
	}
}

static void services_of_both_engines_are_equal(void **state)
{
	scoped(release_engines) struct engines engines = {};

	init_engines(&engines, *state);
	write_all(&engines, 0, N_BATCHES / 2);
	assert_equal_services(&engines, FIRST, LAST);
	assert_ok(segment_store_settle(engines.segments));
	assert_equal_services_twice(&engines);
	write_all(&engines, N_BATCHES / 2, N_BATCHES);
	assert_equal_services_twice(&engines);
	/* Merged segments may get the IDs of those that they replace. */
	assert_ok(segment_store_settle(engines.segments));
	assert_equal_services_twice(&engines);
	assert_equal_services(&engines, LAST + HOUR_NS, LAST + 2 * HOUR_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(sums_of_both_engines_are_equal),
		in_folder(services_of_both_engines_are_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
