/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When agents are asked for an executable, and when again.
 */

#include "tests/support/unit.h"

#include "common/elf/build_id.h"
#include "common/file.h"
#include "symbolizer/debuginfo/debuginfo_store.h"

struct moving_clock {
	struct clock clock;
	uint64_t now_ns;
};

static uint64_t moving_now(const struct clock *clock)
{
	return container_of(clock, struct moving_clock, clock)->now_ns;
}

static struct moving_clock clock_at(uint64_t now_ns)
{
	return (struct moving_clock){
		.clock = { .monotonic_ns = moving_now, .wall_ns = moving_now },
		.now_ns = now_ns,
	};
}

static const uint8_t agent[16] = { 1 };

static struct executable_id id_of(uint32_t seed)
{
	struct executable_id id;
	uint32_t bytes[5] = { seed };

	assert_ok(executable_id_set(&id, EXECUTABLE_ID_GNU, bytes, sizeof(bytes)));
	return id;
}

static void agents_are_asked_once_in_ten_minutes(void **state)
{
	struct moving_clock clock = clock_at(NSEC_PER_SEC);
	scoped(debuginfo_store_freep) struct debuginfo_store *store = NULL;
	struct executable_id one = id_of(1);
	struct executable_id other = id_of(2);
	const struct executable_id none = {};

	assert_ok(debuginfo_store_open(*state, &clock.clock, &store));
	assert_int_equal(debuginfo_want(store, &one, agent), 1);
	assert_int_equal(debuginfo_want(store, &one, agent), 0);
	assert_int_equal(debuginfo_want(store, &other, agent), 1);
	assert_int_equal(debuginfo_want(store, &none, agent), 0);
	clock.now_ns += 599 * NSEC_PER_SEC;
	assert_int_equal(debuginfo_want(store, &one, agent), 0);
	clock.now_ns += 2 * NSEC_PER_SEC;
	assert_int_equal(debuginfo_want(store, &one, agent), 1);
}

static void after_a_refused_upload_no_agent_is_asked_for_an_hour(void **state)
{
	struct moving_clock clock = clock_at(NSEC_PER_SEC);
	scoped(debuginfo_store_freep) struct debuginfo_store *store = NULL;
	scoped(debuginfo_upload_freep) struct debuginfo_upload *upload = NULL;
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct executable_id id = id_of(1);
	struct debuginfo_entry entry;

	assert_ok(debuginfo_store_open(*state, &clock.clock, &store));
	assert_int_equal(debuginfo_want(store, &id, agent), 1);
	assert_ok(debuginfo_upload_begin(store, &id, DEBUGINFO_FROM_AGENT, &upload, message));
	assert_errno(debuginfo_upload_commit(upload, &entry, message), -EBADMSG);
	clock.now_ns += 3599 * NSEC_PER_SEC;
	assert_int_equal(debuginfo_want(store, &id, agent), 0);
	clock.now_ns += 2 * NSEC_PER_SEC;
	assert_int_equal(debuginfo_want(store, &id, agent), 1);
}

static void refused_first_bytes_count_as_a_refused_upload(void **state)
{
	static const struct bytes_view script = { (const uint8_t *)"#!/bin/sh\n", 10 };
	struct moving_clock clock = clock_at(NSEC_PER_SEC);
	scoped(debuginfo_store_freep) struct debuginfo_store *store = NULL;
	scoped(debuginfo_upload_freep) struct debuginfo_upload *upload = NULL;
	scoped(debuginfo_piece_freep) struct debuginfo_piece *piece = NULL;
	struct debuginfo_session session = { .origin = DEBUGINFO_FROM_AGENT, .size_bytes = 1000 };
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct executable_id whole = id_of(1), in_pieces = id_of(2);

	assert_ok(debuginfo_store_open(*state, &clock.clock, &store));
	assert_int_equal(debuginfo_want(store, &whole, agent), 1);
	assert_int_equal(debuginfo_want(store, &in_pieces, agent), 1);
	assert_ok(debuginfo_upload_begin(store, &whole, DEBUGINFO_FROM_AGENT, &upload, message));
	assert_errno(debuginfo_upload_append(upload, script, message), -EBADMSG);
	session.id = in_pieces;
	assert_int_equal(debuginfo_session_begin(store, &session, message), 1);
	assert_int_equal(debuginfo_piece_open(store, session.name, 0, &piece), 1);
	assert_errno(debuginfo_piece_append(piece, script, message), -EBADMSG);
	clock.now_ns += 3599 * NSEC_PER_SEC;
	assert_int_equal(debuginfo_want(store, &whole, agent), 0);
	assert_int_equal(debuginfo_want(store, &in_pieces, agent), 0);
}

static struct executable_id id_of_true(void)
{
	scoped(elf_file_freep) struct elf_file *elf = NULL;
	scoped_fd int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
	struct executable_id id;

	assert_ok(elf_file_open(fd, &elf));
	assert_int_equal(build_id_from_elf(elf, &id), 1);
	return id;
}

