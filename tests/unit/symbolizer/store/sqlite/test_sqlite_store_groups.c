/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of batches with one commit: which of them are stored, and what is undone. The tests call
 * the writer, so that they determine the groups; a store that is opened afterwards has the result.
 */

#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#include <signal.h>
#include <sys/resource.h>

#include "symbolizer/store/sqlite/write.h"

#define DAY_NS (24 * 3600 * NSEC_PER_SEC)

/* Number of rows in a batch of batch_at(). */
#define ROWS_OF_BATCH 3
#define SUM_OF_BATCH  7

#define MAX_GROUP 32

struct fixture {
	char *folder;
	struct test_clock clock;
	struct store_identity identity;
	struct store_state *state;
	struct sqlite_writer *writer;
	struct arena *arena;
	struct batch batches[MAX_GROUP];
	struct store_missing missing[MAX_GROUP];
	struct store_write writes[MAX_GROUP];
	struct store_write *group[MAX_GROUP];
	size_t count;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct sqlite_db *hearth;

	assert_ok(temp_folder_setup((void **)&fixture->folder));
	fixture->clock = test_clock_at(NOON);
	assert_ok(store_state_new(&fixture->state));
	assert_ok(sqlite_writer_new(fixture->folder, &fixture->identity, fixture->state,
				    &fixture->clock.clock, &fixture->writer));
	assert_ok(connection_set_hearth(&fixture->writer->connections, &hearth));
	assert_ok(hearth_db_identity(hearth, &fixture->identity));
	assert_ok(arena_new(256 * MIB, &fixture->arena));
	*state = fixture;
	return 0;
}

static void close_writer(struct fixture *fixture)
{
	fixture->writer = sqlite_writer_free(fixture->writer);
	fixture->state = store_state_free(fixture->state);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	close_writer(fixture);
	(void)arena_free(fixture->arena);
	assert_ok(temp_folder_teardown((void **)&fixture->folder));
	free(fixture);
	return 0;
}

/* Adds the batch of @builder to the next group. */
static void add(struct fixture *fixture, struct batch_builder *builder)
{
	scoped(bytes_release) struct bytes body = BYTES_INIT(64 * MIB);
	char reason[DECODE_MESSAGE_SIZE];
	size_t i = fixture->count++;

	assert_true(i < MAX_GROUP);
	batch_builder_finish(builder, &body);
	if (batch_decode(bytes_view_of(&body), fixture->arena, &fixture->batches[i], reason) < 0)
		fail_msg("%s", reason);
	fixture->writes[i] = (struct store_write){
		.tenant = "default",
		.batch = &fixture->batches[i],
		.arena = fixture->arena,
		.ret_missing = &fixture->missing[i],
	};
	fixture->group[i] = &fixture->writes[i];
}

/* The batches stay in the fixture, and may be written again. */
static size_t write_group(struct fixture *fixture)
{
	return sqlite_writer_write_group(fixture->writer, fixture->group, fixture->count);
}

static void assert_results(const struct fixture *fixture, const int *results, size_t count)
{
	assert_int_equal(fixture->count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(fixture->writes[i].result, results[i]);
}

#define write_and_expect(fixture, ...)                                                             \
	do {                                                                                       \
		const int results_[] = { __VA_ARGS__ };                                            \
		assert_int_equal(write_group(fixture), ARRAY_SIZE(results_));                      \
		assert_results(fixture, results_, ARRAY_SIZE(results_));                           \
	} while (0)

/* Opens the folder as a store, in which @n_batches batches of batch_at() must be. */
static void assert_stored(struct fixture *fixture, uint64_t n_batches)
{
	struct store *store;

	close_writer(fixture);
	store = open_store(fixture->folder, &fixture->clock);
	assert_totals(store, 0, 0, n_batches * ROWS_OF_BATCH, n_batches * SUM_OF_BATCH);
	(void)store_free(store);
}

static void a_batch_that_fails_is_undone_alone(void **state)
{
	struct fixture *fixture = *state;
	scoped_free char *second_day = path_in(fixture->folder, "samples-2026-01-02.db");
	uint64_t midnight = NOON + DAY_NS / 2;
	struct batch_builder *failing = batch_builder_new(2, EPOCH, 1, midnight - 5 * NSEC_PER_SEC,
							  midnight + NSEC_PER_SEC);

	/* Its definitions and its first day are written, and then its second day fails. */
	assert_ok(mkdir(second_day, 0700));
	define_all(failing);
	batch_builder_row(failing, 1, 1, midnight - NSEC_PER_SEC, 3);
	batch_builder_row(failing, 1, 2, midnight, 4);
	batch_builder_row(failing, 1, 0, midnight, 5);
	add(fixture, batch_at(1, NOON, true));
	add(fixture, failing);
	add(fixture, batch_at(2, NOON, false));
	write_and_expect(fixture, STORE_STORED, -EIO, STORE_STORED);
	assert_int_equal(store_state_counts(fixture->state).n_series, 1);
	assert_int_equal(store_state_counts(fixture->state).n_rows, 2 * ROWS_OF_BATCH);

	assert_ok(rmdir(second_day));
	write_and_expect(fixture, STORE_DUPLICATE, STORE_STORED, STORE_DUPLICATE);
	assert_int_equal(store_state_counts(fixture->state).n_series, 2);
	assert_int_equal(store_state_counts(fixture->state).n_rows, 3 * ROWS_OF_BATCH);
	assert_int_equal(fixture->writer->n_processes, 2);
}

static void a_batch_that_is_twice_in_a_group_is_stored_once(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, batch_at(1, NOON, true));
	add(fixture, batch_at(1, NOON, true));
	add(fixture, batch_at(2, NOON, false));
	add(fixture, batch_at(1, NOON, false));
	write_and_expect(fixture, STORE_STORED, STORE_DUPLICATE, STORE_STORED, STORE_DUPLICATE);
	assert_stored(fixture, 2);
}

