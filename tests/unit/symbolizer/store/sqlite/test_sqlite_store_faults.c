/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Full disks, crashes and damaged files: no acknowledged batch is lost or counted twice.
 */

#include "tests/unit/symbolizer/store/sqlite/store_fixture.h"

#include <dirent.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>

#include "tests/support/killed_server.h"

/* Each batch has new stacks, so that every file grows. */
static struct batch_builder *growing_batch(uint64_t sequence)
{
	uint64_t closed = NOON + sequence * 5 * NSEC_PER_SEC;
	struct batch_builder *builder = batch_at(sequence, closed, true);

	for (uint32_t i = 0; i < 50; i++) {
		uint32_t number = (uint32_t)sequence * 100 + i;
		const struct batch_frame frames[] = { { FRAME_NATIVE, 1,
							number * UINT64_C(0x9e3779b97f4a7c15) },
						      { FRAME_NATIVE, 1, number * 16 },
						      { FRAME_NATIVE, 1, 0x1000 } };

		batch_builder_stack(builder, number, STACK_CUT_NONE, frames, 3);
		batch_builder_row(builder, 1, number, closed - NSEC_PER_SEC, 1);
	}
	return builder;
}

#define ROWS_OF_GROWING_BATCH 53
#define SUM_OF_GROWING_BATCH  57

/* A file system of 2 MiB, which only root can mount. */
static bool mount_small(const char *path)
{
	return geteuid() == 0 && mount("none", path, "tmpfs", 0, "size=2m") == 0;
}

static int fill_disk(const char *folder)
{
	scoped_free char *path = path_in(folder, "ballast");
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	static const uint8_t zeros[4096];

	assert_true(fd >= 0);
	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
	return fd;
}

static void batches_are_stored_again_after_a_full_disk_without_a_restart(void **state)
{
	const char *folder = *state;
	struct test_clock clock = test_clock_at(NOON);
	struct store *store;
	uint64_t stored = 0;
	uint64_t sequence = 1;
	int refused = 0;
	int fd;

	if (!mount_small(folder)) {
		print_message("needs root to mount a small file system\n");
		skip();
	}
	store = open_store(folder, &clock);
	for (; sequence <= 3; sequence++, stored++)
		assert_int_equal(write_batch(store, growing_batch(sequence)), STORE_STORED);

	fd = fill_disk(folder);
	assert_errno(store_check(store), -ENOSPC);
	for (int i = 0; i < 20; i++) {
		int r = write_batch(store, growing_batch(sequence));

		assert_true(r == STORE_STORED || r == -ENOSPC);
		refused += r < 0;
		stored += r > 0;
		sequence += r > 0;
	}
	assert_true(refused > 0);
	assert_totals(store, 0, 0, stored * ROWS_OF_GROWING_BATCH, stored * SUM_OF_GROWING_BATCH);

	/* With free space, the refused batch is stored without a restart. */
	assert_ok(ftruncate(fd, 0));
	(void)close(fd);
	assert_ok(store_check(store));
	assert_int_equal(write_batch(store, growing_batch(sequence)), STORE_STORED);
	stored++;
	assert_totals(store, 0, 0, stored * ROWS_OF_GROWING_BATCH, stored * SUM_OF_GROWING_BATCH);
	(void)store_free(store);
	store = open_store(folder, &clock);
	assert_totals(store, 0, 0, stored * ROWS_OF_GROWING_BATCH, stored * SUM_OF_GROWING_BATCH);
	(void)store_free(store);
	assert_ok(umount2(folder, MNT_DETACH));
}

