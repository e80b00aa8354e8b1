/* SPDX-License-Identifier: Apache-2.0 */
#include "common/hash_table.h"

#include "tests/support/unit.h"

static uint32_t *insert(struct hash_table *table, uint64_t key)
{
	void *value = NULL;

	assert_ok(hash_table_insert(table, &key, &value));
	return value;
}

static void inserted_keys_are_found_with_their_values(void **state)
{
	scoped(hash_table_freep) struct hash_table *table = NULL;

	(void)state;
	assert_ok(hash_table_new(sizeof(uint64_t), sizeof(uint32_t), 0, &table));
	for (uint64_t key = 0; key < 10000; key++) {
		uint32_t *value = insert(table, key * key);

		assert_int_equal(*value, 0);
		*value = (uint32_t)key;
	}
	assert_int_equal(hash_table_count(table), 10000);
	for (uint64_t i = 0; i < 10000; i++) {
		uint64_t key = i * i, other = i * i + i + 1;
		uint32_t *value = hash_table_find(table, &key);

		assert_non_null(value);
		assert_int_equal(*value, i);
		if (i > 0)
			assert_null(hash_table_find(table, &other));
	}
}

static void a_second_insert_returns_the_existing_value(void **state)
{
	scoped(hash_table_freep) struct hash_table *table = NULL;
	uint64_t key = 7;
	void *first, *second;

	(void)state;
	assert_ok(hash_table_new(sizeof(key), 8, 0, &table));
	assert_int_equal(hash_table_insert(table, &key, &first), 1);
	memcpy(first, "content", 8);
	assert_int_equal(hash_table_insert(table, &key, &second), 0);
	assert_string_equal(second, "content");
	assert_int_equal(hash_table_count(table), 1);
}

static void a_full_table_finds_keys_but_adds_none(void **state)
{
	scoped(hash_table_freep) struct hash_table *table = NULL;
	uint32_t key;
	void *value;

	(void)state;
	assert_ok(hash_table_new(sizeof(key), 0, 100, &table));
	for (key = 0; key < 100; key++)
		assert_int_equal(hash_table_insert(table, &key, &value), 1);
	assert_errno(hash_table_insert(table, &key, &value), -ENOSPC);
	key = 50;
	assert_int_equal(hash_table_insert(table, &key, &value), 0);
	assert_true(hash_table_remove(table, &key));
	key = 100;
	assert_int_equal(hash_table_insert(table, &key, &value), 1);
}

/* The array @present has the expected content of the table. */
static void random_inserts_and_removes_agree_with_an_array(void **state)
{
	scoped(hash_table_freep) struct hash_table *table = NULL;
	static bool present[512];
	uint32_t random = 1;
	size_t count = 0;

	(void)state;
	assert_ok(hash_table_new(sizeof(uint32_t), 2, 0, &table));
	for (int i = 0; i < 200000; i++) {
		uint32_t key;
		void *value;

		random = random * 1664525 + 1013904223;
		key = random >> 8 & 511;
		if (random >> 31) {
			assert_int_equal(hash_table_insert(table, &key, &value), !present[key]);
			count += !present[key];
			present[key] = true;
		} else {
			assert_int_equal(hash_table_remove(table, &key), present[key]);
			count -= present[key];
			present[key] = false;
		}
		assert_int_equal(hash_table_count(table), count);
	}
	for (uint32_t key = 0; key < ARRAY_SIZE(present); key++)
		assert_int_equal(hash_table_find(table, &key) != NULL, present[key]);
}

static void an_iteration_returns_every_item_once(void **state)
{
	scoped(hash_table_freep) struct hash_table *table = NULL;
	uint8_t seen[1000] = {};
	const void *key;
	size_t cursor = 0;
	void *value;

	(void)state;
	assert_ok(hash_table_new(sizeof(uint64_t), sizeof(uint32_t), 0, &table));
	assert_false(hash_table_next(table, &cursor, &key, &value));
	for (uint64_t i = 0; i < 1000; i++)
		*insert(table, i) = (uint32_t)i;
	while (hash_table_next(table, &cursor, &key, &value)) {
		assert_int_equal(*(const uint64_t *)key, *(uint32_t *)value);
		seen[*(uint32_t *)value]++;
	}
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(seen[i], 1);
}

