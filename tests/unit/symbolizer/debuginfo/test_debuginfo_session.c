/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uploads in pieces: interruptions, restarts, wrong offsets, wrong bytes.
 */

#include <gnutls/crypto.h>
#include <sys/stat.h>

#include "tests/unit/symbolizer/debuginfo/debuginfo_fixture.h"

struct moving_clock {
	struct clock clock;
	uint64_t now_ns;
};

static uint64_t moving_now(const struct clock *clock)
{
	return container_of(clock, struct moving_clock, clock)->now_ns;
}

static struct moving_clock new_clock(void)
{
	return (struct moving_clock){
		.clock = { .monotonic_ns = moving_now, .wall_ns = moving_now },
		.now_ns = 1700000000 * NSEC_PER_SEC,
	};
}

static struct debuginfo_session session_for(const struct bytes *elf)
{
	struct debuginfo_session session = {
		.id = sample_identity(),
		.origin = DEBUGINFO_FROM_PIPELINE,
		.size_bytes = elf->size,
	};

	assert_int_equal(gnutls_hash_fast(GNUTLS_DIG_SHA256, elf->data, elf->size, session.sha256),
			 0);
	return session;
}

/* Sends @size bytes of @elf from @offset as one piece. Returns the result of the commit. */
static int send_piece(struct debuginfo_store *store, const char *name, const struct bytes *elf,
		      uint64_t offset, size_t size)
{
	scoped(debuginfo_piece_freep) struct debuginfo_piece *piece = NULL;
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_entry entry;
	int r;

	r = debuginfo_piece_open(store, name, offset, &piece);
	if (r <= 0)
		return r == 0 ? -ENOENT : r;
	r = debuginfo_piece_append(piece, (struct bytes_view){ elf->data + offset, size }, message);
	return r < 0 ? r : debuginfo_piece_commit(piece, &entry, message);
}

static size_t count_session_files(const char *folder)
{
	scoped_free char *command = NULL;
	char number[16] = "";
	FILE *pipe;

	assert_true(asprintf(&command, "ls %s | grep -c '^debuginfo-session-'", folder) > 0);
	pipe = popen(command, "re");
	assert_non_null(pipe);
	(void)fgets(number, sizeof(number), pipe);
	(void)pclose(pipe);
	return (size_t)strtoul(number, NULL, 10);
}

static void pieces_from_before_and_after_a_restart_make_one_file(void **state)
{
	struct moving_clock clock = new_clock();
	struct debuginfo_store *store = open_debuginfo_at(*state, &clock.clock);
	scoped(bytes_release) struct bytes elf = {};
	struct debuginfo_session session, again, found;
	struct executable_id id = sample_identity();
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_entry entry;
	size_t half;

	read_sample(SAMPLE_FULL, &elf);
	half = elf.size / 2;
	again = session = session_for(&elf);
	assert_int_equal(debuginfo_session_begin(store, &session, message), 1);
	assert_int_equal(session.offset, 0);
	assert_errno(send_piece(store, session.name, &elf, 0, half), -EAGAIN);
	assert_int_equal(debuginfo_find(store, &id, &entry), 0);
	(void)debuginfo_store_free(store);

	store = open_debuginfo_at(*state, &clock.clock);
	/* A client that lost the name finds the session by equal fields. */
	assert_int_equal(debuginfo_session_begin(store, &again, message), 1);
	assert_string_equal(again.name, session.name);
	assert_int_equal(again.offset, half);
	assert_int_equal(debuginfo_session_find(store, session.name, &found), 1);
	assert_int_equal(found.offset, half);
	assert_errno(send_piece(store, session.name, &elf, 0, half), -ESPIPE);
	assert_errno(send_piece(store, session.name, &elf, half + 1, 1), -ESPIPE);
	assert_int_equal(send_piece(store, session.name, &elf, half, elf.size - half), 1);
	assert_int_equal(debuginfo_find(store, &id, &entry), 1);
	assert_int_equal(entry.size_bytes, elf.size);
	assert_memory_equal(entry.sha256, session.sha256, sizeof(entry.sha256));
	assert_int_equal(debuginfo_session_find(store, session.name, &found), 0);
	assert_int_equal(count_session_files(*state), 0);
	/* The file is stored: it is not needed again. */
	assert_int_equal(debuginfo_session_begin(store, &again, message), 0);
	assert_non_null(strstr(message, "stored already"));
	(void)debuginfo_store_free(store);
}

static void bytes_with_another_hash_are_refused_and_removed(void **state)
{
	struct moving_clock clock = new_clock();
	struct debuginfo_store *store = open_debuginfo_at(*state, &clock.clock);
	scoped(bytes_release) struct bytes elf = {};
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_session session;
	struct executable_id id = sample_identity();
	struct debuginfo_entry entry;

	read_sample(SAMPLE_FULL, &elf);
	session = session_for(&elf);
	assert_int_equal(debuginfo_session_begin(store, &session, message), 1);
	elf.data[elf.size - 1] ^= 1;
	assert_errno(send_piece(store, session.name, &elf, 0, elf.size), -EBADMSG);
	assert_int_equal(debuginfo_session_find(store, session.name, &session), 0);
	assert_int_equal(debuginfo_find(store, &id, &entry), 0);
	assert_int_equal(count_session_files(*state), 0);
	(void)debuginfo_store_free(store);
}