static void upload_true(struct debuginfo_store *store, enum debuginfo_origin origin)
{
	scoped(bytes_release) struct bytes content = BYTES_INIT(16 * MIB);
	struct debuginfo_upload *upload = NULL;
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct executable_id id = id_of_true();
	struct debuginfo_entry entry;

	assert_ok(file_read("/bin/true", &content));
	assert_ok(debuginfo_upload_begin(store, &id, origin, &upload, message));
	assert_ok(debuginfo_upload_append(upload, bytes_view_of(&content), message));
	assert_int_equal(debuginfo_upload_commit(upload, &entry, message), 1);
	assert_int_equal(entry.origin, origin);
	(void)debuginfo_upload_free(upload);
}

static void a_trusted_file_is_requested_at_once_after_a_users_file(void **state)
{
	struct moving_clock clock = clock_at(NSEC_PER_SEC);
	scoped(debuginfo_store_freep) struct debuginfo_store *store = NULL;
	struct executable_id id = id_of_true();
	struct debuginfo_entry entry;

	assert_ok(debuginfo_store_open(*state, &clock.clock, &store));
	assert_int_equal(debuginfo_want(store, &id, agent), DEBUGINFO_ASK);
	upload_true(store, DEBUGINFO_FROM_USER);
	assert_int_equal(debuginfo_want(store, &id, agent), DEBUGINFO_ASK_TRUSTED);
	assert_int_equal(debuginfo_want(store, &id, agent), DEBUGINFO_DO_NOT_ASK);
	clock.now_ns += 601 * NSEC_PER_SEC;
	assert_int_equal(debuginfo_want(store, &id, agent), DEBUGINFO_ASK_TRUSTED);
	upload_true(store, DEBUGINFO_FROM_AGENT);
	clock.now_ns += 601 * NSEC_PER_SEC;
	assert_int_equal(debuginfo_want(store, &id, agent), DEBUGINFO_DO_NOT_ASK);
	assert_int_equal(debuginfo_find(store, &id, &entry), 1);
	assert_int_equal(entry.origin, DEBUGINFO_FROM_AGENT);
}

static void a_stored_file_is_not_requested_until_it_is_removed(void **state)
{
	struct moving_clock clock = clock_at(NSEC_PER_SEC);
	scoped(debuginfo_store_freep) struct debuginfo_store *store = NULL;
	struct executable_id id = id_of_true();

	assert_ok(debuginfo_store_open(*state, &clock.clock, &store));
	upload_true(store, DEBUGINFO_FROM_AGENT);
	assert_int_equal(debuginfo_want(store, &id, agent), 0);
	clock.now_ns += 24 * 3600 * NSEC_PER_SEC;
	assert_int_equal(debuginfo_want(store, &id, agent), 0);
	assert_int_equal(debuginfo_remove(store, &id), 1);
	assert_int_equal(debuginfo_want(store, &id, agent), 1);
}

static void a_full_table_drops_expired_entries(void **state)
{
	enum { FIT = 65536, MORE_THAN_FIT = FIT + 200 };
	struct moving_clock clock = clock_at(NSEC_PER_SEC);
	scoped(debuginfo_store_freep) struct debuginfo_store *store = NULL;
	struct executable_id new_one = id_of(MORE_THAN_FIT + 1);
	unsigned int asked = 0;

	assert_ok(debuginfo_store_open(*state, &clock.clock, &store));
	for (uint32_t i = 0; i < MORE_THAN_FIT; i++) {
		struct executable_id id = id_of(i);

		asked += debuginfo_want(store, &id, agent) == 1;
	}
	assert_int_equal(asked, FIT);
	clock.now_ns += 601 * NSEC_PER_SEC;
	assert_int_equal(debuginfo_want(store, &new_one, agent), 1);
}

static void a_full_table_is_walked_at_most_every_ten_seconds(void **state)
{
	enum { FIT = 65536 };
	struct moving_clock clock = clock_at(NSEC_PER_SEC);
	scoped(debuginfo_store_freep) struct debuginfo_store *store = NULL;
	struct executable_id new_one = id_of(FIT + 1);
	struct executable_id id;

	assert_ok(debuginfo_store_open(*state, &clock.clock, &store));
	for (uint32_t i = 0; i < FIT; i++) {
		id = id_of(i);
		assert_int_equal(debuginfo_want(store, &id, agent), 1);
	}
	/*
	 * One second before the entries expire, the table is walked in vain. Two seconds later the
	 * entries have expired, but the next walk is not due yet.
	 */
	clock.now_ns += 599 * NSEC_PER_SEC;
	assert_int_equal(debuginfo_want(store, &new_one, agent), 0);
	clock.now_ns += 2 * NSEC_PER_SEC;
	assert_int_equal(debuginfo_want(store, &new_one, agent), 0);
	clock.now_ns += 8 * NSEC_PER_SEC;
	assert_int_equal(debuginfo_want(store, &new_one, agent), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(agents_are_asked_once_in_ten_minutes),
		in_folder(after_a_refused_upload_no_agent_is_asked_for_an_hour),
		in_folder(refused_first_bytes_count_as_a_refused_upload),
		in_folder(a_trusted_file_is_requested_at_once_after_a_users_file),
		in_folder(a_stored_file_is_not_requested_until_it_is_removed),
		in_folder(a_full_table_drops_expired_entries),
		in_folder(a_full_table_is_walked_at_most_every_ten_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
