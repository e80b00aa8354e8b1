/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>

#include "agent/paging/paged_rows.h"
#include "bpf/host/host_unwind.h"
#include "tests/unit/agent/paging/plain_pool.h"

/*
 * Threads run the kernel's lookup while another one loads and evicts chunks, reuses slots and rules
 * for other executables, and lowers and raises the pool's ceiling. Any rule that a reader finds
 * must be the executable's own rule at that address. A removed part stays readable, as it does in
 * the kernel until a grace period ends.
 */

#define N_READERS      3
#define N_EXECUTABLES  100u
#define N_ROUNDS       15000u
#define CEILING_ROUNDS 500u /* between two changes of the ceiling */
#define PAGE           UINT64_C(0x40)
#define ROWS           200u
#define ROW_BYTES      16u

struct race {
	struct plain_pool *plain;
	struct paged_rows rows;
	struct abi_unwind_slot *removed[N_ROUNDS / CEILING_ROUNDS];
	size_t n_removed;
	/* directory of the region of each executable; 0: none */
	_Atomic uint32_t regions[N_EXECUTABLES + 1];
	_Atomic bool is_over;
	_Atomic uint64_t n_found, n_missing, n_wrong;
};

static int put_region(void *arg, uint64_t key, uint32_t directory)
{
	struct race *race = arg;

	race->regions[key >> 32] = directory;
	return 0;
}

static void remove_region(void *arg, uint64_t key)
{
	struct race *race = arg;

	race->regions[key >> 32] = 0;
}

static int add_part(void *arg, uint32_t part, struct abi_unwind_slot **ret_slots)
{
	struct race *race = arg;

	return plain_add_part(race->plain, part, ret_slots);
}

static void remove_part(void *arg, uint32_t part, struct abi_unwind_slot *slots)
{
	struct race *race = arg;

	assert_true(race->n_removed < ARRAY_SIZE(race->removed));
	race->removed[race->n_removed++] = slots;
	race->plain->parts[part] = NULL;
	race->plain->n_parts--;
}

static const struct abi_unwind_info *find_table(void *arg, uint32_t executable)
{
	static const struct abi_unwind_info info = { .first_page = PAGE, .n_pages = 1 };

	(void)arg;
	(void)executable;
	return &info;
}

/*
 * Copies the element and keeps the copy while it is used, like an element of the kernel's hash map.
 */
static const uint32_t *find_region(void *arg, uint64_t key)
{
	static _Thread_local uint32_t directory;
	struct race *race = arg;

	directory = race->regions[key >> 32];
	return directory ? &directory : NULL;
}

static int32_t offset_of(uint32_t executable, uint32_t row)
{
	return (int32_t)(executable * 1000 + row);
}

static void make_record(uint32_t executable, struct chunk_record *ret_record)
{
	struct abi_unwind_chunk *chunk = &ret_record->chunk;

	*ret_record = (struct chunk_record){ .n_rules = ROWS };
	chunk->first_unit = PAGE;
	chunk->n_units = 1;
	chunk->unit_shift = UNWIND_PAGE_SHIFT;
	/*
	 * The rows of each executable begin at a different offset: the rows of one are the index of
	 * another, or unused.
	 */
	chunk->halves[UNWIND_CHUNK_FIRST_HALF] = (uint16_t)(7 + executable * 8);
	chunk->halves[UNWIND_CHUNK_FIRST_HALF + 1] = (uint16_t)(7 + executable * 8 + ROWS);
	for (uint32_t i = 0; i < ROWS; i++) {
		uint32_t rule = (i * 7 + executable) % ROWS;

		chunk->rows[7 + executable * 8 + i] =
			(struct abi_unwind_row){ .offset = (uint16_t)(i * ROW_BYTES),
						 .rule = (uint16_t)rule };
		ret_record->rules[rule] =
			(struct abi_unwind_rule){ .cfa = UNWIND_CFA_SP,
						  .cfa_offset = offset_of(executable, i),
						  .fp_offset = -offset_of(executable, i) };
	}
}

static void *read_rows(void *arg)
{
	struct race *race = arg;
	const struct host_unwind_tables tables = { .find = find_table,
						   .find_region = find_region,
						   .argument = race,
						   .parts = race->rows.slots.parts,
						   .n_parts = race->rows.slots.max_parts };
	uint64_t n[3] = {};

	for (uint32_t i = 0; !race->is_over; i++) {
		uint32_t executable = 1 + i % N_EXECUTABLES, row = i / 3 % ROWS;
		uint64_t elf_addr = (PAGE << UNWIND_PAGE_SHIFT) + (uint64_t)row * ROW_BYTES + 3;
		struct abi_unwind_rule rule;
		int r = i % 2 ? host_unwind_find_rule_x86(&tables, executable, elf_addr, &rule)
			      : host_unwind_find_rule_arm64(&tables, executable, elf_addr, &rule);

		if (r == 1 && (rule.cfa_offset != offset_of(executable, row) ||
			       rule.fp_offset != -rule.cfa_offset))
			n[2]++;
		n[r == 1]++;
	}
	race->n_missing += n[0];
	race->n_found += n[1];
	race->n_wrong += n[2];
	return NULL;
}

static void readers_find_their_own_rule_or_none(void **state)
{
	struct race *race = calloc(1, sizeof(*race));
	struct paging_backend backend = {
		.arg = race,
		.add_part = add_part,
		.remove_part = remove_part,
		.put_region = put_region,
		.remove_region = remove_region,
	};
	struct chunk_record *records = calloc(N_EXECUTABLES, sizeof(*records));
	pthread_t threads[N_READERS];

	(void)state;
	assert_true(race && records);
	race->plain = plain_pool_new();
	assert_ok(paged_rows_init(&race->rows, &backend, 2, UNWIND_POOL_RULES));
	for (uint32_t i = 0; i < N_EXECUTABLES; i++)
		make_record(i + 1, &records[i]);
	paged_rows_limit(&race->rows, 1);
	for (uint32_t i = 0; i < N_EXECUTABLES; i++)
		assert_ok(paged_rows_load(&race->rows, i + 1, &records[i]));
	assert_true(race->rows.n_evicted > 0);
	for (size_t i = 0; i < N_READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_rows, race), 0);
	for (uint32_t round = 0; round < N_ROUNDS; round++) {
		uint32_t executable = 1 + round * 37 % N_EXECUTABLES;

		if (round % CEILING_ROUNDS == 0)
			paged_rows_limit(&race->rows, 1 + round / CEILING_ROUNDS % 2);
		/* Loads two of three executables, more than fit into one part. */
		if (round % 3 == 0)
			paged_rows_unload(&race->rows, executable);
		else if (!paged_rows_find(&race->rows, executable, PAGE << UNWIND_PAGE_SHIFT))
			assert_ok(
				paged_rows_load(&race->rows, executable, &records[executable - 1]));
	}
	race->is_over = true;
	for (size_t i = 0; i < N_READERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	print_message("%lu found, %lu missing\n", (unsigned long)race->n_found,
		      (unsigned long)race->n_missing);
	assert_int_equal(race->n_wrong, 0);
	assert_true(race->n_found > 0 && race->n_missing > 0);
	assert_true(race->n_removed > N_ROUNDS / CEILING_ROUNDS / 4);
	for (size_t i = 0; i < race->n_removed; i++)
		free(race->removed[i]);
	paged_rows_release(&race->rows);
	plain_pool_free(race->plain);
	free(records);
	free(race);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(readers_find_their_own_rule_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
