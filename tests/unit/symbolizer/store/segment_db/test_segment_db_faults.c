/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors of the disk and of the files, at each phase. Triggers of SQLite make single statements
 * fail; a full disk is a small tmpfs, for which the test must run as root.
 */

#include "tests/unit/symbolizer/store/segment_db/segment_db_fixture.h"

#include <dirent.h>
#include <sys/mount.h>

#define NEXT_DAY "segments-2026-01-02.db"

/* The trigger makes the statement fail with SQLITE_CONSTRAINT. */
#define FAIL(event, table)                                                                         \
	"CREATE TRIGGER fail BEFORE " event " ON " table " BEGIN SELECT RAISE(ABORT, 'test'); END"
#define REPAIR "DROP TRIGGER fail"

static void segments_of_an_uncommitted_flush_are_removed_at_the_next_start(void **state)
{
	struct segment_db *db = open_db(*state);

	assert_int_equal(write_batch(db, batch_of(1, 1, MIDNIGHT + 2 * SECOND, true)),
			 STORE_STORED);
	run_sql(*state, "inbox.db", FAIL("UPDATE", "meta"));
	assert_errno(segment_db_flush(db, NOON), -EEXIST);
	/* Both day files have the segments, but no query sees them. */
	assert_int_equal(query_number(*state, DAY, "SELECT sum(n_rows) FROM segment"), 2);
	assert_int_equal(query_number(*state, NEXT_DAY, "SELECT sum(n_rows) FROM segment"), 2);
	assert_int_equal(total(db).n_rows, 0);
	(void)segment_db_free(db);
	db = open_db(*state);
	assert_int_equal(query_number(*state, DAY, "SELECT count(*) FROM segment"), 0);
	assert_int_equal(query_number(*state, DAY, "SELECT count(*) FROM content"), 0);
	assert_int_equal(query_number(*state, NEXT_DAY, "SELECT count(*) FROM segment"), 0);
	run_sql(*state, "inbox.db", REPAIR);
	assert_batches(db, 1);
	(void)segment_db_free(db);
}

static void a_failed_flush_is_repeated_without_counting_twice(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);

	assert_int_equal(write_batch(db, batch_of(1, 1, MIDNIGHT + 2 * SECOND, true)),
			 STORE_STORED);
	run_sql(*state, "inbox.db", FAIL("UPDATE", "meta"));
	assert_errno(segment_db_flush(db, NOON), -EEXIST);
	/* Batches are accepted meanwhile. */
	assert_int_equal(write_batch(db, batch_of(1, 2, MIDNIGHT + 2 * SECOND, false)),
			 STORE_STORED);
	assert_errno(segment_db_flush(db, NOON), -EEXIST);
	run_sql(*state, "inbox.db", REPAIR);
	assert_batches(db, 2);
}

static void a_flush_that_fails_in_the_second_day_file_is_repeated(void **state)
{
	struct segment_db *db = open_db(*state);

	assert_int_equal(write_batch(db, batch_of(1, 1, MIDNIGHT + 2 * SECOND, true)),
			 STORE_STORED);
	assert_batches(db, 1);
	run_sql(*state, NEXT_DAY, FAIL("INSERT", "content"));
	assert_int_equal(write_batch(db, batch_of(1, 2, MIDNIGHT + 2 * SECOND, false)),
			 STORE_STORED);
	assert_errno(segment_db_flush(db, NOON), -EEXIST);
	assert_int_equal(total(db).n_rows, ROWS_OF_BATCH);
	(void)segment_db_free(db);
	db = open_db(*state);
	assert_int_equal(total(db).n_rows, ROWS_OF_BATCH);
	assert_errno(segment_db_flush(db, NOON), -EEXIST);
	run_sql(*state, NEXT_DAY, REPAIR);
	assert_batches(db, 2);
	(void)segment_db_free(db);
}

static void a_batch_that_cannot_be_committed_is_not_stored(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);

	assert_int_equal(write_batch(db, batch_of(1, 1, NOON, true)), STORE_STORED);
	run_sql(*state, "inbox.db", FAIL("INSERT", "inbox"));
	assert_errno(write_batch(db, batch_of(1, 2, NOON, false)), -EEXIST);
	assert_errno(write_batch(db, batch_of(2, 1, NOON, true)), -EEXIST);
	run_sql(*state, "inbox.db", REPAIR);
	assert_int_equal(write_batch(db, batch_of(2, 1, NOON, true)), STORE_STORED);
	assert_batches(db, 2);
}

