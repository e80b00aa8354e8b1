/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are found by their htlhash: of the program, the stripped program, the debug sections,
 * and a program without a build-ID.
 */

#include "tests/unit/symbolizer/debuginfo/debuginfo_fixture.h"

#include <gnutls/crypto.h>

#include "common/elf/build_id.h"
#include "tests/support/wait_until.h"

#define FULL     SAMPLE_FULL
#define STRIPPED SAMPLE_STRIPPED
#define DEBUG    SAMPLE_DEBUG
#define PLAIN    SAMPLE ".plain"

static struct debuginfo_store *open_debuginfo(const char *folder)
{
	return open_debuginfo_at(folder, &system_clock);
}

static int upload_file(struct debuginfo_store *store, const struct executable_id *id,
		       enum debuginfo_origin origin, const char *path,
		       struct debuginfo_entry *entry)
{
	scoped(bytes_release) struct bytes content = {};

	read_sample(path, &content);
	return put_bytes(store, id, origin, bytes_view_of(&content), entry);
}

/* The hash as OpenTelemetry's eBPF profiler computes it, over one buffer. */
static struct executable_id htlhash_of_bytes(const struct bytes *content)
{
	uint8_t covered[2 * 4096 + 8], digest[32];
	struct executable_id id;

	assert_true(content->size > 4096);
	memcpy(covered, content->data, 4096);
	memcpy(covered + 4096, content->data + content->size - 4096, 4096);
	for (unsigned int i = 0; i < 8; i++)
		covered[2 * 4096 + i] = (uint8_t)((uint64_t)content->size >> (56 - 8 * i));
	assert_ok(gnutls_hash_fast(GNUTLS_DIG_SHA256, covered, sizeof(covered), digest));
	assert_ok(executable_id_set(&id, EXECUTABLE_ID_HTLHASH, digest, 16));
	return id;
}

static struct executable_id htlhash_of(const char *path)
{
	scoped(bytes_release) struct bytes content = {};

	read_sample(path, &content);
	return htlhash_of_bytes(&content);
}

static void files_are_found_by_the_htlhash_of_any_upload(void **state)
{
	const struct executable_id id = sample_identity(), stripped = htlhash_of(STRIPPED),
				   full = htlhash_of(FULL);
	struct debuginfo_store *store = open_debuginfo(*state);
	scoped(arena_freep) struct arena *arena = NULL;
	struct debuginfo_entry entry, *entries;
	struct executable_id *aliases;
	uint64_t generation;
	size_t count;

	assert_ok(arena_new(MIB, &arena));
	assert_int_equal(upload_file(store, &id, DEBUGINFO_FROM_PIPELINE, STRIPPED, &entry), 1);
	assert_int_equal(debuginfo_find(store, &stripped, &entry), 1);
	assert_int_equal(debuginfo_find(store, &full, &entry), 0);
	/* The better file replaces the stripped one, with which the program still runs. */
	assert_int_equal(upload_file(store, &id, DEBUGINFO_FROM_PIPELINE, FULL, &entry), 1);
	generation = debuginfo_generation(store);
	/* A file that is not stored, because a better one is. */
	assert_int_equal(upload_file(store, &id, DEBUGINFO_FROM_AGENT, STRIPPED, &entry), 0);
	assert_int_equal(debuginfo_generation(store), generation);
	(void)debuginfo_store_free(store);

	store = open_debuginfo(*state);
	assert_int_equal(debuginfo_find(store, &stripped, &entry), 1);
	assert_int_equal(entry.richness, DEBUGINFO_DWARF);
	assert_true(executable_id_equal(&entry.id, &id));
	assert_ok(debuginfo_list_of(store, &stripped, arena, &entries, &count));
	assert_int_equal(count, 1);
	assert_ok(debuginfo_list_aliases(store, &id, arena, &aliases, &count));
	assert_int_equal(count, 2);
	/* The aliases are removed with the last file. */
	assert_int_equal(debuginfo_remove(store, &id), 1);
	assert_int_equal(debuginfo_find(store, &stripped, &entry), 0);
	(void)debuginfo_store_free(store);
	assert_int_equal(debuginfo_number(*state, "SELECT count(*) FROM alias"), 0);
}

static void the_file_of_an_htlhash_is_opened(void **state)
{
	scoped(debuginfo_store_freep) struct debuginfo_store *store = open_debuginfo(*state);
	const struct executable_id id = sample_identity(), stripped = htlhash_of(STRIPPED);
	scoped(bytes_release) struct bytes wanted = {};
	struct debuginfo_entry entry;
	scoped_fd int fd = -1;

	read_sample(FULL, &wanted);
	assert_int_equal(upload_file(store, &id, DEBUGINFO_FROM_PIPELINE, STRIPPED, &entry), 1);
	assert_int_equal(upload_file(store, &id, DEBUGINFO_FROM_PIPELINE, FULL, &entry), 1);
	assert_int_equal(debuginfo_open_file(store, &stripped, &fd, &entry), 1);
	assert_int_equal(entry.size_bytes, wanted.size);
	assert_bytes_at(fd, 0, &wanted, 0, wanted.size);
}

