/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/table_cache.h"

#include "tests/support/fake_debuginfo.h"
#include "tests/unit/symbolizer/symbols/programs.h"

struct fixture {
	void *folder;
	struct debuginfo_store debuginfo;
	char *paths[3]; /* libraries with one function each: f0, f1, f2 */
	struct executable_id ids[3];
	struct executable_id unknown;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	assert_int_equal(temp_folder_setup(&fixture->folder), 0);
	fake_debuginfo_init(&fixture->debuginfo);
	for (int i = 0; i < 3; i++) {
		char source[64], name[16];

		(void)snprintf(source, sizeof(source), "int f%d(int x) { return x + %d; }\n", i, i);
		(void)snprintf(name, sizeof(name), "lib%d.so", i);
		fixture->paths[i] = compile(fixture->folder, name, "gcc", "c", source,
					    "-O1 -shared -fPIC -nostdlib");
		assert_ok(executable_id_set(&fixture->ids[i], EXECUTABLE_ID_GNU, name, 5));
		fake_debuginfo_put(&fixture->debuginfo, &fixture->ids[i], fixture->paths[i]);
	}
	assert_ok(executable_id_set(&fixture->unknown, EXECUTABLE_ID_GNU, "nobody", 6));
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < 3; i++)
		free(fixture->paths[i]);
	assert_int_equal(temp_folder_teardown(&fixture->folder), 0);
	free(fixture);
	return 0;
}

/* Borrows, looks at the first function's name, gives back. */
static void assert_holds(struct table_cache *cache, const struct executable_id *id,
			 const char *name)
{
	struct table_loan loan;

	assert_int_equal(table_cache_borrow(cache, id, &loan), TABLE_READY);
	assert_string_equal(symbol_table_linkage_name(loan.table, 0), name);
	table_cache_give_back(cache, &loan);
}

static void a_table_is_built_once(void **state)
{
	struct fixture *fixture = *state;
	scoped(table_cache_freep) struct table_cache *cache = NULL;
	unsigned int n_finds;

	assert_ok(table_cache_new(&fixture->debuginfo, MIB, &cache));
	assert_holds(cache, &fixture->ids[0], "f0");
	n_finds = fixture->debuginfo.n_finds;
	for (int i = 0; i < 10; i++)
		assert_holds(cache, &fixture->ids[0], "f0");
	assert_int_equal(fake_debuginfo_opened(&fixture->debuginfo, &fixture->ids[0]), 1);
	/* While nothing is uploaded, the store is not even asked. */
	assert_int_equal(fixture->debuginfo.n_finds, n_finds);
}

static void what_was_never_uploaded_is_asked_for_once_per_generation(void **state)
{
	struct fixture *fixture = *state;
	scoped(table_cache_freep) struct table_cache *cache = NULL;
	struct table_loan loan;

	assert_ok(table_cache_new(&fixture->debuginfo, MIB, &cache));
	for (int i = 0; i < 5; i++) {
		assert_int_equal(table_cache_borrow(cache, &fixture->unknown, &loan), TABLE_NONE);
		assert_null(loan.table);
		table_cache_give_back(cache, &loan);
	}
	assert_int_equal(fixture->debuginfo.n_finds, 1);
	fake_debuginfo_put(&fixture->debuginfo, &fixture->unknown, fixture->paths[2]);
	assert_holds(cache, &fixture->unknown, "f2");
}

static void a_new_file_replaces_the_table_and_an_upload_for_another_does_not(void **state)
{
	struct fixture *fixture = *state;
	scoped(table_cache_freep) struct table_cache *cache = NULL;
	struct table_loan old;

	assert_ok(table_cache_new(&fixture->debuginfo, MIB, &cache));
	assert_int_equal(table_cache_borrow(cache, &fixture->ids[0], &old), TABLE_READY);
	fake_debuginfo_put(&fixture->debuginfo, &fixture->ids[1], fixture->paths[2]);
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_int_equal(fake_debuginfo_opened(&fixture->debuginfo, &fixture->ids[0]), 1);

	fake_debuginfo_put(&fixture->debuginfo, &fixture->ids[0], fixture->paths[1]);
	assert_holds(cache, &fixture->ids[0], "f1");
	assert_int_equal(fake_debuginfo_opened(&fixture->debuginfo, &fixture->ids[0]), 2);
	/* Who still reads the old one may go on. */
	assert_string_equal(symbol_table_linkage_name(old.table, 0), "f0");
	table_cache_give_back(cache, &old);
}