/* The next batch would use numbers that only the memory has: a restart would lose it. */
static void definitions_of_a_batch_that_is_not_stored_are_forgotten(void **state)
{
	struct segment_db *db = open_db(*state);
	struct batch_builder *builder = batch_of(1, 1, NOON, true);

	run_sql(*state, "inbox.db", FAIL("INSERT", "inbox"));
	assert_errno(write_batch(db, batch_of(1, 1, NOON, true)), -EEXIST);
	run_sql(*state, "inbox.db", REPAIR);
	assert_int_equal(write_batch(db, batch_of(1, 1, NOON, false)), STORE_NEEDS_NUMBERS);
	batch_builder_row(builder, 1, 99, NOON - SECOND, 1);
	assert_int_equal(write_batch(db, builder), STORE_NEEDS_NUMBERS);
	assert_int_equal(write_batch(db, batch_of(1, 1, NOON, false)), STORE_NEEDS_NUMBERS);
	assert_int_equal(write_batch(db, batch_of(1, 1, NOON, true)), STORE_STORED);
	(void)segment_db_free(db);
	db = open_db(*state);
	assert_batches(db, 1);
	(void)segment_db_free(db);
}

static void an_inbox_of_an_older_backup_is_refused(void **state)
{
	const struct segment_db_options options = test_options(*state);
	struct segment_db *db = open_db(*state);

	(void)segment_db_free(db);
	copy_file(*state, "inbox.db", "backup");
	db = open_db(*state);
	for (uint64_t i = 1; i <= 2; i++) {
		assert_int_equal(write_batch(db, batch_of(1, i, NOON, true)), STORE_STORED);
		assert_ok(segment_db_flush(db, NOON));
	}
	(void)segment_db_free(db);
	copy_file(*state, "backup", "inbox.db");
	assert_errno(segment_db_open(&options, &db), -ESTALE);
	assert_int_equal(query_number(*state, DAY, "SELECT sum(n_rows) FROM segment"),
			 2 * ROWS_OF_BATCH);
}

static void damage(const char *folder, const char *name)
{
	scoped_free char *path = path_in(folder, name);
	scoped_file FILE *file = fopen(path, "r+e");

	assert_non_null(file);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(fputs("damaged ", file) >= 0, 1);
}

/* Files that were set aside, without their WALs and indexes. */
static size_t count_set_aside(const char *folder)
{
	DIR *entries = opendir(folder);
	const struct dirent *entry;
	size_t n = 0;

	assert_non_null(entries);
	while ((entry = readdir(entries))) {
		size_t length = strlen(entry->d_name);

		n += strstr(entry->d_name, ".damaged-") && entry->d_name[length - 4] != '-';
	}
	(void)closedir(entries);
	return n;
}

static void a_damaged_day_file_is_set_aside_and_replaced(void **state)
{
	struct segment_db *db = open_db(*state);

	assert_int_equal(write_batch(db, batch_of(1, 1, MIDNIGHT + 2 * SECOND, true)),
			 STORE_STORED);
	assert_batches(db, 1);
	damage(*state, DAY);
	assert_int_equal(
		totals_of(db, &(struct segment_db_query){ .to_slot = UINT64_MAX }).n_damaged, 1);
	assert_int_equal(write_batch(db, batch_of(1, 2, NOON, false)), STORE_STORED);
	assert_ok(segment_db_flush(db, NOON));
	assert_int_equal(total(db).n_rows, 2 + ROWS_OF_BATCH);
	assert_int_equal(count_set_aside(*state), 1);
	damage(*state, NEXT_DAY);
	(void)segment_db_free(db);
	db = open_db(*state);
	assert_int_equal(total(db).n_rows, ROWS_OF_BATCH);
	(void)segment_db_free(db);
}

static void a_damaged_payload_loses_only_its_batch(void **state)
{
	struct segment_db *db = open_db(*state);

	for (uint8_t agent = 1; agent <= 3; agent++)
		assert_int_equal(write_batch(db, batch_of(agent, 1, NOON, true)), STORE_STORED);
	(void)segment_db_free(db);
	run_sql(*state, "inbox.db", "UPDATE inbox SET payload = x'00' WHERE id = 2");
	db = open_db(*state);
	assert_batches(db, 2);
	(void)segment_db_free(db);
}

/* Mounts a small tmpfs on the folder. */
static bool mount_small_disk(const char *folder)
{
	if (geteuid() == 0 && mount("none", folder, "tmpfs", 0, "size=2m") == 0)
		return true;
	print_message("needs root, skipping\n");
	return false;
}

static void fill_disk(const char *folder, size_t bytes_left)
{
	scoped_free char *path = path_in(folder, "filler");
	scoped_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0600);
	char page[4096] = {};
	off_t size = 0;

	while (write(fd, page, sizeof(page)) == sizeof(page))
		size += (off_t)sizeof(page);
	size = lseek(fd, 0, SEEK_END);
	assert_ok(ftruncate(fd, MAX(size - (off_t)bytes_left, (off_t)0)));
}

static void empty_disk(const char *folder)
{
	scoped_free char *path = path_in(folder, "filler");

	assert_ok(unlink(path));
}

