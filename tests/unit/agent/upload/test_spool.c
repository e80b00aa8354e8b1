/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/upload/spool.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/limits.h"
#include "tests/support/unit.h"

#define MANY_BYTES   (64 * MIB)
#define HEADER_BYTES 40

/* Batches reported as lost. */
struct losses {
	struct spool_key keys[64];
	int problems[64];
	size_t count;
};

static void on_lost(void *argument, const struct spool_key *key, int problem)
{
	struct losses *losses = argument;

	assert_true(losses->count < ARRAY_SIZE(losses->keys));
	losses->keys[losses->count] = *key;
	losses->problems[losses->count++] = problem;
}

static struct spool *open_spool(const char *folder, uint64_t max_bytes, struct losses *losses)
{
	const struct spool_options options = {
		.folder = folder,
		.max_bytes = max_bytes,
		.lost = on_lost,
		.argument = losses,
	};
	struct spool *spool = NULL;

	assert_ok(spool_open(&options, &spool));
	return spool;
}

static int push(struct spool *spool, uint64_t epoch, uint64_t sequence, const char *text)
{
	const struct spool_key key = { .epoch = epoch, .sequence = sequence };

	return spool_push(
		spool, &key,
		(struct bytes_view){ .data = (const uint8_t *)text, .size = strlen(text) });
}

/* Reads the first batch, checks it, and removes it if @remove. */
static void expect_first(struct spool *spool, uint64_t epoch, uint64_t sequence, const char *text,
			 bool remove)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES);
	struct spool_key key;

	assert_int_equal(spool_first(spool, &key, &content), 1);
	assert_int_equal(key.epoch, epoch);
	assert_int_equal(key.sequence, sequence);
	assert_bytes_equal_text(&content, text);
	if (remove)
		spool_remove_first(spool);
}

static void expect_empty(struct spool *spool)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES);
	struct spool_key key;

	assert_int_equal(spool_first(spool, &key, &content), 0);
	assert_int_equal(spool_count(spool), 0);
	assert_int_equal(spool_bytes(spool), 0);
}

static size_t count_files(const char *folder)
{
	DIR *stream = opendir(folder);
	const struct dirent *entry;
	size_t count = 0;

	assert_non_null(stream);
	while ((entry = readdir(stream)))
		count += entry->d_name[0] != '.';
	(void)closedir(stream);
	return count;
}

static void batches_are_read_in_order_and_kept_until_removed(void **state)
{
	scoped(spool_closep) struct spool *spool = open_spool(*state, MANY_BYTES, NULL);

	assert_ok(push(spool, 2, 1, "b1"));
	assert_ok(push(spool, 2, 2, "b2"));
	assert_ok(push(spool, 1, 9, "a9"));
	expect_first(spool, 1, 9, "a9", false);
	expect_first(spool, 1, 9, "a9", true);
	expect_first(spool, 2, 1, "b1", true);
	assert_int_equal(count_files(*state), 1);
	expect_first(spool, 2, 2, "b2", true);
	expect_empty(spool);
	assert_int_equal(count_files(*state), 0);
}

static void a_later_run_finds_the_batches(void **state)
{
	struct spool *spool = open_spool(*state, MANY_BYTES, NULL);

	for (uint64_t i = 1; i <= 300; i++)
		assert_ok(push(spool, UINT64_C(0xfedcba9876543210), i, "x"));
	(void)spool_close(spool);
	spool = open_spool(*state, MANY_BYTES, NULL);
	assert_int_equal(spool_count(spool), 300);
	for (uint64_t i = 1; i <= 300; i++)
		expect_first(spool, UINT64_C(0xfedcba9876543210), i, "x", true);
	expect_empty(spool);
	(void)spool_close(spool);
}