static void the_least_recently_used_table_leaves_and_the_newest_stays(void **state)
{
	struct fixture *fixture = *state;
	scoped(table_cache_freep) struct table_cache *cache = NULL;
	struct table_loan loan;
	size_t one;

	assert_ok(table_cache_new(&fixture->debuginfo, MIB, &cache));
	assert_holds(cache, &fixture->ids[0], "f0");
	one = table_cache_bytes(cache);
	cache = table_cache_free(cache);

	/* Room for two: 0 was used after 1, so that 2 drives out 1. */
	assert_ok(table_cache_new(&fixture->debuginfo, 2 * one + one / 2, &cache));
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_holds(cache, &fixture->ids[1], "f1");
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_holds(cache, &fixture->ids[2], "f2");
	assert_true(table_cache_bytes(cache) <= 2 * one + one / 2);
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_int_equal(fake_debuginfo_opened(&fixture->debuginfo, &fixture->ids[0]), 2);
	assert_holds(cache, &fixture->ids[1], "f1");
	assert_int_equal(fake_debuginfo_opened(&fixture->debuginfo, &fixture->ids[1]), 2);
	cache = table_cache_free(cache);

	/* Room for none: each query builds anew only when another came between. A table in use is
	 * not freed. */
	assert_ok(table_cache_new(&fixture->debuginfo, 1, &cache));
	assert_int_equal(table_cache_borrow(cache, &fixture->ids[0], &loan), TABLE_READY);
	assert_holds(cache, &fixture->ids[1], "f1");
	assert_holds(cache, &fixture->ids[1], "f1");
	assert_int_equal(fake_debuginfo_opened(&fixture->debuginfo, &fixture->ids[1]), 3);
	assert_string_equal(symbol_table_linkage_name(loan.table, 0), "f0");
	table_cache_give_back(cache, &loan);
}

static void a_damaged_file_fails_once_per_file(void **state)
{
	struct fixture *fixture = *state;
	scoped(table_cache_freep) struct table_cache *cache = NULL;
	scoped_free char *damaged = write_file_in(fixture->folder, "damaged", "\177ELFgarbage", 11);
	struct table_loan loan;

	assert_ok(table_cache_new(&fixture->debuginfo, MIB, &cache));
	fake_debuginfo_put(&fixture->debuginfo, &fixture->unknown, damaged);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(table_cache_borrow(cache, &fixture->unknown, &loan), TABLE_FAILED);
		assert_null(loan.table);
		table_cache_give_back(cache, &loan);
	}
	assert_int_equal(fake_debuginfo_opened(&fixture->debuginfo, &fixture->unknown), 1);
	fake_debuginfo_put(&fixture->debuginfo, &fixture->unknown, fixture->paths[0]);
	assert_holds(cache, &fixture->unknown, "f0");
}

static void a_store_that_cannot_be_read_is_asked_again(void **state)
{
	struct fixture *fixture = *state;
	scoped(table_cache_freep) struct table_cache *cache = NULL;
	struct table_loan loan;

	assert_ok(table_cache_new(&fixture->debuginfo, MIB, &cache));
	fake_debuginfo_fail(&fixture->debuginfo, &fixture->ids[0], -EIO);
	assert_int_equal(table_cache_borrow(cache, &fixture->ids[0], &loan), TABLE_FAILED);
	table_cache_give_back(cache, &loan);
	fake_debuginfo_fail(&fixture->debuginfo, &fixture->ids[0], 0);
	assert_holds(cache, &fixture->ids[0], "f0");
}

struct borrower {
	struct table_cache *cache;
	const struct executable_id *id;
	char name[16];
};

static void *borrow(void *arg)
{
	struct borrower *borrower = arg;
	struct table_loan loan;

	if (table_cache_borrow(borrower->cache, borrower->id, &loan) == TABLE_READY)
		(void)snprintf(borrower->name, sizeof(borrower->name), "%s",
			       symbol_table_linkage_name(loan.table, 0));
	table_cache_give_back(borrower->cache, &loan);
	return NULL;
}