static void an_htlhash_keeps_the_identity_of_the_most_trusted_upload(void **state)
{
	static const struct {
		const char *id;
		enum debuginfo_origin origin;
		const char *found;
	} uploads[] = {
		/* A file without code is accepted as any of these. */
		{ "text-0102", DEBUGINFO_FROM_AGENT, "text-0102" },
		{ "text-0103", DEBUGINFO_FROM_USER, "text-0102" },
		/* Of equal origins, the first. */
		{ "text-0104", DEBUGINFO_FROM_AGENT, "text-0102" },
		{ "text-0105", DEBUGINFO_FROM_PIPELINE, "text-0105" },
	};
	scoped(debuginfo_store_freep) struct debuginfo_store *store = open_debuginfo(*state);
	const struct executable_id hash = htlhash_of(DEBUG);

	for (size_t i = 0; i < ARRAY_SIZE(uploads); i++) {
		char text[EXECUTABLE_ID_TEXT_SIZE];
		struct debuginfo_entry entry;
		struct executable_id id;

		assert_ok(executable_id_parse(uploads[i].id, &id));
		assert_int_equal(upload_file(store, &id, uploads[i].origin, DEBUG, &entry), 1);
		assert_int_equal(debuginfo_find(store, &hash, &entry), 1);
		executable_id_format(&entry.id, text);
		assert_string_equal(text, uploads[i].found);
	}
}

static void a_file_may_be_uploaded_as_its_htlhash(void **state)
{
	scoped(debuginfo_store_freep) struct debuginfo_store *store = open_debuginfo(*state);
	const struct executable_id plain = htlhash_of(PLAIN), full = htlhash_of(FULL);
	scoped(debuginfo_upload_freep) struct debuginfo_upload *upload = NULL;
	scoped(bytes_release) struct bytes other = {};
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_entry entry;

	read_sample(FULL, &other);
	assert_ok(debuginfo_upload_begin(store, &plain, DEBUGINFO_FROM_PIPELINE, &upload, message));
	assert_ok(debuginfo_upload_append(upload, bytes_view_of(&other), message));
	assert_errno(debuginfo_upload_commit(upload, &entry, message), -EBADMSG);
	assert_non_null(strstr(message, "the identity of the file is 'htlhash-"));
	assert_int_equal(upload_file(store, &plain, DEBUGINFO_FROM_PIPELINE, PLAIN, &entry), 1);
	assert_int_equal(debuginfo_find(store, &plain, &entry), 1);
	assert_int_equal(debuginfo_find(store, &full, &entry), 0);
}

static void the_better_file_of_an_htlhash_and_its_identity_is_used(void **state)
{
	const struct executable_id id = sample_identity(), stripped = htlhash_of(STRIPPED);
	scoped(debuginfo_store_freep) struct debuginfo_store *store = open_debuginfo(*state);
	const struct debuginfo_key executable = key_of(&stripped, DEBUGINFO_KIND_EXECUTABLE);
	scoped(arena_freep) struct arena *arena = NULL;
	struct debuginfo_entry entry, *entries;
	size_t count;

	assert_ok(arena_new(MIB, &arena));
	assert_int_equal(upload_file(store, &stripped, DEBUGINFO_FROM_AGENT, STRIPPED, &entry), 1);
	assert_int_equal(debuginfo_find(store, &id, &entry), 0);
	assert_int_equal(debuginfo_find(store, &stripped, &entry), 1);
	assert_true(executable_id_equal(&entry.id, &stripped));
	/* The upload had the build-ID too. */
	assert_int_equal(upload_file(store, &id, DEBUGINFO_FROM_PIPELINE, DEBUG, &entry), 1);
	assert_int_equal(debuginfo_find(store, &stripped, &entry), 1);
	assert_true(executable_id_equal(&entry.id, &id));
	assert_int_equal(debuginfo_find_kind(store, &executable, &entry), 1);
	assert_true(executable_id_equal(&entry.id, &stripped));
	assert_ok(debuginfo_list_of(store, &stripped, arena, &entries, &count));
	assert_int_equal(count, 2);
	assert_int_equal(debuginfo_remove(store, &id), 1);
	assert_int_equal(debuginfo_find(store, &stripped, &entry), 1);
}