static void the_folder_is_private_to_its_owner(void **state)
{
	scoped_free char *folder = path_in(*state, "deep/spool");
	scoped(spool_closep) struct spool *spool = open_spool(folder, MANY_BYTES, NULL);
	struct stat status;

	expect_empty(spool);
	assert_int_equal(stat(folder, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);
}

static void a_folder_that_cannot_be_created_is_an_error(void **state)
{
	scoped_free char *file = write_file_in(*state, "file", "x", 1);
	scoped_free char *folder = path_in(file, "spool");
	const struct spool_options options = { .folder = folder, .max_bytes = MANY_BYTES };
	struct spool *spool = NULL;

	assert_errno(spool_open(&options, &spool), -ENOTDIR);
}

static void a_second_owner_is_refused(void **state)
{
	scoped(spool_closep) struct spool *spool = open_spool(*state, MANY_BYTES, NULL);
	const struct spool_options options = { .folder = *state, .max_bytes = MANY_BYTES };
	struct spool *second = NULL;

	expect_empty(spool);
	assert_errno(spool_open(&options, &second), -EBUSY);
}

static void above_the_maximum_the_oldest_is_removed_and_reported(void **state)
{
	struct losses losses = {};
	scoped(spool_closep) struct spool *spool =
		open_spool(*state, 3 * (HEADER_BYTES + 4), &losses);

	for (uint64_t i = 1; i <= 5; i++)
		assert_ok(push(spool, 1, i, "four"));
	assert_int_equal(losses.count, 2);
	assert_int_equal(losses.keys[0].sequence, 1);
	assert_int_equal(losses.keys[1].sequence, 2);
	assert_int_equal(losses.problems[0], 0);
	expect_first(spool, 1, 3, "four", true);
	assert_errno(
		push(spool, 1, 6,
		     "a batch that is larger than the whole spool may be, however empty it is, and "
		     "so can never be kept in it"),
		-EFBIG);
	assert_int_equal(spool_count(spool), 2);
}

static void a_batch_being_sent_is_not_dropped(void **state)
{
	struct losses losses = {};
	scoped(spool_closep) struct spool *spool =
		open_spool(*state, 3 * (HEADER_BYTES + 4), &losses);

	for (uint64_t i = 1; i <= 3; i++)
		assert_ok(push(spool, 5, i, "four"));
	expect_first(spool, 5, 1, "four", false);
	/* Its key is smaller than that of the batch being sent, because the clock was set back. */
	assert_ok(push(spool, 4, 1, "back"));
	assert_int_equal(losses.count, 1);
	assert_int_equal(losses.keys[0].sequence, 2);
	spool_remove_first(spool);
	expect_first(spool, 4, 1, "back", true);
	expect_first(spool, 5, 3, "four", true);
	expect_empty(spool);
}

static void a_smaller_maximum_applies_to_batches_of_an_earlier_run(void **state)
{
	struct losses losses = {};
	struct spool *spool = open_spool(*state, MANY_BYTES, NULL);

	for (uint64_t i = 1; i <= 10; i++)
		assert_ok(push(spool, 1, i, "four"));
	(void)spool_close(spool);
	spool = open_spool(*state, 2 * (HEADER_BYTES + 4), &losses);
	assert_int_equal(losses.count, 8);
	expect_first(spool, 1, 9, "four", true);
	expect_first(spool, 1, 10, "four", true);
	expect_empty(spool);
	(void)spool_close(spool);
}

static const char first_name[] = "0000000000000001-0000000000000001.batch";

static void damaged_files_are_reported_and_removed(void **state)
{
	static const struct {
		const char *what;
		long cut_at;  /* -1: not cut */
		long flip_at; /* -1: no bit flipped */
	} cases[] = {
		{ "cut in the header", 20, -1 },
		{ "cut in the batch", HEADER_BYTES + 3, -1 },
		{ "empty", 0, -1 },
		{ "magic", -1, 0 },
		{ "epoch", -1, 8 },
		{ "size", -1, 24 },
		{ "checksum", -1, 32 },
		{ "content", -1, HEADER_BYTES + 5 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped_free char *path = path_in(*state, first_name);
		struct losses losses = {};
		struct spool *spool = open_spool(*state, MANY_BYTES, &losses);

		assert_ok(push(spool, 1, 1, "to be damaged"));
		assert_ok(push(spool, 1, 2, "whole"));
		(void)spool_close(spool);
		if (cases[i].cut_at >= 0) {
			assert_int_equal(truncate(path, cases[i].cut_at), 0);
		} else {
			scoped_fd int fd = open(path, O_RDWR | O_CLOEXEC);
			uint8_t byte;

			assert_int_equal(pread(fd, &byte, 1, cases[i].flip_at), 1);
			byte ^= 0x10;
			assert_int_equal(pwrite(fd, &byte, 1, cases[i].flip_at), 1);
		}

		spool = open_spool(*state, MANY_BYTES, &losses);
		expect_first(spool, 1, 2, "whole", true);
		if (losses.count != 1 || losses.problems[0] != -EBADMSG ||
		    losses.keys[0].sequence != 1)
			fail_msg("%s: not reported", cases[i].what);
		assert_int_equal(access(path, F_OK), -1);
		expect_empty(spool);
		(void)spool_close(spool);
	}
}

/* The test kills the child after 20 batches or more, while it may be writing another batch. */
static void a_killed_writer_leaves_only_complete_batches(void **state)
{
	struct losses losses = {};
	struct spool *spool;
	uint64_t last = 0;
	int status, ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		spool = open_spool(*state, MANY_BYTES, NULL);
		for (uint64_t i = 1;; i++) {
			if (push(spool, 1, i, "some batch that takes a moment to write") < 0 ||
			    write(ends[1], &i, sizeof(i)) != sizeof(i))
				_exit(1);
		}
	}
	while (last < 20)
		assert_int_equal(read(ends[0], &last, sizeof(last)), sizeof(last));
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	(void)close(ends[1]);
	while (read(ends[0], &last, sizeof(last)) == sizeof(last))
		;
	(void)close(ends[0]);

	spool = open_spool(*state, MANY_BYTES, &losses);
	assert_true(spool_count(spool) == last || spool_count(spool) == last + 1);
	for (uint64_t i = 1; i <= last; i++)
		expect_first(spool, 1, i, "some batch that takes a moment to write", true);
	assert_int_equal(losses.count, 0);
	(void)spool_close(spool);
}

static void incomplete_and_foreign_files_are_not_batches(void **state)
{
	static const char *const names[] = {
		"readme",
		"0000000000000001.batch",
		"000000000000000g-0000000000000001.batch",
		"0000000000000001-0000000000000001.batch.old",
		"0000000000000001_0000000000000001.batch",
	};
	struct spool *spool;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		free(write_file_in(*state, names[i], "x", 1));
	free(write_file_in(*state, "incoming.tmp", "half", 4));
	spool = open_spool(*state, MANY_BYTES, NULL);
	expect_empty(spool);
	(void)spool_close(spool);
	/* Other files are kept. */
	assert_int_equal(count_files(*state), ARRAY_SIZE(names));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(batches_are_read_in_order_and_kept_until_removed),
		in_folder(a_later_run_finds_the_batches),
		in_folder(the_folder_is_private_to_its_owner),
		in_folder(a_folder_that_cannot_be_created_is_an_error),
		in_folder(a_second_owner_is_refused),
		in_folder(above_the_maximum_the_oldest_is_removed_and_reported),
		in_folder(a_batch_being_sent_is_not_dropped),
		in_folder(a_smaller_maximum_applies_to_batches_of_an_earlier_run),
		in_folder(damaged_files_are_reported_and_removed),
		in_folder(a_killed_writer_leaves_only_complete_batches),
		in_folder(incomplete_and_foreign_files_are_not_batches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