static void one_thread_builds_others_wait_and_other_tables_are_not_held_up(void **state)
{
	struct fixture *fixture = *state;
	scoped(table_cache_freep) struct table_cache *cache = NULL;
	struct borrower borrowers[4] = {};
	pthread_t threads[4];

	assert_ok(table_cache_new(&fixture->debuginfo, MIB, &cache));
	assert_holds(cache, &fixture->ids[1], "f1");
	fake_debuginfo_hold(&fixture->debuginfo, &fixture->ids[0]);
	for (int i = 0; i < 4; i++) {
		borrowers[i] = (struct borrower){ .cache = cache, .id = &fixture->ids[0] };
		assert_int_equal(pthread_create(&threads[i], NULL, borrow, &borrowers[i]), 0);
	}
	fake_debuginfo_wait_held(&fixture->debuginfo);
	/* Would hang here if the lock were held while the table is built. */
	assert_holds(cache, &fixture->ids[1], "f1");
	assert_holds(cache, &fixture->ids[2], "f2");
	fake_debuginfo_hold(&fixture->debuginfo, NULL);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_string_equal(borrowers[i].name, "f0");
	}
	assert_int_equal(fake_debuginfo_opened(&fixture->debuginfo, &fixture->ids[0]), 1);
}

static void two_tables_are_built_at_a_time_and_no_more(void **state)
{
	struct fixture *fixture = *state;
	scoped(table_cache_freep) struct table_cache *cache = NULL;
	struct borrower borrowers[3] = {};
	unsigned int n_building;
	pthread_t threads[3];

	assert_ok(table_cache_new(&fixture->debuginfo, MIB, &cache));
	fake_debuginfo_hold_all(&fixture->debuginfo, true);
	for (int i = 0; i < 3; i++) {
		borrowers[i] = (struct borrower){ .cache = cache, .id = &fixture->ids[i] };
		assert_int_equal(pthread_create(&threads[i], NULL, borrow, &borrowers[i]), 0);
	}
	/* Who builds does not wait any more, and the other way round: all three have come as far as
	 * they get. */
	do {
		(void)sched_yield();
		n_building = fake_debuginfo_held(&fixture->debuginfo);
	} while (n_building < 2 || n_building + table_cache_waiting(cache) < 3);
	fake_debuginfo_hold_all(&fixture->debuginfo, false);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(borrowers[i].name[1], '0' + i);
	}
	assert_int_equal(n_building, 2);
	assert_int_equal(table_cache_waiting(cache), 0);
}

struct churner {
	struct fixture *fixture;
	struct table_cache *cache;
	unsigned int seed;
	bool uploads;
};

static void *churn(void *arg)
{
	struct churner *churner = arg;
	struct fixture *fixture = churner->fixture;
	scoped(arena_freep) struct arena *arena = NULL;

	if (arena_new(MIB, &arena) < 0)
		return NULL;
	for (int i = 0; i < 300; i++) {
		int which = (int)((churner->seed = churner->seed * 1103515245u + 12345u) >> 16) % 3;
		struct table_loan loan;
		const char *name;

		if (churner->uploads && i % 10 == 0)
			fake_debuginfo_put(&fixture->debuginfo, &fixture->ids[which],
					   fixture->paths[which]);
		if (table_cache_borrow(churner->cache, &fixture->ids[which], &loan) != TABLE_READY)
			return NULL;
		if (symbol_table_display_name(loan.table, 0, arena, &name) < 0 ||
		    name[1] != '0' + which)
			return NULL;
		table_cache_give_back(churner->cache, &loan);
	}
	return arg;
}

static void many_threads_with_little_room_and_uploads_agree(void **state)
{
	struct fixture *fixture = *state;
	scoped(table_cache_freep) struct table_cache *cache = NULL;
	struct churner churners[4];
	pthread_t threads[4];

	assert_ok(table_cache_new(&fixture->debuginfo, KIB, &cache));
	for (unsigned int i = 0; i < 4; i++) {
		churners[i] = (struct churner){
			.fixture = fixture, .cache = cache, .seed = i, .uploads = i == 0
		};
		assert_int_equal(pthread_create(&threads[i], NULL, churn, &churners[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		void *result = NULL;

		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_non_null(result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define WITH_FILES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
		WITH_FILES(a_table_is_built_once),
		WITH_FILES(what_was_never_uploaded_is_asked_for_once_per_generation),
		WITH_FILES(a_new_file_replaces_the_table_and_an_upload_for_another_does_not),
		WITH_FILES(the_least_recently_used_table_leaves_and_the_newest_stays),
		WITH_FILES(a_damaged_file_fails_once_per_file),
		WITH_FILES(a_store_that_cannot_be_read_is_asked_again),
		WITH_FILES(one_thread_builds_others_wait_and_other_tables_are_not_held_up),
		WITH_FILES(two_tables_are_built_at_a_time_and_no_more),
		WITH_FILES(many_threads_with_little_room_and_uploads_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
