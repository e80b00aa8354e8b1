/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/paging/paged_rows.h"

#include "tests/unit/agent/paging/plain_pool.h"

#define MAX_PARTS 2u
#define N_SLOTS   (MAX_PARTS * UNWIND_SLOTS_PER_PART)

/*
 * Each executable of these tests has one chunk, in its own region. It takes one slot, and a
 * fifteenth of another.
 */
#define PAGE UINT64_C(0x40)

struct fixture {
	struct plain_pool *plain;
	struct paged_rows rows;
	uint32_t now;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->plain = plain_pool_new();
	assert_ok(paged_rows_init(&fixture->rows, &fixture->plain->backend, MAX_PARTS,
				  UNWIND_POOL_RULES));
	fixture->now = 1000;
	paged_rows_set_now(&fixture->rows, fixture->now);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	paged_rows_release(&fixture->rows);
	plain_pool_free(fixture->plain);
	free(fixture);
	return 0;
}

/* @n_pages code pages from PAGE on with one row each, and rules that only @executable has. */
static struct chunk_record make_record(uint32_t executable, uint32_t n_pages)
{
	struct chunk_record record = { .n_rules = 2 };
	uint32_t first = (UNWIND_CHUNK_FIRST_HALF + n_pages + 2) / 2;

	record.chunk.first_unit = PAGE;
	record.chunk.n_units = (uint16_t)n_pages;
	record.chunk.unit_shift = UNWIND_PAGE_SHIFT;
	for (uint32_t i = 0; i <= n_pages; i++)
		record.chunk.halves[UNWIND_CHUNK_FIRST_HALF + i] = (uint16_t)(first + i);
	for (uint32_t i = 0; i < n_pages; i++)
		record.chunk.rows[first + i].rule = (uint16_t)(i % 2);
	for (uint32_t i = 0; i < 2; i++)
		record.rules[i] =
			(struct abi_unwind_rule){ .cfa = UNWIND_CFA_SP,
						  .cfa_offset = (int32_t)(executable * 2 + i) };
	return record;
}

static int load(struct fixture *fixture, uint32_t executable)
{
	struct chunk_record record = make_record(executable, 2);

	return paged_rows_load(&fixture->rows, executable, &record);
}

static bool has(const struct fixture *fixture, uint32_t executable)
{
	return paged_rows_find(&fixture->rows, executable, PAGE << UNWIND_PAGE_SHIFT);
}

static struct abi_unwind_chunk *chunk_of(const struct fixture *fixture, uint32_t executable)
{
	uint32_t slot =
		directories_find(&fixture->rows.directories, executable, PAGE << UNWIND_PAGE_SHIFT);

	assert_int_not_equal(slot, 0);
	return &slot_pool_at(&fixture->rows.slots, slot)->chunk;
}

/* Marks the chunk as used, like an unwinder. */
static void use(struct fixture *fixture, uint32_t executable)
{
	chunk_of(fixture, executable)->used = fixture->now;
}

static void pass(struct fixture *fixture, uint32_t n_ticks)
{
	fixture->now += n_ticks;
	paged_rows_set_now(&fixture->rows, fixture->now);
}

static uint32_t count_resident(const struct fixture *fixture, uint32_t first, uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t i = first; i < first + n; i++)
		count += has(fixture, i);
	return count;
}

static void a_chunk_names_its_owner_and_uses_the_pools_rule_numbers(void **state)
{
	struct fixture *fixture = *state;
	struct abi_unwind_chunk *chunk;
	uint32_t first;

	assert_ok(load(fixture, 5));
	assert_ok(load(fixture, 6));
	chunk = chunk_of(fixture, 6);
	assert_int_equal(chunk->owner >> 32, 6);
	assert_int_not_equal((uint32_t)chunk->owner, (uint32_t)chunk_of(fixture, 5)->owner);
	assert_int_equal(chunk->first_unit, PAGE);
	assert_int_equal(chunk->used, fixture->now);
	first = chunk->halves[UNWIND_CHUNK_FIRST_HALF];
	for (uint32_t i = 0; i < 2; i++) {
		uint16_t rule = chunk->rows[first + i].rule;

		assert_int_equal(fixture->plain->parts[0][rule / 256].rules[rule % 256].cfa_offset,
				 12 + i);
	}
	assert_int_equal(fixture->rows.n_chunks, 2);
	assert_int_equal(fixture->rows.n_rows, 4);
	assert_int_equal(rule_pool_count(&fixture->rows.rules), 2 + 4);
}

