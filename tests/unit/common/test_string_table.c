/* SPDX-License-Identifier: Apache-2.0 */
#include "common/hash.h"
#include "common/string_table.h"

#include "tests/support/unit.h"

static string_id intern(struct string_table *table, const char *text)
{
	string_id id = UINT32_MAX;

	assert_ok(string_table_intern(table, text, strlen(text), &id));
	return id;
}

static void equal_strings_get_equal_ids_dense_from_zero(void **state)
{
	scoped(string_table_freep) struct string_table *table = NULL;

	(void)state;
	assert_ok(string_table_new(MIB, &table));
	assert_int_equal(intern(table, ""), 0);
	assert_int_equal(intern(table, "a"), 1);
	assert_int_equal(intern(table, "b"), 2);
	assert_int_equal(intern(table, "a"), 1);
	assert_int_equal(string_table_count(table), 3);
}

static void texts_end_in_nul_and_do_not_move(void **state)
{
	scoped(string_table_freep) struct string_table *table = NULL;
	const char *first;
	char text[32];
	string_id id;

	(void)state;
	assert_ok(string_table_new(16 * MIB, &table));
	assert_ok(string_table_intern(table, "hello world", 5, &id));
	first = string_table_text(table, id);
	for (int i = 0; i < 20000; i++) {
		snprintf(text, sizeof(text), "function_%d", i);
		assert_int_equal(intern(table, text), i + 2);
	}
	assert_ptr_equal(string_table_text(table, id), first);
	assert_string_equal(first, "hello");
	for (int i = 0; i < 20000; i++) {
		snprintf(text, sizeof(text), "function_%d", i);
		assert_string_equal(string_table_text(table, (string_id)i + 2), text);
		assert_int_equal(string_table_length(table, (string_id)i + 2), strlen(text));
		assert_int_equal(intern(table, text), i + 2);
	}
}

static void strings_may_contain_nul_and_be_long(void **state)
{
	scoped(string_table_freep) struct string_table *table = NULL;
	static char large[100000];
	string_id a, b, c;

	(void)state;
	memset(large, 'x', sizeof(large));
	assert_ok(string_table_new(MIB, &table));
	assert_ok(string_table_intern(table, "a\0b", 3, &a));
	assert_ok(string_table_intern(table, "a\0c", 3, &b));
	assert_int_not_equal(a, b);
	assert_ok(string_table_intern(table, large, sizeof(large), &c));
	assert_int_equal(string_table_length(table, c), sizeof(large));
	assert_int_equal(string_table_text(table, c)[sizeof(large)], '\0');
	assert_memory_equal(string_table_text(table, c), large, sizeof(large));
}

static void finding_adds_nothing(void **state)
{
	scoped(string_table_freep) struct string_table *table = NULL;
	string_id id = UINT32_MAX;

	(void)state;
	assert_ok(string_table_new(MIB, &table));
	assert_int_equal(intern(table, "ab"), 1);
	assert_false(string_table_find(table, "a", 1, &id));
	assert_false(string_table_find(table, "abc", 3, &id));
	assert_int_equal(id, UINT32_MAX);
	assert_true(string_table_find(table, "abc", 2, &id));
	assert_int_equal(id, 1);
	assert_true(string_table_find(table, "", 0, &id));
	assert_int_equal(id, 0);
	assert_int_equal(string_table_count(table), 2);
}

static void a_full_table_finds_its_strings(void **state)
{
	scoped(string_table_freep) struct string_table *table = NULL;
	string_id id = 99;

	(void)state;
	assert_ok(string_table_new(10, &table));
	assert_int_equal(intern(table, "12345"), 1);
	assert_errno(string_table_intern(table, "123456", 6, &id), -ENOSPC);
	assert_int_equal(id, 99);
	assert_int_equal(intern(table, "54321"), 2);
	assert_errno(string_table_intern(table, "x", 1, &id), -ENOSPC);
	assert_int_equal(intern(table, "12345"), 1);
}

/* The unseeded hashes of all names have equal low bits, as an attacker would choose them. */
static void prepared_names_do_not_collide(void **state)
{
	enum { N_NAMES = 600, COMMON_BITS = 10 };
	scoped(string_table_freep) struct string_table *table = NULL;
	char text[32];
	int found = 0;

	(void)state;
	assert_ok(string_table_new(MIB, &table));
	for (uint64_t i = 0; found < N_NAMES; i++) {
		int length = snprintf(text, sizeof(text), "name_%llx", (unsigned long long)i);

		if ((hash64_of(text, (size_t)length) & ((1u << COMMON_BITS) - 1)) != 0)
			continue;
		(void)intern(table, text);
		found++;
	}
	/*
	 * Without a seed the run has 600 slots. With a seed, a run of 100 is practically
	 * impossible.
	 */
	assert_in_range(string_table_longest_run(table), 1, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_strings_get_equal_ids_dense_from_zero),
		cmocka_unit_test(texts_end_in_nul_and_do_not_move),
		cmocka_unit_test(strings_may_contain_nul_and_be_long),
		cmocka_unit_test(finding_adds_nothing),
		cmocka_unit_test(a_full_table_finds_its_strings),
		cmocka_unit_test(prepared_names_do_not_collide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