static void a_store_opens_and_answers_on_a_full_disk(void **state)
{
	const char *folder = *state;
	struct test_clock clock = test_clock_at(NOON);
	struct store *store;
	int fd;

	if (!mount_small(folder)) {
		print_message("needs root to mount a small file system\n");
		skip();
	}
	store = open_store(folder, &clock);
	assert_int_equal(write_batch(store, growing_batch(1)), STORE_STORED);
	(void)store_free(store);
	{
		/* Space for the WAL indexes only, 32 KiB each. */
		scoped_free char *path = path_in(folder, "spare");
		int spare = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

		assert_true(spare >= 0);
		assert_int_equal(posix_fallocate(spare, 0, 128 * KIB), 0);
		fd = fill_disk(folder);
		(void)close(spare);
		assert_ok(unlink(path));
	}
	store = open_store(folder, &clock);
	assert_totals(store, 0, 0, ROWS_OF_GROWING_BATCH, SUM_OF_GROWING_BATCH);
	(void)store_free(store);
	(void)close(fd);
	assert_ok(umount2(folder, MNT_DETACH));
}

/* Stores batches one after another and acknowledges each. */
static void serve_until_killed(struct killed_server *server)
{
	struct test_clock clock = test_clock_at(NOON);
	struct store *store = open_store(server->context, &clock);

	for (uint64_t sequence = server->next[0];; sequence++) {
		int r = write_batch(store, growing_batch(sequence));

		if (r != STORE_STORED && r != STORE_DUPLICATE)
			_exit(1);
		killed_server_acknowledge(server, 0, sequence);
	}
}

static void a_killed_server_has_every_acknowledged_batch_exactly_once(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	uint64_t acknowledged = 0, first;
	struct killed_server server = { .serve = serve_until_killed,
					.context = *state,
					.next = &first };

	for (int round = 0; round < 12; round++) {
		struct store *store;
		struct totals totals;
		uint64_t n_batches;

		/* In every second round the agent did not receive the last answer. */
		first = acknowledged + (round % 2 || acknowledged == 0);
		killed_server_run(&server, round % 3 != 0, 700000L * (round * 5 % 12),
				  &acknowledged);
		store = open_store(*state, &clock);
		totals = total_of(store, 0, 0);
		(void)store_free(store);
		/* The batch after the last acknowledged one may be stored too. */
		n_batches = totals.sum / SUM_OF_GROWING_BATCH;
		assert_int_equal(totals.sum % SUM_OF_GROWING_BATCH, 0);
		assert_int_equal(totals.n_rows, n_batches * ROWS_OF_GROWING_BATCH);
		assert_true(n_batches == acknowledged || n_batches == acknowledged + 1);
	}
	/* At least a quarter of the rounds must have stored a new batch. */
	assert_true(acknowledged >= 3);
}

static void spoil_block(const char *folder)
{
	scoped_free char *path = path_in(folder, "samples-2026-01-01.db");
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "UPDATE block SET content = x'28b52ffd00' WHERE sequence = 2",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	(void)sqlite3_close(db);
}

static void a_damaged_block_loses_its_samples_only(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	struct store *store = open_store(*state, &clock);

	for (uint64_t i = 1; i <= 3; i++)
		assert_int_equal(write_batch(store, batch_at(i, NOON, i == 1)), STORE_STORED);
	(void)store_free(store);
	spoil_block(*state);
	store = open_store(*state, &clock);
	assert_totals(store, 0, 0, 6, 14);
	assert_int_equal(total_of(store, 0, 0).n_damaged, 1);
	assert_int_equal(total_of(store, NOON, 0).n_damaged, 0);
	(void)store_free(store);
}

static void assert_aside(const char *folder, const char *name, off_t min_bytes)
{
	scoped_free char *path = path_in(folder, name);
	struct stat status;

	assert_ok(stat(path, &status));
	assert_true(status.st_size >= min_bytes);
}

