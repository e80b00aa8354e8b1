/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crashes, damaged files, full disks, and a second server on the same folder.
 */

#include "symbolizer/debuginfo/debuginfo_private.h"
#include "tests/unit/symbolizer/debuginfo/debuginfo_fixture.h"

#include <sys/mount.h>

static void an_interrupted_upload_is_removed(void **state)
{
	struct debuginfo_store *store = open_debuginfo_at(*state, &system_clock);
	struct executable_id id = sample_identity();
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_upload *upload;
	struct debuginfo_entry entry;
	scoped_free char *leftover = NULL;

	assert_ok(debuginfo_upload_begin(store, &id, DEBUGINFO_FROM_AGENT, &upload, message));
	assert_ok(debuginfo_upload_append(
		upload, (struct bytes_view){ (const uint8_t *)"\177ELF", 4 }, message));
	assert_int_equal(count_leftovers(*state), 1);
	(void)debuginfo_upload_free(upload);
	assert_int_equal(count_leftovers(*state), 0);
	(void)debuginfo_store_free(store);

	/* A crash leaves such a file. */
	leftover = write_file_in(*state, "debuginfo-upload-AbCdEf", "x", 1);
	store = open_debuginfo_at(*state, &system_clock);
	assert_int_equal(count_leftovers(*state), 0);
	assert_int_equal(debuginfo_find(store, &id, &entry), 0);
	(void)debuginfo_store_free(store);
}

static void incomplete_content_is_not_found_and_is_removed(void **state)
{
	struct debuginfo_store *store = open_debuginfo_at(*state, &system_clock);
	struct executable_id id = sample_identity();
	struct debuginfo_entry entry;

	assert_int_equal(put_file(store, DEBUGINFO_FROM_AGENT, SAMPLE_FULL, &entry), 1);
	(void)debuginfo_store_free(store);
	/* The state after a crash while chunks were written. */
	debuginfo_sql(*state, "UPDATE content SET complete = 0; DELETE FROM file");
	store = open_debuginfo_at(*state, &system_clock);
	assert_int_equal(debuginfo_find(store, &id, &entry), 0);
	assert_int_equal(put_file(store, DEBUGINFO_FROM_AGENT, SAMPLE_FULL, &entry), 1);
	(void)debuginfo_store_free(store);
}

static void a_damaged_file_is_an_error_and_can_be_uploaded_again(void **state)
{
	static const char *const damages[] = {
		"UPDATE chunk SET hash = x'00'",
		"UPDATE chunk SET content = x'28b52ffd'",
		"UPDATE chunk SET content = (SELECT content FROM chunk ORDER BY id DESC LIMIT 1)",
		"DELETE FROM chunk WHERE id & 1",
		"DELETE FROM chunk WHERE id = (SELECT max(id) FROM chunk)",
	};
	struct executable_id id = sample_identity();
	scoped(bytes_release) struct bytes large = {};

	read_sample(SAMPLE_FULL, &large);
	while (large.size < MIB)
		assert_ok(bytes_append(&large, &large.size, sizeof(large.size)));
	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		struct debuginfo_store *store = open_debuginfo_at(*state, &system_clock);
		struct debuginfo_entry entry;
		int fd = -1;

		assert_int_equal(
			put_bytes(store, &id, DEBUGINFO_FROM_AGENT, bytes_view_of(&large), &entry),
			1);
		(void)debuginfo_store_free(store);
		debuginfo_sql(*state, damages[i]);
		store = open_debuginfo_at(*state, &system_clock);
		assert_errno(debuginfo_open_file(store, &id, &fd, &entry), -EIO);
		assert_int_equal(fd, -1);
		/* The damaged file was removed, so the same file is stored again. */
		assert_int_equal(debuginfo_find(store, &id, &entry), 0);
		assert_int_equal(
			put_bytes(store, &id, DEBUGINFO_FROM_AGENT, bytes_view_of(&large), &entry),
			1);
		assert_int_equal(debuginfo_open_file(store, &id, &fd, &entry), 1);
		(void)close(fd);
		assert_int_equal(debuginfo_remove(store, &id), 1);
		(void)debuginfo_store_free(store);
	}
}

static void a_lookup_error_after_the_commit_does_not_undo_it(void **state)
{
	scoped(debuginfo_store_freep) struct debuginfo_store *store =
		open_debuginfo_at(*state, &system_clock);
	struct executable_id id = sample_identity();
	struct debuginfo_entry entry;

	/* A trigger hides the new file from lookups by identity, as if a later lookup failed. */
	debuginfo_sql(*state, "CREATE TRIGGER hide AFTER INSERT ON file BEGIN"
			      " UPDATE file SET kind = 99 WHERE id = new.id; END");
	assert_int_equal(put_file(store, DEBUGINFO_FROM_AGENT, SAMPLE_FULL, &entry), 1);
	assert_true(executable_id_equal(&entry.id, &id));
	assert_int_equal(entry.richness, DEBUGINFO_DWARF);
	assert_int_equal(debuginfo_number(*state, "SELECT count(*) FROM content WHERE complete"),
			 1);
	assert_true(debuginfo_number(*state, "SELECT count(*) FROM chunk") > 0);
}

