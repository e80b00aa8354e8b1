/* SPDX-License-Identifier: Apache-2.0 */
/* Several callers at a time, and waiting. */

#include "tests/unit/symbolizer/symbols/cache/symbol_cache_fixture.h"

static void the_older_table_is_used_while_a_newer_one_is_compiled(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	struct table_status status;
	struct table_loan loan;

	assert_holds(cache, &fixture->ids[0], "f0");
	fake_debuginfo_put(&fixture->debuginfo, &fixture->ids[0], fixture->paths[1]);
	fake_debuginfo_hold(&fixture->debuginfo, &fixture->ids[0]);
	for (int i = 0; i < 3; i++) {
		assert_ok(symbol_cache_borrow(cache, &fixture->ids[0], NSEC_PER_MSEC, &loan));
		assert_true(loan.pending);
		assert_string_equal(first_name(loan.file), "f0");
		symbol_cache_give_back(cache, &loan);
	}
	fake_debuginfo_wait_held(&fixture->debuginfo);
	assert_ok(symbol_cache_status(cache, &fixture->ids[0], &status));
	assert_true(status.pending && status.running);
	assert_int_equal(symbol_cache_counts(cache).n_pending, 1);
	fake_debuginfo_hold(&fixture->debuginfo, NULL);
	assert_holds(cache, &fixture->ids[0], "f1");
	assert_ok(symbol_cache_status(cache, &fixture->ids[0], &status));
	assert_false(status.pending || status.running);
	assert_int_equal(status.state, TABLE_READY);
	assert_int_equal(status.row.n_functions, 1);
}

static void no_caller_waits_longer_than_its_patience(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	struct table_loan loan;

	fake_debuginfo_hold(&fixture->debuginfo, &fixture->ids[0]);
	assert_ok(symbol_cache_borrow(cache, &fixture->ids[0], 20 * NSEC_PER_MSEC, &loan));
	assert_true(loan.pending);
	assert_null(loan.file);
	fake_debuginfo_wait_held(&fixture->debuginfo);
	/* The table was wanted for longer than that, so this does not wait again. */
	assert_ok(symbol_cache_borrow(cache, &fixture->ids[0], 20 * NSEC_PER_MSEC, &loan));
	assert_true(loan.pending);
	fake_debuginfo_hold(&fixture->debuginfo, NULL);
	assert_holds(cache, &fixture->ids[0], "f0");
}

static void freeing_the_cache_does_not_wait_for_helpers(void **state)
{
	static const char text[] = "#!/bin/sh\nexec sleep 1000\n";
	struct fixture *fixture = *state;
	scoped_free char *script = write_file_in(fixture->folder, "sleeps", text, strlen(text));
	struct symbol_cache *cache;
	struct table_loan loan;

	assert_int_equal(chmod(script, 0700), 0);
	fixture->options.helper = script;
	cache = new_cache(fixture);
	for (int i = 0; i < 3; i++) {
		assert_ok(symbol_cache_borrow(cache, &fixture->ids[i], 0, &loan));
		assert_true(loan.pending);
	}
	cache = symbol_cache_free(cache);
}

struct borrower {
	struct symbol_cache *cache;
	const struct executable_id *id;
	char name[16];
};

static void *borrow(void *arg)
{
	struct borrower *borrower = arg;
	struct table_loan loan;

	if (symbol_cache_borrow(borrower->cache, borrower->id, PATIENCE_NS, &loan) == 0 &&
	    loan.file)
		(void)snprintf(borrower->name, sizeof(borrower->name), "%s", first_name(loan.file));
	symbol_cache_give_back(borrower->cache, &loan);
	return NULL;
}

static void concurrent_callers_share_one_compilation(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	struct borrower borrowers[4] = {};
	pthread_t threads[4];

	assert_holds(cache, &fixture->ids[1], "f1");
	fake_debuginfo_hold(&fixture->debuginfo, &fixture->ids[0]);
	for (int i = 0; i < 4; i++) {
		borrowers[i] = (struct borrower){ .cache = cache, .id = &fixture->ids[0] };
		assert_int_equal(pthread_create(&threads[i], NULL, borrow, &borrowers[i]), 0);
	}
	fake_debuginfo_wait_held(&fixture->debuginfo);
	/* The held table does not block others. */
	assert_holds(cache, &fixture->ids[1], "f1");
	assert_holds(cache, &fixture->ids[2], "f2");
	fake_debuginfo_hold(&fixture->debuginfo, NULL);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_string_equal(borrowers[i].name, "f0");
	}
	assert_int_equal(opened(fixture, 0), 1);
}

static void at_most_two_tables_are_compiled_at_a_time(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	struct table_loan loan;

	fake_debuginfo_hold_all(&fixture->debuginfo, true);
	for (int i = 0; i < 3; i++) {
		assert_ok(symbol_cache_borrow(cache, &fixture->ids[i], 0, &loan));
		assert_true(loan.pending);
	}
	while (fake_debuginfo_held(&fixture->debuginfo) < 2)
		(void)sched_yield();
	assert_int_equal(symbol_cache_counts(cache).n_pending, 3);
	assert_int_equal(opened(fixture, 2), 0);
	fake_debuginfo_hold_all(&fixture->debuginfo, false);
	assert_holds(cache, &fixture->ids[2], "f2");
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_holds(cache, &fixture->ids[1], "f1");
}

struct churner {
	struct fixture *fixture;
	struct symbol_cache *cache;
	unsigned int seed;
	bool uploads;
};

static void *churn(void *arg)
{
	struct churner *churner = arg;
	struct fixture *fixture = churner->fixture;

	for (int i = 0; i < 200; i++) {
		int which = (int)((churner->seed = churner->seed * 1103515245u + 12345u) >> 16) % 3;
		struct table_loan loan;

		if (churner->uploads && i % 20 == 0)
			fake_debuginfo_put(&fixture->debuginfo, &fixture->ids[which],
					   fixture->paths[which]);
		if (symbol_cache_borrow(churner->cache, &fixture->ids[which], PATIENCE_NS, &loan) <
		    0)
			return NULL;
		if (loan.state != TABLE_READY || !loan.file ||
		    first_name(loan.file)[1] != '0' + which)
			return NULL;
		symbol_cache_give_back(churner->cache, &loan);
	}
	return arg;
}

static void many_threads_get_correct_tables_during_eviction_and_uploads(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = NULL;
	struct churner churners[4];
	pthread_t threads[4];

	fixture->options.max_bytes = KIB;
	cache = new_cache(fixture);
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
		WITH_FILES(the_older_table_is_used_while_a_newer_one_is_compiled),
		WITH_FILES(no_caller_waits_longer_than_its_patience),
		WITH_FILES(freeing_the_cache_does_not_wait_for_helpers),
		WITH_FILES(concurrent_callers_share_one_compilation),
		WITH_FILES(at_most_two_tables_are_compiled_at_a_time),
		WITH_FILES(many_threads_get_correct_tables_during_eviction_and_uploads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
