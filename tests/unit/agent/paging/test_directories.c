/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/paging/directories.h"

#include "tests/unit/agent/paging/plain_pool.h"

struct fixture {
	struct plain_pool *plain;
	struct slot_pool slots;
	struct directories directories;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->plain = plain_pool_new();
	assert_ok(slot_pool_init(&fixture->slots, &fixture->plain->backend, 1));
	assert_int_equal(slot_pool_grow(&fixture->slots), 1);
	assert_ok(directories_init(&fixture->directories, &fixture->slots));
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	directories_release(&fixture->directories);
	slot_pool_release(&fixture->slots);
	plain_pool_free(fixture->plain);
	free(fixture);
	return 0;
}

static struct directory_key pages(uint32_t executable, uint64_t region)
{
	return (struct directory_key){ .executable = executable,
				       .number = region,
				       .unit_shift = UNWIND_PAGE_SHIFT };
}

static struct directory_key pieces(uint32_t executable, uint64_t page)
{
	return (struct directory_key){ .executable = executable,
				       .number = page,
				       .unit_shift = UNWIND_DENSE_UNIT_SHIFT };
}

static size_t n_regions(const struct fixture *fixture)
{
	return hash_table_count(fixture->plain->regions);
}

static void cells_lead_to_slots_while_they_are_set(void **state)
{
	struct fixture *fixture = *state;
	struct directories *directories = &fixture->directories;
	struct directory_key key = pages(7, 3);
	uint64_t address = (3ull << UNWIND_REGION_SHIFT) + (5u << UNWIND_PAGE_SHIFT);

	assert_int_equal(directories_find(directories, 7, address), 0);
	assert_ok(directories_set(directories, &key, 5, 300));
	assert_ok(directories_set(directories, &key, 6, 301));
	assert_int_equal(directories_find(directories, 7, address), 300);
	assert_int_equal(directories_find(directories, 7, address + 0x1fff), 301);
	assert_int_equal(directories_find(directories, 8, address), 0);
	assert_int_equal(directories_find(directories, 7, address - 1), 0);
	assert_int_equal(n_regions(fixture), 1);
	assert_non_null(directories_region(directories, UNWIND_REGION_KEY(7, address)));

	directories_clear(directories, &key, 5, 999); /* the cell has another slot: unchanged */
	assert_int_equal(directories_find(directories, 7, address), 300);
	directories_clear(directories, &key, 5, 300);
	assert_int_equal(directories_find(directories, 7, address), 0);
	assert_int_equal(n_regions(fixture), 1);
	directories_clear(directories, &key, 6, 301);
	assert_int_equal(n_regions(fixture), 0);
	assert_int_equal(fixture->slots.free.count, UNWIND_SLOTS_PER_PART);
}

static void a_dense_page_has_its_own_directory(void **state)
{
	struct fixture *fixture = *state;
	struct directories *directories = &fixture->directories;
	struct directory_key key = pieces(7, (3u << 6) + 5);
	uint64_t address = (3ull << UNWIND_REGION_SHIFT) + (5u << UNWIND_PAGE_SHIFT);

	assert_ok(directories_set(directories, &key, 63, 300));
	assert_int_equal(directories_find(directories, 7, address), 0);
	assert_int_equal(directories_find(directories, 7, address + 0xfc0), 300);
	assert_int_equal(n_regions(fixture), 1);
	directories_clear(directories, &key, 63, 300);
	assert_int_equal(n_regions(fixture), 0);
	assert_int_equal(fixture->slots.free.count, UNWIND_SLOTS_PER_PART);
}

static void fifteen_directories_share_a_slot_and_its_head_stays_zero(void **state)
{
	struct fixture *fixture = *state;
	const struct abi_unwind_slot *slot;

	for (uint32_t i = 0; i < 15; i++) {
		struct directory_key key = pages(1, i);

		for (uint32_t unit = 0; unit < UNWIND_CELLS; unit++)
			assert_ok(directories_set(&fixture->directories, &key, unit, 0x7fffffff));
	}
	assert_int_equal(fixture->slots.free.count, UNWIND_SLOTS_PER_PART - 1);
	slot = slot_pool_at(&fixture->slots, UNWIND_RULE_SLOTS);
	for (uint32_t i = 0; i < 1024; i++)
		assert_int_equal(slot->cells[i], i < UNWIND_CELLS ? 0 : 0x7fffffff);
}

static void without_a_free_slot_nothing_changes(void **state)
{
	struct fixture *fixture = *state;
	struct directory_key key = pages(1, 1), piece = pieces(1, 64);

	while (fixture->slots.free.count > 0)
		(void)slot_pool_take(&fixture->slots);
	assert_errno(directories_set(&fixture->directories, &key, 1, 300), -ENOSPC);
	assert_errno(directories_set(&fixture->directories, &piece, 1, 300), -ENOSPC);
	assert_int_equal(n_regions(fixture), 0);
	slot_pool_give_back(&fixture->slots, UNWIND_RULE_SLOTS + 9);
	assert_ok(directories_set(&fixture->directories, &key, 1, 300));
	assert_int_equal(directories_find(&fixture->directories, 1, 0x41000), 300);
}

int main(void)
{
#define with_pool(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	static const struct CMUnitTest tests[] = {
		with_pool(cells_lead_to_slots_while_they_are_set),
		with_pool(a_dense_page_has_its_own_directory),
		with_pool(fifteen_directories_share_a_slot_and_its_head_stays_zero),
		with_pool(without_a_free_slot_nothing_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