static void the_pool_grows_with_the_loaded_chunks(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(fixture->plain->n_parts, 1); /* the part for rules */
	assert_ok(load(fixture, 1));
	assert_int_equal(fixture->plain->n_parts, 2);
	for (uint32_t i = 2; i <= 100; i++)
		assert_ok(load(fixture, i));
	assert_int_equal(fixture->plain->n_parts, 3);
	assert_int_equal(count_resident(fixture, 1, 100), 100);
}

static void unloading_an_executable_frees_its_slots_and_directories(void **state)
{
	struct fixture *fixture = *state;

	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 1; i <= 20; i++)
			assert_ok(load(fixture, i));
		for (uint32_t i = 1; i <= 20; i++) {
			struct abi_unwind_chunk *chunk = chunk_of(fixture, i);

			paged_rows_unload(&fixture->rows, i);
			assert_int_equal(chunk->owner, 0);
			assert_false(has(fixture, i));
		}
		assert_int_equal(fixture->rows.n_chunks, 0);
		assert_int_equal(fixture->rows.n_rows, 0);
		assert_int_equal(rule_pool_count(&fixture->rows.rules), 2);
		assert_int_equal(hash_table_count(fixture->plain->regions), 0);
		assert_int_equal(fixture->rows.slots.free.count, UNWIND_SLOTS_PER_PART);
	}
}

/* Loads executables until one is evicted. Returns how many fit at once. */
static uint32_t fill(struct fixture *fixture)
{
	uint32_t n = 0;

	while (fixture->rows.n_evicted == 0)
		assert_ok(load(fixture, ++n));
	return n - 1;
}

static void the_least_recently_used_chunk_is_evicted_first(void **state)
{
	struct fixture *fixture = *state;
	uint32_t n = fill(fixture);

	assert_in_range(n, N_SLOTS * 15 / 16 - 2, N_SLOTS * 15 / 16 + 1);
	pass(fixture, 1);
	/* All but 10 and 30 were used; 20 was used, but not recently. */
	for (uint32_t i = 1; i <= n + 1; i++) {
		if (has(fixture, i) && i != 10 && i != 30)
			use(fixture, i);
	}
	pass(fixture, PAGED_ROWS_IDLE_TICKS);
	for (uint32_t i = 1; i <= n + 1; i++) {
		if (has(fixture, i) && i != 10 && i != 20 && i != 30)
			use(fixture, i);
	}
	pass(fixture, 1);
	for (uint32_t i = 0; i < 2; i++)
		assert_ok(load(fixture, 1000 + i));
	assert_false(has(fixture, 10));
	assert_true(has(fixture, 20));
	assert_false(has(fixture, 30));
	assert_ok(load(fixture, 1002));
	assert_false(has(fixture, 20));
	assert_int_equal(count_resident(fixture, 1, n + 1), n - 3);
}

static void a_chunk_used_after_the_list_was_made_is_not_evicted(void **state)
{
	struct fixture *fixture = *state;
	uint32_t n = fill(fixture);
	uint32_t left = 0;

	pass(fixture, PAGED_ROWS_IDLE_TICKS);
	assert_ok(load(fixture, 999));
	for (uint32_t i = 1; i <= n + 1 && left == 0; i++)
		left = has(fixture, i) ? i : 0;
	use(fixture, left);
	for (uint32_t i = 0; i < n - 10; i++)
		assert_ok(load(fixture, 1000 + i));
	assert_true(has(fixture, left));
	assert_int_equal(fixture->rows.n_churned, 1); /* by fill() */
}