/* A batch with definitions that do not compress. */
static struct batch_builder *bulky_batch(uint64_t sequence)
{
	struct batch_builder *builder = batch_of(1, sequence, NOON, true);
	uint64_t random = sequence;

	for (uint32_t i = 0; i < 300; i++) {
		const struct batch_frame frame = { FRAME_NATIVE, 1,
						   random = random * 6364136223846793005 + 1 };

		batch_builder_stack(builder, (uint32_t)sequence * 1000 + i, STACK_CUT_NONE, &frame,
				    1);
	}
	return builder;
}

static void a_full_disk_refuses_batches_and_keeps_those_accepted(void **state)
{
	struct segment_db *db;
	uint64_t n = 0;
	int r;

	if (!mount_small_disk(*state))
		skip();
	db = open_db(*state);
	do {
		r = write_batch(db, bulky_batch(++n));
		assert_true(r == STORE_STORED || r == -ENOSPC);
	} while (r == STORE_STORED);
	assert_true(n > 10);
	(void)segment_db_free(db);
	/* A start on the full disk. */
	db = open_db(*state);
	fill_disk(*state, 0);
	assert_errno(segment_db_flush(db, NOON), -ENOSPC);
	assert_errno(write_batch(db, bulky_batch(n)), -ENOSPC);
	(void)segment_db_free(db);
	/* Enlarges the disk. */
	assert_int_equal(mount("none", *state, "tmpfs", MS_REMOUNT, "size=8m"), 0);
	db = open_db(*state);
	assert_int_equal(write_batch(db, bulky_batch(n)), STORE_STORED);
	assert_batches(db, n);
	(void)segment_db_free(db);
	assert_int_equal(umount2(*state, 0), 0);
}

static void a_flush_on_a_disk_with_little_space_fails_and_is_repeated(void **state)
{
	struct segment_db *db;
	uint64_t n = 0;
	bool done = false;

	if (!mount_small_disk(*state))
		skip();
	db = open_db(*state);
	while (n < 20)
		assert_int_equal(write_batch(db, bulky_batch(++n)), STORE_STORED);
	/* With each step the flush gets to a later write. */
	for (size_t left = 0; !done; left += 16 * KIB) {
		int r;

		fill_disk(*state, left);
		r = segment_db_flush(db, NOON);
		assert_true(r == 0 || r == -ENOSPC);
		done = r == 0;
		empty_disk(*state);
		assert_true(total(db).n_rows == 0 || total(db).n_rows == n * ROWS_OF_BATCH);
	}
	assert_batches(db, n);
	(void)segment_db_free(db);
	db = open_db(*state);
	assert_batches(db, n);
	(void)segment_db_free(db);
	assert_int_equal(umount2(*state, 0), 0);
}

static void a_compaction_on_a_disk_with_little_space_fails_and_is_repeated(void **state)
{
	const struct segment_db_compaction compaction = { .closed_slot = UINT64_MAX,
							  .max_merge_bytes = 8 * MIB };
	struct segment_db *db;
	size_t n;
	int r = -ENOSPC;

	if (!mount_small_disk(*state))
		skip();
	db = open_db(*state);
	for (uint64_t i = 1; i <= 10; i++) {
		assert_int_equal(write_batch(db, bulky_batch(i)), STORE_STORED);
		assert_ok(segment_db_flush(db, NOON));
	}
	for (size_t left = 0; r < 0; left += 16 * KIB) {
		fill_disk(*state, left);
		r = segment_db_compact(db, &compaction, &n);
		assert_true(r == 0 || r == -ENOSPC);
		empty_disk(*state);
		assert_int_equal(total(db).sum, 10 * SUM_OF_BATCH);
	}
	assert_int_equal(total(db).n_segments, 2);
	assert_ok(segment_db_check(db, &n));
	assert_int_equal(n, 0);
	(void)segment_db_free(db);
	assert_int_equal(umount2(*state, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(segments_of_an_uncommitted_flush_are_removed_at_the_next_start),
		in_folder(a_failed_flush_is_repeated_without_counting_twice),
		in_folder(a_flush_that_fails_in_the_second_day_file_is_repeated),
		in_folder(a_batch_that_cannot_be_committed_is_not_stored),
		in_folder(definitions_of_a_batch_that_is_not_stored_are_forgotten),
		in_folder(an_inbox_of_an_older_backup_is_refused),
		in_folder(a_damaged_day_file_is_set_aside_and_replaced),
		in_folder(a_damaged_payload_loses_only_its_batch),
		in_folder(a_full_disk_refuses_batches_and_keeps_those_accepted),
		in_folder(a_flush_on_a_disk_with_little_space_fails_and_is_repeated),
		in_folder(a_compaction_on_a_disk_with_little_space_fails_and_is_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
