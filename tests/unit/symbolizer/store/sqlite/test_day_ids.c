/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#include "symbolizer/sqlite/sqlite_copy.h"

/* Copies hearth.db to saved.db, which restore_hearth() puts back. */
static void save_hearth(const char *folder)
{
	scoped_free char *path = path_in(folder, "hearth.db");
	scoped_free char *copy = path_in(folder, "saved.db");
	scoped(sqlite_db_freep) struct sqlite_db *snapshot = NULL;

	assert_ok(sqlite_snapshot_open(path, &snapshot));
	assert_ok(sqlite_snapshot_copy(snapshot, copy));
}

static void restore_hearth(const char *folder)
{
	scoped_free char *path = path_in(folder, "hearth.db");
	scoped_free char *copy = path_in(folder, "saved.db");

	assert_ok(rename(copy, path));
}

/* The state that is saved has batch 1. */
static struct store *store_with_saved_hearth(const char *folder, const struct test_clock *clock)
{
	struct store *store = open_store(folder, clock);

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	save_hearth(folder);
	return store;
}

static void an_older_hearth_db_without_a_series_is_refused(void **state)
{
	const struct test_clock clock = test_clock_at(NOON);
	struct store *store = store_with_saved_hearth(*state, &clock);
	struct batch_builder *builder = batch_at(2, NOON + 5 * NSEC_PER_SEC, false);

	batch_builder_series(builder, 2, 1, 4712, "worker", EVENT_ON_CPU, 10 * NSEC_PER_MSEC);
	batch_builder_row(builder, 2, 1, NOON + 2 * NSEC_PER_SEC, 1);
	assert_int_equal(write_batch(store, builder), STORE_STORED);
	(void)store_free(store);
	restore_hearth(*state);
	assert_errno(sqlite_store_open(*state, &clock.clock, &store), -ESTALE);
}

static void an_older_hearth_db_without_a_stack_is_refused(void **state)
{
	static const struct batch_frame frames[] = { { FRAME_NATIVE, 1, 0x9000 },
						     { FRAME_NATIVE, 1, 0x1000 } };
	const struct test_clock clock = test_clock_at(NOON);
	struct store *store = store_with_saved_hearth(*state, &clock);
	struct batch_builder *builder = batch_at(2, NOON + 5 * NSEC_PER_SEC, false);

	batch_builder_stack(builder, 3, STACK_CUT_NONE, frames, 2);
	batch_builder_row(builder, 1, 3, NOON + 2 * NSEC_PER_SEC, 1);
	assert_int_equal(write_batch(store, builder), STORE_STORED);
	(void)store_free(store);
	restore_hearth(*state);
	assert_errno(sqlite_store_open(*state, &clock.clock, &store), -ESTALE);
}

static void an_older_hearth_db_with_all_definitions_is_accepted(void **state)
{
	const struct test_clock clock = test_clock_at(NOON);
	struct store *store = store_with_saved_hearth(*state, &clock);

	assert_int_equal(write_batch(store, batch_at(2, NOON + 5 * NSEC_PER_SEC, false)),
			 STORE_STORED);
	(void)store_free(store);
	restore_hearth(*state);
	store = open_store(*state, &clock);
	assert_totals(store, 0, 0, 6, 14);
	(void)store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(an_older_hearth_db_without_a_series_is_refused),
		in_folder(an_older_hearth_db_without_a_stack_is_refused),
		in_folder(an_older_hearth_db_with_all_definitions_is_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