static void if_all_chunks_are_in_use_new_ones_share_few_slots(void **state)
{
	struct fixture *fixture = *state;
	uint64_t n_evicted;
	uint32_t n;

	paged_rows_release(&fixture->rows);
	plain_pool_free(fixture->plain);
	fixture->plain = plain_pool_new();
	assert_ok(paged_rows_init(&fixture->rows, &fixture->plain->backend, 8, UNWIND_POOL_RULES));
	paged_rows_set_now(&fixture->rows, fixture->now);
	n = fill(fixture);
	assert_true(n > 400);
	n_evicted = fixture->rows.n_evicted;
	for (uint32_t i = 0; i < 5000; i++)
		assert_ok(load(fixture, 10000 + i));
	assert_true(count_resident(fixture, 1, n + 1) >= n - 512 / PAGED_ROWS_CHURN_FRACTION - 10);
	assert_true(has(fixture, 14999));
	assert_int_equal(fixture->rows.n_churned, fixture->rows.n_evicted);
	assert_true(fixture->rows.n_evicted - n_evicted >= 4990);
}

static void a_chunk_unused_for_long_is_evicted_before_the_pool_grows(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t i = 1; i <= 60; i++)
		assert_ok(load(fixture, i));
	assert_int_equal(fixture->rows.slots.free.count, 0);
	pass(fixture, PAGED_ROWS_STALE_TICKS);
	for (uint32_t i = 1; i <= 30; i++)
		assert_ok(load(fixture, 100 + i));
	assert_int_equal(fixture->plain->n_parts, 2);
	assert_int_equal(fixture->rows.n_evicted, 30);
}

static void without_memory_for_a_part_a_chunk_is_evicted(void **state)
{
	struct fixture *fixture = *state;

	fixture->plain->parts_allowed = 2;
	for (uint32_t i = 1; i <= 200; i++)
		assert_ok(load(fixture, i));
	assert_true(has(fixture, 200));
	assert_int_equal(fixture->plain->n_parts, 2);
	assert_int_equal(fixture->rows.n_churned, fixture->rows.n_evicted);
}

/* A chunk of 600 code pages has cells in 11 directories. */
static void a_chunk_may_span_many_regions(void **state)
{
	struct fixture *fixture = *state;
	struct chunk_record record = make_record(3, 600);

	assert_ok(paged_rows_load(&fixture->rows, 3, &record));
	assert_int_equal(hash_table_count(fixture->plain->regions), 10);
	for (uint64_t page = PAGE; page < PAGE + 600; page++)
		assert_true(paged_rows_find(&fixture->rows, 3, page << UNWIND_PAGE_SHIFT));
	assert_false(paged_rows_find(&fixture->rows, 3, (PAGE + 600) << UNWIND_PAGE_SHIFT));
	paged_rows_unload(&fixture->rows, 3);
	assert_int_equal(hash_table_count(fixture->plain->regions), 0);
}

/*
 * Chunks in the remaining parts are kept. Others can be loaded again, but the pool does not grow
 * beyond the ceiling.
 */
static void a_lower_ceiling_evicts_the_chunks_and_frees_the_parts_beyond_it(void **state)
{
	struct fixture *fixture = *state;
	uint32_t n = fill(fixture), n_kept;

	assert_int_equal(paged_rows_parts(&fixture->rows), 2);
	paged_rows_limit(&fixture->rows, 1);
	assert_int_equal(paged_rows_parts(&fixture->rows), 1);
	assert_int_equal(fixture->plain->n_parts, 2); /* the part for rules and this one */
	n_kept = count_resident(fixture, 1, n + 1);
	assert_in_range(n_kept, 1, UNWIND_SLOTS_PER_PART - 1);
	assert_int_equal(fixture->rows.n_chunks, n_kept);
	assert_int_equal(fixture->rows.n_rows, 2 * n_kept);
	assert_int_equal(hash_table_count(fixture->plain->regions), n_kept);
	assert_int_equal(rule_pool_count(&fixture->rows.rules), 2 + 2 * n_kept);
	for (uint32_t i = 1; i <= n + 1; i++)
		if (has(fixture, i))
			assert_int_equal(chunk_of(fixture, i)->owner >> 32, i);
	for (uint32_t i = 0; i < 500; i++) {
		assert_ok(load(fixture, 1000 + i));
		assert_true(has(fixture, 1000 + i));
	}
	assert_int_equal(fixture->plain->n_parts, 2);
}