static void removal_during_an_iteration_misses_no_item(void **state)
{
	(void)state;
	/*
	 * Each table has its own random seed, so the keys lie in different slots. In some tables a
	 * run of occupied slots continues from the last slot to the first.
	 */
	for (int round = 0; round < 200; round++) {
		scoped(hash_table_freep) struct hash_table *table = NULL;
		uint8_t seen[48] = {};
		const void *key;
		size_t cursor = 0;
		void *value;

		assert_ok(hash_table_new(sizeof(uint64_t), sizeof(uint32_t), 0, &table));
		for (uint64_t i = 0; i < 48; i++)
			*insert(table, i) = (uint32_t)i;
		while (hash_table_next(table, &cursor, &key, &value)) {
			uint32_t number = *(uint32_t *)value;

			seen[number] = 1;
			if (number % 2 == 0)
				hash_table_remove_at_cursor(table, &cursor);
		}
		for (uint64_t i = 0; i < 48; i++) {
			assert_int_equal(seen[i], 1);
			assert_int_equal(hash_table_find(table, &i) != NULL, i % 2);
		}
	}
}

static void a_cleared_table_is_empty_and_usable(void **state)
{
	scoped(hash_table_freep) struct hash_table *table = NULL;
	uint64_t key = 3;

	(void)state;
	assert_ok(hash_table_new(sizeof(uint64_t), sizeof(uint32_t), 0, &table));
	*insert(table, key) = 5;
	hash_table_clear(table);
	assert_int_equal(hash_table_count(table), 0);
	assert_null(hash_table_find(table, &key));
	assert_false(hash_table_remove(table, &key));
	assert_int_equal(*insert(table, key), 0);
}

static void values_are_aligned_for_their_size(void **state)
{
	static const struct {
		size_t key_size, value_size, alignment;
	} cases[] = { { 1, 8, 8 }, { 3, 4, 4 }, { 13, 16, 8 }, { 5, 2, 2 }, { 24, 40, 8 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(hash_table_freep) struct hash_table *table = NULL;
		char key[32] = {};
		void *value;

		assert_ok(hash_table_new(cases[i].key_size, cases[i].value_size, 0, &table));
		for (char j = 0; j < 10; j++) {
			key[0] = j;
			assert_int_equal(hash_table_insert(table, key, &value), 1);
			assert_int_equal((uintptr_t)value % cases[i].alignment, 0);
			memset(value, 0xff, cases[i].value_size);
		}
	}
}

static void memory_in_use_grows_with_the_table(void **state)
{
	scoped(hash_table_freep) struct hash_table *table = NULL;
	size_t empty_bytes;

	(void)state;
	assert_ok(hash_table_new(sizeof(uint64_t), sizeof(uint32_t), 0, &table));
	empty_bytes = hash_table_memory_bytes(table);
	for (uint64_t i = 0; i < 1000; i++)
		insert(table, i);
	assert_true(hash_table_memory_bytes(table) >= empty_bytes + 1000 * 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inserted_keys_are_found_with_their_values),
		cmocka_unit_test(a_second_insert_returns_the_existing_value),
		cmocka_unit_test(a_full_table_finds_keys_but_adds_none),
		cmocka_unit_test(random_inserts_and_removes_agree_with_an_array),
		cmocka_unit_test(an_iteration_returns_every_item_once),
		cmocka_unit_test(removal_during_an_iteration_misses_no_item),
		cmocka_unit_test(a_cleared_table_is_empty_and_usable),
		cmocka_unit_test(values_are_aligned_for_their_size),
		cmocka_unit_test(memory_in_use_grows_with_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