static void a_session_takes_one_piece_at_a_time_and_at_most_its_size(void **state)
{
	struct moving_clock clock = new_clock();
	struct debuginfo_store *store = open_debuginfo_at(*state, &clock.clock);
	scoped(bytes_release) struct bytes elf = {};
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_piece *piece = NULL, *second = NULL;
	struct debuginfo_session session;

	read_sample(SAMPLE_FULL, &elf);
	session = session_for(&elf);
	assert_int_equal(debuginfo_session_begin(store, &session, message), 1);
	assert_int_equal(debuginfo_piece_open(store, session.name, 0, &piece), 1);
	assert_errno(debuginfo_piece_open(store, session.name, 0, &second), -EBUSY);
	assert_errno(debuginfo_session_remove(store, session.name), -EBUSY);
	assert_ok(debuginfo_piece_append(piece, bytes_view_of(&elf), message));
	assert_errno(debuginfo_piece_append(piece, (struct bytes_view){ elf.data, 1 }, message),
		     -EBADMSG);
	assert_int_equal(debuginfo_piece_offset(piece), elf.size);
	(void)debuginfo_piece_free(piece);
	assert_int_equal(debuginfo_session_remove(store, session.name), 1);
	assert_int_equal(debuginfo_session_remove(store, session.name), 0);
	assert_int_equal(count_session_files(*state), 0);
	(void)debuginfo_store_free(store);
}

static void a_first_piece_that_is_no_elf_file_is_refused_at_once(void **state)
{
	scoped(bytes_release) struct bytes elf = {}, other = BYTES_INIT(100);
	struct moving_clock clock = new_clock();
	struct debuginfo_store *store = open_debuginfo_at(*state, &clock.clock);
	struct debuginfo_session session, found;
	char message[DEBUGINFO_MESSAGE_SIZE];

	read_sample(SAMPLE_FULL, &elf);
	session = session_for(&elf);
	assert_int_equal(debuginfo_session_begin(store, &session, message), 1);
	assert_ok(bytes_append_text(&other, "#!/bin/sh\n"));
	assert_errno(send_piece(store, session.name, &other, 0, other.size), -EBADMSG);
	assert_int_equal(debuginfo_session_find(store, session.name, &found), 0);
	assert_int_equal(count_session_files(*state), 0);
	/* If an earlier piece had the first bytes, the session is kept. */
	assert_int_equal(debuginfo_session_begin(store, &session, message), 1);
	assert_errno(send_piece(store, session.name, &elf, 0, 3), -EAGAIN);
	assert_errno(send_piece(store, session.name, &other, 3, 4), -EBADMSG);
	assert_int_equal(send_piece(store, session.name, &elf, 3, elf.size - 3), 1);
	(void)debuginfo_store_free(store);
}

static void a_session_without_pieces_is_removed_after_a_day(void **state)
{
	struct moving_clock clock = new_clock();
	struct debuginfo_store *store = open_debuginfo_at(*state, &clock.clock);
	scoped_free char *orphan = NULL;
	scoped(bytes_release) struct bytes elf = {};
	struct debuginfo_session session, other;
	char message[DEBUGINFO_MESSAGE_SIZE];

	read_sample(SAMPLE_FULL, &elf);
	session = session_for(&elf);
	assert_int_equal(debuginfo_session_begin(store, &session, message), 1);
	assert_errno(send_piece(store, session.name, &elf, 0, 100), -EAGAIN);
	orphan =
		write_file_in(*state, "debuginfo-session-00112233445566778899aabbccddeeff", "x", 1);
	clock.now_ns += 23 * 3600 * NSEC_PER_SEC;
	assert_errno(send_piece(store, session.name, &elf, 100, 100), -EAGAIN);
	clock.now_ns += 23 * 3600 * NSEC_PER_SEC;
	other = session;
	other.id.bytes[0] ^= 1;
	assert_int_equal(debuginfo_session_begin(store, &other, message), 1);
	assert_int_equal(debuginfo_session_find(store, session.name, &session), 1);
	assert_int_equal(session.offset, 200);
	clock.now_ns += 2 * 3600 * NSEC_PER_SEC;
	(void)debuginfo_store_free(store);
	store = open_debuginfo_at(*state, &clock.clock);
	assert_int_equal(debuginfo_session_find(store, session.name, &session), 0);
	assert_int_equal(debuginfo_session_find(store, other.name, &other), 1);
	assert_int_equal(count_session_files(*state), 0);
	(void)debuginfo_store_free(store);
}

static void only_generated_names_reach_the_file_system(void **state)
{
	static const char *const names[] = { "",
					     "../debuginfo.db",
					     "zz112233445566778899aabbccddeeff",
					     "00112233445566778899AABBCCDDEEFF",
					     "00112233445566778899aabbccddeef/",
					     "00112233445566778899aabbccddeeff" };
	struct moving_clock clock = new_clock();
	struct debuginfo_store *store = open_debuginfo_at(*state, &clock.clock);
	struct debuginfo_session session;
	struct debuginfo_piece *piece;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(debuginfo_session_find(store, names[i], &session), 0);
		assert_int_equal(debuginfo_session_remove(store, names[i]), 0);
		assert_int_equal(debuginfo_piece_open(store, names[i], 0, &piece), 0);
	}
	(void)debuginfo_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(pieces_from_before_and_after_a_restart_make_one_file),
		in_folder(bytes_with_another_hash_are_refused_and_removed),
		in_folder(a_session_takes_one_piece_at_a_time_and_at_most_its_size),
		in_folder(a_first_piece_that_is_no_elf_file_is_refused_at_once),
		in_folder(a_session_without_pieces_is_removed_after_a_day),
		in_folder(only_generated_names_reach_the_file_system),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