static void a_ceiling_that_is_raised_lets_the_pool_grow_again(void **state)
{
	struct fixture *fixture = *state;
	uint32_t n = 100;

	for (uint32_t i = 1; i <= n; i++)
		assert_ok(load(fixture, i));
	for (int round = 0; round < 3; round++) {
		paged_rows_limit(&fixture->rows, 1);
		paged_rows_limit(&fixture->rows, MAX_PARTS);
		assert_int_equal(paged_rows_parts(&fixture->rows), 1);
		for (uint32_t i = 1; i <= n; i++)
			if (!has(fixture, i))
				assert_ok(load(fixture, i));
		assert_int_equal(paged_rows_parts(&fixture->rows), MAX_PARTS);
		assert_int_equal(count_resident(fixture, 1, n), n);
	}
	for (uint32_t i = 1; i <= n; i++)
		paged_rows_unload(&fixture->rows, i);
	assert_int_equal(fixture->rows.n_chunks, 0);
	assert_int_equal(hash_table_count(fixture->plain->regions), 0);
	assert_int_equal(fixture->rows.slots.free.count, N_SLOTS);
}

/* A chunk is evicted if its slot or its directory is beyond the ceiling. */
static void a_chunk_is_evicted_with_its_directory(void **state)
{
	struct fixture *fixture = *state;
	uint32_t first_directory, slot;

	for (uint32_t i = 1; i <= 70; i++)
		assert_ok(load(fixture, i));
	first_directory = *directories_region(&fixture->rows.directories,
					      UNWIND_REGION_KEY(70, PAGE << UNWIND_PAGE_SHIFT)) >>
			  UNWIND_DIRECTORY_SHIFT;
	assert_true(first_directory >= UNWIND_RULE_SLOTS + UNWIND_SLOTS_PER_PART);
	/*
	 * The slot of executable 2 is taken next. Its directory is then created in the slot of 70's
	 * directory.
	 */
	slot = directories_find(&fixture->rows.directories, 2, PAGE << UNWIND_PAGE_SHIFT);
	for (uint32_t i = 61; i < 70; i++)
		paged_rows_unload(&fixture->rows, i);
	paged_rows_unload(&fixture->rows, 2);
	for (uint32_t i = 100; i < 110; i++)
		assert_ok(load(fixture, i));
	paged_rows_limit(&fixture->rows, 1);
	assert_int_equal(paged_rows_parts(&fixture->rows), 1);
	assert_true(slot < UNWIND_RULE_SLOTS + UNWIND_SLOTS_PER_PART);
	for (uint32_t i = 1; i <= 110; i++) {
		const uint32_t *directory =
			directories_region(&fixture->rows.directories,
					   UNWIND_REGION_KEY(i, PAGE << UNWIND_PAGE_SHIFT));

		assert_int_equal(directory != NULL, has(fixture, i));
		if (directory)
			assert_true(*directory >> UNWIND_DIRECTORY_SHIFT <
				    UNWIND_RULE_SLOTS + UNWIND_SLOTS_PER_PART);
	}
}

int main(void)
{
#define with_rows(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	static const struct CMUnitTest tests[] = {
		with_rows(a_chunk_names_its_owner_and_uses_the_pools_rule_numbers),
		with_rows(the_pool_grows_with_the_loaded_chunks),
		with_rows(unloading_an_executable_frees_its_slots_and_directories),
		with_rows(the_least_recently_used_chunk_is_evicted_first),
		with_rows(a_chunk_used_after_the_list_was_made_is_not_evicted),
		with_rows(if_all_chunks_are_in_use_new_ones_share_few_slots),
		with_rows(a_chunk_unused_for_long_is_evicted_before_the_pool_grows),
		with_rows(without_memory_for_a_part_a_chunk_is_evicted),
		with_rows(a_chunk_may_span_many_regions),
		with_rows(a_lower_ceiling_evicts_the_chunks_and_frees_the_parts_beyond_it),
		with_rows(a_ceiling_that_is_raised_lets_the_pool_grow_again),
		with_rows(a_chunk_is_evicted_with_its_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
