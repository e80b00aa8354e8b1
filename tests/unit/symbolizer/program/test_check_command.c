/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include <sys/stat.h>

#include "common/clock.h"
#include "common/limits.h"
#include "symbolizer/check_command.h"
#include "symbolizer/debuginfo/debuginfo_store.h"
#include "symbolizer/ingest/batch_payload.h"
#include "symbolizer/store/segment_store/segment_store.h"
#include "symbolizer/store/sqlite/sqlite_store.h"

static struct store *open_segments(const char *folder)
{
	const struct segment_store_options options = {
		.folder = folder,
		.clock = &system_clock,
		.decoder = { .decode = batch_payload_decode,
			     .extract_definitions = batch_payload_definitions,
			     .decode_definitions = batch_payload_decode_definitions },
	};
	struct store *store = NULL;

	assert_ok(segment_store_open(&options, &store));
	return store;
}

static struct store *open_rows(const char *folder)
{
	struct store *store = NULL;

	assert_ok(sqlite_store_open(folder, &system_clock, &store));
	return store;
}

/* A data folder that a stopped server left. */
static void make_data(const char *folder, struct store *(*open_store)(const char *folder))
{
	struct debuginfo_store *debuginfo;

	(void)store_free(open_store(folder));
	assert_ok(debuginfo_store_open(folder, &system_clock, &debuginfo));
	(void)debuginfo_store_free(debuginfo);
}

static size_t faults_in(const char *folder)
{
	char message[CHECK_MESSAGE_SIZE];
	size_t n_faults = SIZE_MAX;

	if (check_command(folder, &n_faults, message) < 0)
		fail_msg("%s", message);
	return n_faults;
}

/* Replaces the content of a file behind its first pages, which describe it. */
static void damage(const char *folder, const char *name)
{
	scoped_free char *path = path_in(folder, name);
	scoped_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
	struct stat status;
	uint8_t bad[4096];

	assert_true(fd >= 0);
	assert_ok(fstat(fd, &status));
	assert_true(status.st_size > (off_t)sizeof(bad));
	memset(bad, 0xff, sizeof(bad));
	for (off_t at = sizeof(bad); at < status.st_size; at += (off_t)sizeof(bad))
		assert_int_equal(pwrite(fd, bad, sizeof(bad), at), sizeof(bad));
}

static void folders_of_both_engines_have_no_fault(void **state)
{
	scoped_free char *segments = path_in(*state, "segments");
	scoped_free char *rows = path_in(*state, "rows");

	make_data(segments, open_segments);
	assert_int_equal(faults_in(segments), 0);
	make_data(rows, open_rows);
	assert_int_equal(faults_in(rows), 0);
	/* A server can use them afterwards. */
	make_data(segments, open_segments);
	make_data(rows, open_rows);
}

static void a_damaged_database_is_a_fault(void **state)
{
	static const struct {
		struct store *(*open_store)(const char *folder);
		const char *folder, *name;
	} cases[] = {
		{ open_segments, "a", "inbox.db" },
		{ open_segments, "b", "debuginfo.db" },
		{ open_rows, "c", "hearth.db" },
		{ open_rows, "d", "debuginfo.db" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped_free char *folder = path_in(*state, cases[i].folder);

		make_data(folder, cases[i].open_store);
		damage(folder, cases[i].name);
		assert_true(faults_in(folder) > 0);
	}
}

static void a_file_that_is_no_database_is_a_fault(void **state)
{
	static const char text[] = "this is not a database, but long enough to be taken for one";
	static const char *const names[] = { "segments-2026-01-01.db", "symbols.db" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		scoped_free char *folder = path_in(*state, i ? "one" : "two");

		make_data(folder, open_segments);
		free(write_file_in(folder, names[i], text, sizeof(text)));
		assert_int_equal(faults_in(folder), 1);
	}
}

static void a_folder_that_cannot_be_checked_is_refused_with_a_remedy(void **state)
{
	scoped_free char *missing = path_in(*state, "nowhere");
	scoped_free char *used = path_in(*state, "used");
	char message[CHECK_MESSAGE_SIZE];
	struct store *store;
	size_t n_faults;

	assert_errno(check_command(missing, &n_faults, message), -ENOENT);
	assert_non_null(strstr(message, "--data"));
	/* An empty folder. */
	assert_errno(check_command(*state, &n_faults, message), -ENOENT);

	store = open_segments(used);
	assert_errno(check_command(used, &n_faults, message), -EBUSY);
	assert_non_null(strstr(message, "stop it"));
	(void)store_free(store);
	assert_int_equal(faults_in(used), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(folders_of_both_engines_have_no_fault),
		in_folder(a_damaged_database_is_a_fault),
		in_folder(a_file_that_is_no_database_is_a_fault),
		in_folder(a_folder_that_cannot_be_checked_is_refused_with_a_remedy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