static void a_day_file_that_is_no_database_loses_its_day_only(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	struct store *store = open_store(*state, &clock);
	scoped_free char *path = NULL;

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	(void)store_free(store);
	path = write_file_in(*state, "samples-2026-01-02.db",
			     "this is not a database, but long enough to be one", 49);
	store = open_store(*state, &clock);
	assert_totals(store, 0, 0, 3, 7);
	assert_int_equal(write_batch(store, batch_at(2, NOON, false)), STORE_STORED);
	/* The damaged file was renamed, so that a new file of that day can be created. */
	assert_int_equal(write_batch(store, batch_at(3, NOON + 24 * 3600 * NSEC_PER_SEC, false)),
			 STORE_STORED);
	assert_totals(store, 0, 0, 9, 21);
	(void)store_free(store);
	assert_aside(*state, "samples-2026-01-02.db.damaged-1767268800", 49);
}

/* Damages the pages of table block only: the file can still be opened. */
static void spoil_table(const char *folder)
{
	scoped_free char *path = path_in(folder, "samples-2026-01-01.db");
	uint8_t bad[4096];
	sqlite3_stmt *row = NULL;
	sqlite3 *db = NULL;
	int page;
	int fd;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(
				 db, "SELECT rootpage FROM sqlite_master WHERE name = 'block_key'",
				 -1, &row, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	page = sqlite3_column_int(row, 0);
	(void)sqlite3_finalize(row);
	(void)sqlite3_close(db);
	memset(bad, 0xff, sizeof(bad));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bad, sizeof(bad), (page - 1) * (off_t)sizeof(bad)),
			 sizeof(bad));
	(void)close(fd);
}

static void a_file_found_damaged_while_writing_is_replaced(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	struct store *store = open_store(*state, &clock);

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	(void)store_free(store);
	spoil_table(*state);
	store = open_store(*state, &clock);
	assert_int_equal(write_batch(store, batch_at(2, NOON, false)), STORE_STORED);
	assert_int_equal(write_batch(store, batch_at(3, NOON, false)), STORE_STORED);
	assert_totals(store, 0, 0, 6, 14);
	(void)store_free(store);
	assert_aside(*state, "samples-2026-01-01.db.damaged-1767268800", 4096);
}

static void a_day_that_cannot_be_opened_is_read_once_it_can(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	struct store *store = open_store(*state, &clock);
	scoped_free char *wal = path_in(*state, "samples-2026-01-01.db-wal");

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	(void)store_free(store);
	/* With a folder named like its WAL, the intact file cannot be opened. */
	assert_ok(mkdir(wal, 0700));
	store = open_store(*state, &clock);
	assert_ok(rmdir(wal));
	assert_totals(store, 0, 0, 3, 7);
	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_DUPLICATE);
	(void)store_free(store);
}

static void a_batch_in_a_file_that_appeared_later_is_a_duplicate(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	struct store *store = open_store(*state, &clock);
	scoped_free char *path = path_in(*state, "samples-2026-01-01.db");
	scoped_free char *away = path_in(*state, "away");

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	(void)store_free(store);
	assert_ok(rename(path, away));
	store = open_store(*state, &clock);
	assert_ok(rename(away, path));
	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_DUPLICATE);
	assert_int_equal(write_batch(store, batch_at(2, NOON, true)), STORE_STORED);
	assert_totals(store, 0, 0, 6, 14);
	(void)store_free(store);
}

static void removal_of_a_file_is_retried(void **state)
{
	const uint64_t day = 24 * 3600 * NSEC_PER_SEC;
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	scoped_free char *path = path_in(*state, "samples-2026-01-01.db");
	scoped_free char *second = path_in(*state, "samples-2026-01-02.db");
	size_t removed = 0;

	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(write_batch(store, batch_at(1 + i, NOON + i * day, i == 0)),
				 STORE_STORED);
	/* unlink() fails on a folder, even for root. */
	assert_ok(unlink(path));
	assert_ok(mkdir(path, 0700));
	assert_true(sqlite_store_prune(store, NOON + 2 * day, &removed) < 0);
	/* The other file was removed nevertheless. */
	assert_int_equal(access(second, F_OK), -1);
	assert_ok(rmdir(path));
	free(write_file_in(*state, "samples-2026-01-01.db", "", 0));
	assert_ok(sqlite_store_prune(store, NOON + 2 * day, &removed));
	assert_int_equal(removed, 1);
	assert_int_equal(access(path, F_OK), -1);
	assert_totals(store, 0, 0, 3, 7);
}