static void on_a_full_disk_uploads_fail_and_stored_files_are_kept(void **state)
{
	const char *folder = *state;
	scoped(bytes_release) struct bytes large = {}, stored = {};
	struct executable_id id = sample_identity();
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_upload *upload = NULL;
	struct debuginfo_store *store;
	struct debuginfo_entry entry;
	uint32_t random = 1;
	int fd = -1;
	int r = 0;

	if (geteuid() != 0 || mount("none", folder, "tmpfs", 0, "size=6m") < 0) {
		print_message("needs root to mount a small file system\n");
		skip();
	}
	read_sample(SAMPLE_FULL, &large);
	while (large.size < 4 * MIB) {
		random = random * 1664525 + 1013904223;
		assert_ok(bytes_append(&large, &random, sizeof(random)));
	}
	store = open_debuginfo_at(folder, &system_clock);
	assert_int_equal(put_file(store, DEBUGINFO_FROM_AGENT, SAMPLE_STRIPPED, &entry), 1);
	/* The temporary file fits on the disk, but its content in the database does not. */
	assert_ok(debuginfo_upload_begin(store, &id, DEBUGINFO_FROM_AGENT, &upload, message));
	assert_ok(debuginfo_upload_append(upload, bytes_view_of(&large), message));
	assert_errno(debuginfo_upload_commit(upload, &entry, message), -ENOSPC);
	upload = debuginfo_upload_free(upload);
	assert_non_null(strstr(message, "cannot store the file"));
	/* A second temporary file does not fit either. */
	assert_ok(debuginfo_upload_begin(store, &id, DEBUGINFO_FROM_AGENT, &upload, message));
	for (int i = 0; i < 3 && r == 0; i++)
		r = debuginfo_upload_append(upload, bytes_view_of(&large), message);
	assert_errno(r, -ENOSPC);
	(void)debuginfo_upload_free(upload);

	assert_int_equal(debuginfo_open_file(store, &id, &fd, &entry), 1);
	read_sample(SAMPLE_STRIPPED, &stored);
	assert_bytes_at(fd, 0, &stored, 0, stored.size);
	(void)close(fd);
	assert_int_equal(put_file(store, DEBUGINFO_FROM_AGENT, SAMPLE_DEBUG, &entry), 1);
	(void)debuginfo_store_free(store);
	assert_ok(umount2(folder, MNT_DETACH));
}

static int begin_session(struct debuginfo_store *store, uint8_t number, uint64_t size_bytes)
{
	struct debuginfo_session session = {
		.id = sample_identity(),
		.origin = DEBUGINFO_FROM_PIPELINE,
		.size_bytes = size_bytes,
		.sha256 = { number },
	};
	char message[DEBUGINFO_MESSAGE_SIZE];

	return debuginfo_session_begin(store, &session, message);
}

/* The limit holds for the sum of the announced sizes, although no byte has arrived. */
static void uploads_reserve_their_announced_size(void **state)
{
	const char *folder = *state;
	struct debuginfo_store *store;

	if (geteuid() != 0 || mount("none", folder, "tmpfs", 0, "size=32m") < 0) {
		print_message("needs root to mount a small file system\n");
		skip();
	}
	store = open_debuginfo_at(folder, &system_clock);
	assert_int_equal(begin_session(store, 1, 20 * MIB), 1);
	assert_errno(begin_session(store, 2, 20 * MIB), -ENOSPC);
	/* The refused upload reserves nothing, and the first one may continue. */
	assert_int_equal(begin_session(store, 3, 5 * MIB), 1);
	assert_int_equal(begin_session(store, 1, 20 * MIB), 1);
	(void)debuginfo_store_free(store);
	assert_ok(umount2(folder, MNT_DETACH));
}

static void uploads_leave_free_space_to_samples(void **state)
{
	(void)state;
	assert_int_equal(debuginfo_usable_bytes(20 * GIB, 3 * GIB), 2 * GIB);
	assert_int_equal(debuginfo_usable_bytes(20 * GIB, GIB), 0);
	assert_int_equal(debuginfo_usable_bytes(20 * GIB, 0), 0);
	assert_int_equal(debuginfo_usable_bytes(4096 * GIB, 1000 * GIB), 996 * GIB);
}

static void a_second_server_cannot_open_the_folder(void **state)
{
	scoped(debuginfo_store_freep) struct debuginfo_store *store =
		open_debuginfo_at(*state, &system_clock);
	struct debuginfo_store *second;

	assert_non_null(store);
	assert_errno(debuginfo_store_open(*state, &system_clock, &second), -EBUSY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(an_interrupted_upload_is_removed),
		in_folder(incomplete_content_is_not_found_and_is_removed),
		in_folder(a_damaged_file_is_an_error_and_can_be_uploaded_again),
		in_folder(a_lookup_error_after_the_commit_does_not_undo_it),
		in_folder(on_a_full_disk_uploads_fail_and_stored_files_are_kept),
		in_folder(uploads_reserve_their_announced_size),
		cmocka_unit_test(uploads_leave_free_space_to_samples),
		in_folder(a_second_server_cannot_open_the_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
