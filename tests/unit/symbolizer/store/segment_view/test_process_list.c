/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/segment/segment_fixture.h"

#include "symbolizer/store/segment_view/process_cache.h"

#define MAX_RUNS 9
#define MAX_KEYS 40

/* All keys are different numbers below N_VALUES. */
#define N_VALUES 150

static struct process_key key_of(unsigned int value)
{
	/* Each field decides between some pairs of values. */
	return (struct process_key){ .start_time_ns = { value / 50, value / 10 % 5 },
				     .pid = value % 10 };
}

struct random_runs {
	struct process_key keys[MAX_RUNS][MAX_KEYS];
	struct process_run runs[MAX_RUNS];
	size_t n_runs;
	bool has[N_VALUES];
};

/* Ascending values in steps of at most @max_step. */
static size_t fill_run(struct random_runs *test, struct process_key *keys, uint64_t *random,
		       uint64_t max_step)
{
	size_t n = 0, max = 1 + model_random(random) % MAX_KEYS;
	uint64_t value = model_random(random) % N_VALUES;

	for (; n < max && value < N_VALUES; value += 1 + model_random(random) % max_step) {
		test->has[value] = true;
		keys[n++] = key_of((unsigned int)value);
	}
	return n;
}

static void a_process_in_several_runs_is_counted_once(void **state)
{
	uint64_t random = 5;

	(void)state;
	for (unsigned int i = 0; i < 3000; i++) {
		struct random_runs test = { .n_runs = 1 + model_random(&random) % MAX_RUNS };
		size_t n_expected = 0;

		for (size_t k = 0; k < test.n_runs; k++) {
			size_t n = fill_run(&test, test.keys[k], &random, 1 + i % 7);

			test.runs[k] = (struct process_run){ test.keys[k], test.keys[k] + n };
		}
		for (size_t k = 0; k < N_VALUES; k++)
			n_expected += test.has[k];
		assert_int_equal(process_runs_count(test.runs, test.n_runs), n_expected);
	}
	assert_int_equal(process_runs_count(NULL, 0), 0);
}

static struct process_list *list_of(size_t n_rows)
{
	scoped(arena_freep) struct arena *arena = new_arena();
	struct process_list *list;
	struct model model = {};
	struct segment segment;
	uint64_t random = 7;
	bool *is_active;

	model_add_random(&model, &random, n_rows, (uint64_t[]){ 1, 1000 });
	segment = segment_of(&model, arena);
	is_active = arena_alloc_array(arena, segment.count[SEGMENT_PROCESS], 1);
	assert_non_null(is_active);
	memset(is_active, true, segment.count[SEGMENT_PROCESS]);
	assert_ok(process_list_new(&segment, is_active, arena, &list));
	vec_release(&model);
	return list;
}

static void a_list_has_a_run_for_each_host(void **state)
{
	scoped(process_list_freep) struct process_list *list = list_of(200);

	(void)state;
	assert_int_equal(list->n_runs, 3);
	for (size_t i = 0; i < list->n_runs; i++) {
		const struct process_run run = process_list_run(list, i);
		const struct bytes_view host = process_list_host(list, i);

		assert_int_equal(run.end - run.next, 5);
		assert_int_equal(host.size, 5);
		assert_memory_equal(host.data, "host", 4);
	}
}

static struct segment_part_key key_at(uint64_t id)
{
	return (struct segment_part_key){ .id = id, .flush = 1, .n_rows = 1 };
}

static bool has(struct process_cache *cache, uint64_t id)
{
	const struct segment_part_key key = key_at(id);
	struct process_list *list = process_cache_find(cache, &key);
	bool found = list;

	(void)process_list_free(list);
	return found;
}

static void add(struct process_cache *cache, uint64_t id, struct process_list *list)
{
	const struct segment_part_key key = key_at(id);

	process_cache_add(cache, &key, list);
}

static void a_list_is_found_by_its_whole_key(void **state)
{
	scoped(process_list_freep) struct process_list *list = list_of(10);
	scoped(process_cache_freep) struct process_cache *cache = NULL;
	const struct segment_part_key key = { 1, 2, 3, 4 };
	const struct segment_part_key others[] = {
		{ 0, 2, 3, 4 }, { 1, 0, 3, 4 }, { 1, 2, 0, 4 }, { 1, 2, 3, 0 }
	};
	struct process_list *found;

	(void)state;
	assert_ok(process_cache_new(MIB, &cache));
	process_cache_add(cache, &key, list);
	found = process_cache_find(cache, &key);
	assert_ptr_equal(found, list);
	(void)process_list_free(found);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_null(process_cache_find(cache, &others[i]));
}

static void a_full_cache_keeps_the_lists_in_use(void **state)
{
	enum { N_LISTS = 10 };
	scoped(process_list_freep) struct process_list *list = list_of(10);
	scoped(process_cache_freep) struct process_cache *cache = NULL;
	size_t one;

	(void)state;
	assert_ok(process_cache_new(SIZE_MAX, &cache));
	add(cache, 0, list);
	one = process_cache_bytes(cache);
	cache = process_cache_free(cache);
	assert_ok(process_cache_new(N_LISTS * one, &cache));
	/* Twice as many as fit, in turn, as a query of a long time asks for them. */
	for (unsigned int round = 0; round < 10; round++)
		for (uint64_t i = 0; i < 2 * N_LISTS; i++)
			if (!has(cache, i))
				add(cache, i, list);
	for (uint64_t i = 0; i < N_LISTS; i++)
		assert_true(has(cache, i));
	assert_int_equal(process_cache_bytes(cache), N_LISTS * one);
	/* From now on only list 3 is used. */
	for (unsigned int i = 0; i < 5 * N_LISTS; i++)
		assert_true(has(cache, 3));
	add(cache, 100, list);
	assert_true(has(cache, 3) && has(cache, 100));
	assert_int_equal(process_cache_bytes(cache), 2 * one);
}

static void a_list_outlives_its_cache(void **state)
{
	struct process_cache *cache;
	struct process_list *found, *list = list_of(10);
	const struct segment_part_key key = key_at(1);

	(void)state;
	assert_ok(process_cache_new(MIB, &cache));
	process_cache_add(cache, &key, list);
	(void)process_list_free(list);
	found = process_cache_find(cache, &key);
	(void)process_cache_free(cache);
	assert_true(process_list_run(found, 0).end > process_list_run(found, 0).next);
	(void)process_list_free(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_in_several_runs_is_counted_once),
		cmocka_unit_test(a_list_has_a_run_for_each_host),
		cmocka_unit_test(a_list_is_found_by_its_whole_key),
		cmocka_unit_test(a_full_cache_keeps_the_lists_in_use),
		cmocka_unit_test(a_list_outlives_its_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