static void a_source_of_an_htlhash_does_not_replace_that_of_its_identity(void **state)
{
	const struct executable_id id = sample_identity(), stripped = htlhash_of(STRIPPED);
	scoped(debuginfo_store_freep) struct debuginfo_store *store = open_debuginfo(*state);
	scoped(debuginfo_upload_freep) struct debuginfo_upload *upload = NULL;
	const struct debuginfo_key source = {
		.id = id,
		.kind = DEBUGINFO_KIND_SOURCE,
		.path = "/src/a.c",
	};
	char message[DEBUGINFO_MESSAGE_SIZE];
	struct debuginfo_entry entry;

	assert_int_equal(upload_file(store, &id, DEBUGINFO_FROM_AGENT, STRIPPED, &entry), 1);
	assert_int_equal(put_source(store, DEBUGINFO_FROM_USER, "/src/a.c", "int a;", &entry), 1);
	assert_ok(debuginfo_upload_begin(store, &stripped, DEBUGINFO_FROM_PIPELINE, &upload,
					 message));
	assert_ok(debuginfo_upload_as_source(upload, "/src/a.c", message));
	assert_ok(debuginfo_upload_append(
		upload, (struct bytes_view){ (const uint8_t *)"int b;", 6 }, message));
	assert_int_equal(debuginfo_upload_commit(upload, &entry, message), 1);
	assert_int_equal(debuginfo_find_kind(store, &source, &entry), 1);
}

static void an_identity_has_a_limited_number_of_aliases(void **state)
{
	struct debuginfo_store *store = open_debuginfo(*state);
	const struct executable_id id = sample_identity(), full = htlhash_of(FULL);
	scoped(bytes_release) struct bytes content = {};
	struct debuginfo_entry entry;
	struct executable_id last;

	assert_int_equal(upload_file(store, &id, DEBUGINFO_FROM_PIPELINE, FULL, &entry), 1);
	read_sample(FULL, &content);
	for (unsigned int i = 0; i < 100; i++) {
		assert_ok(bytes_append(&content, "x", 1));
		assert_int_equal(put_bytes(store, &id, DEBUGINFO_FROM_AGENT,
					   bytes_view_of(&content), &entry),
				 0);
	}
	last = htlhash_of_bytes(&content);
	/* Newer ones replace others that are not more trusted. */
	assert_int_equal(debuginfo_find(store, &last, &entry), 1);
	assert_int_equal(debuginfo_find(store, &full, &entry), 1);
	(void)debuginfo_store_free(store);
	assert_int_equal(debuginfo_number(*state, "SELECT count(*) FROM alias"), 64);
}

static void files_of_older_formats_get_aliases(void **state)
{
	static const char *const formats[] = {
		"DROP TABLE alias; DROP TABLE unhashed; PRAGMA user_version=3;",
		"DROP INDEX alias_identity; DELETE FROM alias; DROP TABLE unhashed;"
		" PRAGMA user_version=4;",
	};
	const struct executable_id id = sample_identity(), full = htlhash_of(FULL);
	struct debuginfo_store *store = open_debuginfo(*state);
	scoped(bytes_release) struct bytes content = {};
	struct debuginfo_entry entry;
	struct executable_id program;

	/* More files than one transaction takes, and one with several chunks. */
	for (uint32_t i = 1; i <= 70; i++) {
		scoped(bytes_release) struct bytes small = {};

		program = make_program(i, 0, &small);
		assert_int_equal(put_bytes(store, &program, DEBUGINFO_FROM_AGENT,
					   bytes_view_of(&small), &entry),
				 1);
	}
	program = make_program(71, 2 * MIB, &content);
	assert_int_equal(
		put_bytes(store, &program, DEBUGINFO_FROM_AGENT, bytes_view_of(&content), &entry),
		1);
	assert_int_equal(upload_file(store, &id, DEBUGINFO_FROM_PIPELINE, FULL, &entry), 1);
	(void)debuginfo_store_free(store);

	program = htlhash_of_bytes(&content);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		debuginfo_sql(*state, formats[i]);
		store = open_debuginfo(*state);
		/* The file that was stored last is hashed last. */
		wait_until(debuginfo_find(store, &full, &entry) == 1);
		assert_true(executable_id_equal(&entry.id, &id));
		assert_int_equal(debuginfo_find(store, &program, &entry), 1);
		(void)debuginfo_store_free(store);
		assert_int_equal(debuginfo_number(*state, "SELECT count(*) FROM alias"), 72);
		assert_int_equal(debuginfo_number(*state, "SELECT count(*) FROM unhashed"), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(files_are_found_by_the_htlhash_of_any_upload),
		in_folder(the_file_of_an_htlhash_is_opened),
		in_folder(an_htlhash_keeps_the_identity_of_the_most_trusted_upload),
		in_folder(a_file_may_be_uploaded_as_its_htlhash),
		in_folder(the_better_file_of_an_htlhash_and_its_identity_is_used),
		in_folder(a_source_of_an_htlhash_does_not_replace_that_of_its_identity),
		in_folder(an_identity_has_a_limited_number_of_aliases),
		in_folder(files_of_older_formats_get_aliases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