static void a_batch_may_use_the_numbers_of_an_earlier_one_of_its_group(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, batch_at(2, NOON, false));
	add(fixture, batch_at(1, NOON, true));
	add(fixture, batch_at(3, NOON, false));
	write_and_expect(fixture, STORE_NEEDS_NUMBERS, STORE_STORED, STORE_STORED);
	assert_int_equal(fixture->missing[0].n_stacks, 2);
	assert_int_equal(fixture->missing[0].n_series, 1);
	write_and_expect(fixture, STORE_STORED, STORE_DUPLICATE, STORE_DUPLICATE);
	assert_stored(fixture, 3);
}

/* write() fails beyond this position of a file. */
static void limit_file_size(rlim_t bytes)
{
	struct rlimit limit;

	(void)signal(SIGXFSZ, SIG_IGN);
	assert_ok(getrlimit(RLIMIT_FSIZE, &limit));
	limit.rlim_cur = MIN(bytes, limit.rlim_max);
	assert_ok(setrlimit(RLIMIT_FSIZE, &limit));
}

static off_t size_of(const struct fixture *fixture, const char *name)
{
	scoped_free char *path = path_in(fixture->folder, name);
	struct stat status;

	assert_ok(stat(path, &status));
	return status.st_size;
}

/* The group is written while no file can grow beyond @bytes. */
static void write_limited(struct fixture *fixture, rlim_t bytes)
{
	size_t n_written;

	limit_file_size(bytes);
	n_written = write_group(fixture);
	limit_file_size(RLIM_INFINITY);
	assert_int_equal(n_written, fixture->count);
}

static void all_batches_fail_if_the_commit_of_definitions_fails(void **state)
{
	static const int failed[] = { -EIO, -EIO, -EIO };
	struct fixture *fixture = *state;
	struct batch_builder *other = batch_builder_new(2, EPOCH, 1, NOON - 5 * NSEC_PER_SEC, NOON);

	/* Creates the file of the day, so that nothing is written before the commit. */
	add(fixture, other);
	write_and_expect(fixture, STORE_STORED);
	fixture->count = 0;
	add(fixture, batch_at(1, NOON, true));
	add(fixture, batch_at(1, NOON, true));
	add(fixture, batch_at(2, NOON, false));
	write_limited(fixture, 0);
	assert_results(fixture, failed, ARRAY_SIZE(failed));
	assert_int_equal(agent_cache_count(fixture->writer->agents), 0);
	assert_int_equal(store_state_counts(fixture->state).n_series, 0);
	assert_int_equal(fixture->writer->n_stacks, 0);

	write_and_expect(fixture, STORE_STORED, STORE_DUPLICATE, STORE_STORED);
	assert_int_equal(store_state_counts(fixture->state).n_series, 1);
	assert_int_equal(fixture->writer->n_stacks, 2);
	assert_stored(fixture, 2);
}