/* The number of open files of this process with names that begin with @prefix. */
static size_t count_open(const char *prefix)
{
	DIR *folder = opendir("/proc/self/fd");
	const struct dirent *entry;
	size_t count = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		char target[PATH_MAX + 1] = "";

		if (readlinkat(dirfd(folder), entry->d_name, target, PATH_MAX) > 0)
			count += strncmp(target, prefix, strlen(prefix)) == 0;
	}
	(void)closedir(folder);
	return count;
}

struct pruning {
	struct store *store;
	const char *prefix;
	size_t open_meanwhile;
};

static int prune_during_scan(void *arg, uint32_t series_index, uint64_t stack_id, uint64_t slot,
			     uint64_t value)
{
	struct pruning *pruning = arg;
	size_t removed = 0;

	(void)series_index;
	(void)stack_id;
	(void)slot;
	(void)value;
	if (pruning->open_meanwhile)
		return 0;
	assert_ok(sqlite_store_prune(pruning->store, NOON + 24 * 3600 * NSEC_PER_SEC, &removed));
	assert_int_equal(removed, 1);
	pruning->open_meanwhile = count_open(pruning->prefix);
	return 0;
}

static void removed_files_are_not_kept_open(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	scoped(store_freep) struct store *store = open_store(*state, &clock);
	scoped_free char *path = path_in(*state, "samples-");
	struct pruning pruning = { .store = store, .prefix = path };
	scoped(store_view_closep) struct store_view *view = NULL;
	uint64_t series = 1;
	size_t removed = 0;

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	assert_totals(store, 0, 0, 3, 7);
	assert_true(count_open(path) > 0);
	/* Idle readers and the writer close the removed file. */
	assert_ok(sqlite_store_prune(store, NOON + 24 * 3600 * NSEC_PER_SEC, &removed));
	assert_int_equal(count_open(path), 0);
	/* A busy reader closes its file when it ends. */
	assert_int_equal(write_batch(store, batch_at(2, NOON, false)), STORE_STORED);
	view = open_view(store, "default");
	assert_ok(store_scan(view,
			     &(struct store_range){
				     .series_ids = &series, .n_series = 1, .to_slot = UINT64_MAX },
			     prune_during_scan, &pruning));
	assert_true(pruning.open_meanwhile > 0);
	assert_int_equal(count_open(path), 0);
}

static void day_files_of_another_hearth_db_are_refused(void **state)
{
	struct test_clock clock = test_clock_at(NOON);
	struct store *store = open_store(*state, &clock);
	scoped_free char *path = path_in(*state, "hearth.db");

	assert_int_equal(write_batch(store, batch_at(1, NOON, true)), STORE_STORED);
	(void)store_free(store);
	assert_ok(unlink(path));
	assert_errno(sqlite_store_open(*state, &clock.clock, &store), -ESTALE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(batches_are_stored_again_after_a_full_disk_without_a_restart),
		in_folder(a_store_opens_and_answers_on_a_full_disk),
		in_folder(a_killed_server_has_every_acknowledged_batch_exactly_once),
		in_folder(a_damaged_block_loses_its_samples_only),
		in_folder(a_day_file_that_is_no_database_loses_its_day_only),
		in_folder(a_file_found_damaged_while_writing_is_replaced),
		in_folder(a_day_that_cannot_be_opened_is_read_once_it_can),
		in_folder(a_batch_in_a_file_that_appeared_later_is_a_duplicate),
		in_folder(removal_of_a_file_is_retried),
		in_folder(removed_files_are_not_kept_open),
		in_folder(day_files_of_another_hearth_db_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
