/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include "symbolizer/store/segment_view/tuple_table.h"

static void equal_tuples_have_equal_ids_dense_from_1(void **state)
{
	struct tuple_table table;
	uint32_t id;

	(void)state;
	tuple_table_init(&table, 3);
	for (uint32_t i = 0; i < 10000; i++) {
		assert_int_equal(tuple_table_add(&table, (uint32_t[]){ i, i / 2, 7 }, &id), 1);
		assert_int_equal(id, i + 1);
	}
	for (uint32_t i = 0; i < 10000; i++) {
		assert_int_equal(tuple_table_add(&table, (uint32_t[]){ i, i / 2, 7 }, &id), 0);
		assert_int_equal(id, i + 1);
		assert_int_equal(tuple_table_words(&table, id)[0], i);
		assert_int_equal(tuple_table_words(&table, id)[1], i / 2);
		assert_int_equal(tuple_table_words(&table, id)[2], 7);
	}
	assert_int_equal(table.count, 10000);
	assert_true(tuple_table_bytes(&table) >= 10000 * 3 * sizeof(uint32_t));
	tuple_table_release(&table);
}

static void tuples_that_differ_in_one_word_differ(void **state)
{
	struct tuple_table table;
	uint32_t words[TUPLE_MAX_WORDS] = {};
	uint32_t id;

	(void)state;
	tuple_table_init(&table, TUPLE_MAX_WORDS);
	assert_int_equal(tuple_table_add(&table, words, &id), 1);
	for (uint32_t i = 0; i < TUPLE_MAX_WORDS; i++) {
		words[i] = 1;
		assert_int_equal(tuple_table_add(&table, words, &id), 1);
		assert_int_equal(id, i + 2);
		words[i] = 0;
	}
	tuple_table_release(&table);
}

/* Some tuples are known, some are twice in the same group, and the table grows meanwhile. */
static void many_tuples_at_once_have_the_ids_of_one_at_a_time(void **state)
{
	enum { N = 5000 };
	struct tuple_table table, expected;
	uint32_t words[N][2], ids[N], id;

	(void)state;
	tuple_table_init(&table, 2);
	tuple_table_init(&expected, 2);
	for (uint32_t i = 0; i < N; i++) {
		words[i][0] = i % 7 ? i : i / 2;
		words[i][1] = i % 5 ? 1 : 0;
	}
	assert_int_equal(tuple_table_add_all(&table, words[0], 0, ids), 0);
	assert_int_equal(table.count, 0);
	assert_int_equal(tuple_table_add_all(&table, words[0], 100, ids), 0);
	assert_int_equal(tuple_table_add_all(&table, words[0], N, ids), 0);
	for (uint32_t i = 0; i < N; i++) {
		assert_true(tuple_table_add(&expected, words[i], &id) >= 0);
		assert_int_equal(ids[i], id);
		assert_memory_equal(tuple_table_words(&table, ids[i]), words[i], sizeof(words[i]));
		assert_int_equal(tuple_table_find(&table, words[i]), id);
	}
	assert_int_equal(table.count, expected.count);
	assert_true(table.count < N);
	tuple_table_release(&table);
	tuple_table_release(&expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_tuples_have_equal_ids_dense_from_1),
		cmocka_unit_test(tuples_that_differ_in_one_word_differ),
		cmocka_unit_test(many_tuples_at_once_have_the_ids_of_one_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