static void batches_fail_if_the_commit_of_their_day_fails(void **state)
{
	struct fixture *fixture = *state;
	static const int failed[] = { -EIO, -EIO };
	struct batch_builder *other;
	off_t day_bytes;

	/* The WAL of the day is longer than that of hearth.db. */
	for (uint64_t i = 1; i <= 20; i++) {
		fixture->count = 0;
		add(fixture, batch_at(i, NOON, i == 1));
		write_and_expect(fixture, STORE_STORED);
	}
	day_bytes = size_of(fixture, "samples-2026-01-01.db-wal");
	assert_true(day_bytes > size_of(fixture, "hearth.db-wal") + (off_t)(64 * KIB));

	/* Another agent, with new definitions. */
	other = batch_builder_new(2, EPOCH, 1, NOON - 5 * NSEC_PER_SEC, NOON);
	define_all(other);
	batch_builder_row(other, 1, 1, NOON - NSEC_PER_SEC, 3);
	batch_builder_row(other, 1, 2, NOON - NSEC_PER_SEC, 4);
	fixture->count = 0;
	add(fixture, other);
	add(fixture, batch_at(21, NOON, false));
	write_limited(fixture, (rlim_t)day_bytes);
	assert_results(fixture, failed, ARRAY_SIZE(failed));
	/* hearth.db was committed. */
	assert_int_equal(fixture->writer->n_processes, 2);
	write_and_expect(fixture, STORE_STORED, STORE_STORED);
	assert_int_equal(fixture->writer->n_processes, 2);
}

static void a_group_is_written_again_without_a_damaged_file(void **state)
{
	struct fixture *fixture = *state;
	scoped_free char *aside =
		path_in(fixture->folder, "samples-2026-01-02.db.damaged-1767268800");
	struct day_total total = {};

	free(write_file_in(fixture->folder, "samples-2026-01-02.db",
			   "this is not a database, but long enough to be one", 49));
	assert_ok(store_state_set_day(fixture->state, day_of_wall_ns(NOON + DAY_NS), &total));
	add(fixture, batch_at(1, NOON, true));
	add(fixture, batch_at(2, NOON + DAY_NS, false));
	add(fixture, batch_at(3, NOON, false));
	write_and_expect(fixture, STORE_STORED, STORE_STORED, STORE_STORED);
	assert_ok(access(aside, F_OK));
	assert_stored(fixture, 3);
}

static void a_damaged_file_that_cannot_be_renamed_fails_its_batches_only(void **state)
{
	struct fixture *fixture = *state;
	scoped_free char *aside =
		path_in(fixture->folder, "samples-2026-01-02.db.damaged-1767268800");
	scoped_free char *path = path_in(fixture->folder, "samples-2026-01-02.db");
	struct day_total total = {};

	free(write_file_in(fixture->folder, "samples-2026-01-02.db",
			   "this is not a database, but long enough to be one", 49));
	assert_ok(mkdir(aside, 0700));
	assert_ok(store_state_set_day(fixture->state, day_of_wall_ns(NOON + DAY_NS), &total));
	add(fixture, batch_at(1, NOON, true));
	add(fixture, batch_at(2, NOON + DAY_NS, false));
	add(fixture, batch_at(3, NOON, false));
	write_and_expect(fixture, STORE_STORED, -EUCLEAN, STORE_STORED);
	assert_ok(unlink(path));
	assert_ok(rmdir(aside));
	assert_stored(fixture, 2);
}

static void a_group_has_as_many_days_as_files_stay_open(void **state)
{
	struct fixture *fixture = *state;

	for (uint64_t i = 0; i < WRITE_MAX_DAYS + 4; i++)
		add(fixture, batch_at(i + 1, NOON + i * DAY_NS, i == 0));
	assert_int_equal(write_group(fixture), WRITE_MAX_DAYS);
	memmove(fixture->group, &fixture->group[WRITE_MAX_DAYS], 4 * sizeof(fixture->group[0]));
	fixture->count = 4;
	assert_int_equal(write_group(fixture), 4);
	assert_stored(fixture, WRITE_MAX_DAYS + 4);
}

#define with_writer(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_writer(a_batch_that_fails_is_undone_alone),
		with_writer(a_batch_that_is_twice_in_a_group_is_stored_once),
		with_writer(a_batch_may_use_the_numbers_of_an_earlier_one_of_its_group),
		with_writer(all_batches_fail_if_the_commit_of_definitions_fails),
		with_writer(batches_fail_if_the_commit_of_their_day_fails),
		with_writer(a_group_is_written_again_without_a_damaged_file),
		with_writer(a_damaged_file_that_cannot_be_renamed_fails_its_batches_only),
		with_writer(a_group_has_as_many_days_as_files_stay_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
