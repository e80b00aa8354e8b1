/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eviction, pinned files, shared content, checks, and conversion of older formats.
 */

#include "symbolizer/debuginfo/debuginfo_private.h"
#include "tests/unit/symbolizer/debuginfo/debuginfo_fixture.h"

struct moving_clock {
	struct clock clock;
	uint64_t now_ns;
};

static uint64_t moving_now(const struct clock *clock)
{
	return container_of(clock, struct moving_clock, clock)->now_ns;
}

#define PROGRAM_BYTES (1 * MIB)

/* A program of 1 MB that does not compress, stored one second after the previous one. */
static int put_program(struct debuginfo_store *store, struct moving_clock *clock,
		       enum debuginfo_origin origin, uint32_t seed)
{
	scoped(bytes_release) struct bytes elf = {};
	struct executable_id id = make_program(seed, PROGRAM_BYTES, &elf);
	struct debuginfo_entry entry;

	clock->now_ns += NSEC_PER_SEC;
	return put_bytes(store, &id, origin, bytes_view_of(&elf), &entry);
}

static bool is_there(struct debuginfo_store *store, uint32_t seed)
{
	scoped(bytes_release) struct bytes elf = {};
	struct executable_id id = make_program(seed, 0, &elf);
	struct debuginfo_entry entry;
	int r = debuginfo_find(store, &id, &entry);

	assert_ok(r);
	return r > 0;
}

static void use(struct debuginfo_store *store, struct moving_clock *clock, uint32_t seed)
{
	scoped(bytes_release) struct bytes elf = {};
	struct executable_id id = make_program(seed, 0, &elf);
	struct debuginfo_entry entry;
	scoped_fd int fd = -1;

	clock->now_ns += 3600 * NSEC_PER_SEC;
	assert_int_equal(debuginfo_open_file(store, &id, &fd, &entry), 1);
}

static struct moving_clock new_clock(void)
{
	return (struct moving_clock){
		.clock = { .monotonic_ns = moving_now, .wall_ns = moving_now },
		.now_ns = 1700000000 * NSEC_PER_SEC,
	};
}

static void files_that_can_be_fetched_again_are_evicted_first(void **state)
{
	enum { AGENT_OLD = 1, UPSTREAM_USED, AGENT_NEW, PIPELINE_OLD, PIPELINE_NEW, NEXT };
	struct moving_clock clock = new_clock();
	struct debuginfo_store *store = open_debuginfo_at(*state, &clock.clock);

	assert_int_equal(put_program(store, &clock, DEBUGINFO_FROM_PIPELINE, PIPELINE_OLD), 1);
	assert_int_equal(put_program(store, &clock, DEBUGINFO_FROM_UPSTREAM, UPSTREAM_USED), 1);
	assert_int_equal(put_program(store, &clock, DEBUGINFO_FROM_AGENT, AGENT_OLD), 1);
	assert_int_equal(put_program(store, &clock, DEBUGINFO_FROM_AGENT, AGENT_NEW), 1);
	use(store, &clock, UPSTREAM_USED);
	debuginfo_store_set_quota(store, 4 * PROGRAM_BYTES + PROGRAM_BYTES / 2,
				  4 * PROGRAM_BYTES + PROGRAM_BYTES / 4);
	/* Evicts the least recently used file of an agent. */
	assert_int_equal(put_program(store, &clock, DEBUGINFO_FROM_PIPELINE, PIPELINE_NEW), 1);
	assert_false(is_there(store, AGENT_OLD));
	assert_true(is_there(store, AGENT_NEW) && is_there(store, UPSTREAM_USED));
	/* Eviction down to the low mark removes both others. */
	debuginfo_store_set_quota(store, 4 * PROGRAM_BYTES + PROGRAM_BYTES / 2,
				  3 * PROGRAM_BYTES + PROGRAM_BYTES / 2);
	assert_int_equal(put_program(store, &clock, DEBUGINFO_FROM_PIPELINE, NEXT), 1);
	assert_false(is_there(store, AGENT_NEW) || is_there(store, UPSTREAM_USED));
	assert_true(is_there(store, PIPELINE_OLD) && is_there(store, PIPELINE_NEW));
	/* Then files of pipelines, the oldest first, but never the new file. */
	assert_int_equal(put_program(store, &clock, DEBUGINFO_FROM_PIPELINE, NEXT + 1), 1);
	assert_int_equal(put_program(store, &clock, DEBUGINFO_FROM_PIPELINE, NEXT + 2), 1);
	assert_false(is_there(store, PIPELINE_OLD));
	assert_true(is_there(store, NEXT + 2));
	assert_int_equal(debuginfo_store_totals(store).n_evicted, 5);
	assert_true(debuginfo_store_totals(store).stored_bytes <= 4 * PROGRAM_BYTES);
	(void)debuginfo_store_free(store);
}

static void an_agents_file_never_evicts_one_of_a_pipeline(void **state)
{
	struct moving_clock clock = new_clock();
	struct debuginfo_store *store = open_debuginfo_at(*state, &clock.clock);
	uint64_t generation;

	debuginfo_store_set_quota(store, 2 * PROGRAM_BYTES + PROGRAM_BYTES / 2, 2 * PROGRAM_BYTES);
	assert_int_equal(put_program(store, &clock, DEBUGINFO_FROM_PIPELINE, 1), 1);
	assert_int_equal(put_program(store, &clock, DEBUGINFO_FROM_PIPELINE, 2), 1);
	generation = debuginfo_generation(store);
	assert_errno(put_program(store, &clock, DEBUGINFO_FROM_AGENT, 3), -EDQUOT);
	assert_true(is_there(store, 1) && is_there(store, 2));
	assert_false(is_there(store, 3));
	assert_int_equal(debuginfo_generation(store), generation);
	assert_int_equal(debuginfo_number(*state, "SELECT count(*) FROM content"), 2);
	/* A file of a pipeline that exceeds the quota is refused too. */
	debuginfo_store_set_quota(store, PROGRAM_BYTES / 2, PROGRAM_BYTES / 2);
	assert_errno(put_program(store, &clock, DEBUGINFO_FROM_PIPELINE, 4), -EDQUOT);
	(void)debuginfo_store_free(store);
}

static void a_file_that_is_being_read_is_not_evicted(void **state)
{
	struct moving_clock clock = new_clock();
	struct debuginfo_store *store = open_debuginfo_at(*state, &clock.clock);
	scoped(bytes_release) struct bytes elf = {};
	struct executable_id id = make_program(1, 0, &elf);
	const struct debuginfo_key key = key_of(&id, DEBUGINFO_KIND_NAMES);
	struct debuginfo_view view;

	assert_int_equal(put_program(store, &clock, DEBUGINFO_FROM_AGENT, 1), 1);
	assert_int_equal(put_program(store, &clock, DEBUGINFO_FROM_AGENT, 2), 1);
	assert_int_equal(debuginfo_view_open(store, &key, &view), 1);
	debuginfo_store_set_quota(store, 2 * PROGRAM_BYTES + PROGRAM_BYTES / 2, 2 * PROGRAM_BYTES);
	assert_int_equal(put_program(store, &clock, DEBUGINFO_FROM_PIPELINE, 3), 1);
	assert_true(is_there(store, 1));
	assert_false(is_there(store, 2));
	debuginfo_view_release(&view);
	assert_int_equal(put_program(store, &clock, DEBUGINFO_FROM_PIPELINE, 4), 1);
	assert_false(is_there(store, 1));
	(void)debuginfo_store_free(store);
}

static void equal_content_is_stored_once_until_its_last_file_is_removed(void **state)
{
	struct moving_clock clock = new_clock();
	struct debuginfo_store *store = open_debuginfo_at(*state, &clock.clock);
	struct executable_id id = sample_identity();
	struct debuginfo_entry entry;
	uint64_t stored_bytes;

	assert_int_equal(put_source(store, DEBUGINFO_FROM_PIPELINE, "/a.c", "int a;", &entry), 1);
	stored_bytes = debuginfo_store_totals(store).stored_bytes;
	assert_true(stored_bytes > 0);
	assert_int_equal(put_source(store, DEBUGINFO_FROM_PIPELINE, "/b.c", "int a;", &entry), 1);
	assert_int_equal(debuginfo_store_totals(store).stored_bytes, stored_bytes);
	assert_int_equal(debuginfo_number(*state, "SELECT count(*) FROM content"), 1);
	/* One identity gets new content, the other keeps the shared one. */
	assert_int_equal(put_source(store, DEBUGINFO_FROM_PIPELINE, "/a.c", "int b;", &entry), 1);
	assert_int_equal(debuginfo_number(*state, "SELECT count(*) FROM content"), 2);
	assert_int_equal(put_source(store, DEBUGINFO_FROM_PIPELINE, "/b.c", "int b;", &entry), 1);
	assert_int_equal(debuginfo_number(*state, "SELECT count(*) FROM content"), 1);
	assert_int_equal(debuginfo_number(*state, "SELECT count(*) FROM chunk"), 1);
	assert_int_equal(debuginfo_remove(store, &id), 1);
	assert_int_equal(debuginfo_number(*state, "SELECT count(*) FROM content"), 0);
	assert_int_equal(debuginfo_number(*state, "SELECT count(*) FROM chunk"), 0);
	assert_int_equal(debuginfo_store_totals(store).stored_bytes, 0);
	(void)debuginfo_store_free(store);
}

static void a_check_finds_and_removes_damaged_files(void **state)
{
	struct moving_clock clock = new_clock();
	struct debuginfo_store *store = open_debuginfo_at(*state, &clock.clock);
	struct executable_id id = sample_identity();
	struct debuginfo_check check = {};
	struct debuginfo_entry entry;

	assert_int_equal(debuginfo_check(store, &id, &check), 0);
	assert_int_equal(put_file(store, DEBUGINFO_FROM_PIPELINE, SAMPLE_FULL, &entry), 1);
	assert_int_equal(put_source(store, DEBUGINFO_FROM_PIPELINE, "/a.c", "int a;", &entry), 1);
	assert_int_equal(put_source(store, DEBUGINFO_FROM_PIPELINE, "/b.c", "int b;", &entry), 1);
	assert_int_equal(debuginfo_check(store, &id, &check), 1);
	assert_int_equal(check.n_files, 3);
	assert_int_equal(check.n_damaged, 0);
	assert_true(check.size_bytes > 1000);
	/* The hashes of chunks match, but the SHA-256 of the file does not. */
	debuginfo_sql(*state, "UPDATE content SET sha256 = zeroblob(31) || x'01' WHERE size = 6 AND"
			      " id = (SELECT max(id) FROM content)");
	debuginfo_sql(*state, "UPDATE chunk SET hash = zeroblob(16) WHERE id ="
			      " (SELECT min(id) FROM chunk)");
	assert_int_equal(debuginfo_check(store, &id, &check), 1);
	assert_int_equal(check.n_damaged, 2);
	assert_int_equal(debuginfo_check(store, &id, &check), 1);
	assert_int_equal(check.n_files, 1);
	assert_int_equal(debuginfo_find(store, &id, &entry), 0);
	(void)debuginfo_store_free(store);
}

/* The tables of format 1. */
static const char back_to_format_1[] =
	"ALTER TABLE file RENAME TO file2;"
	"CREATE TABLE file(id INTEGER PRIMARY KEY AUTOINCREMENT, kind INTEGER NOT NULL,"
	" identity BLOB NOT NULL, origin INTEGER NOT NULL, richness INTEGER NOT NULL,"
	" size INTEGER NOT NULL, stored_bytes INTEGER NOT NULL, uploaded_ns INTEGER NOT NULL,"
	" last_used_ns INTEGER NOT NULL, hash BLOB NOT NULL, complete INTEGER NOT NULL);"
	"INSERT INTO file SELECT content.id, kind, identity, min(origin, 2),"
	" richness - (richness > 0), size,"
	" stored_bytes, uploaded_ns, last_used_ns, hash, 1 FROM file2 JOIN content"
	" ON content.id = file2.content;"
	"INSERT INTO file SELECT max(id) + 10, kind, identity, 1, 3, 5, 0, 0, 0, x'', 0 FROM file;"
	"DROP TABLE file2; DROP TABLE content; DROP TABLE session; DROP TABLE miss;"
	"DROP TABLE total; DROP TABLE alias; DROP TABLE unhashed;"
	"CREATE INDEX file_identity ON file(kind, identity);"
	"PRAGMA user_version=1;";

static void a_database_of_format_1_is_converted(void **state)
{
	struct moving_clock clock = new_clock();
	struct debuginfo_store *store = open_debuginfo_at(*state, &clock.clock);
	struct executable_id id = sample_identity();
	const struct debuginfo_key executable = key_of(&id, DEBUGINFO_KIND_EXECUTABLE);
	const struct debuginfo_key debuginfo = key_of(&id, DEBUGINFO_KIND_DEBUGINFO);
	scoped(bytes_release) struct bytes stripped = {}, debug = {};
	struct debuginfo_entry entry;
	uint64_t stored_bytes;

	read_sample(SAMPLE_STRIPPED, &stripped);
	read_sample(SAMPLE_DEBUG, &debug);
	assert_int_equal(put_file(store, DEBUGINFO_FROM_AGENT, SAMPLE_STRIPPED, &entry), 1);
	assert_int_equal(put_file(store, DEBUGINFO_FROM_PIPELINE, SAMPLE_DEBUG, &entry), 1);
	stored_bytes = debuginfo_store_totals(store).stored_bytes;
	(void)debuginfo_store_free(store);
	debuginfo_sql(*state, back_to_format_1);

	for (int start = 0; start < 2; start++) {
		scoped_fd int executable_fd = -1, debuginfo_fd = -1;

		store = open_debuginfo_at(*state, &clock.clock);
		assert_int_equal(debuginfo_number(*state, "PRAGMA user_version"), 5);
		assert_int_equal(debuginfo_number(*state, "SELECT count(*) FROM content"), 2);
		assert_int_equal(debuginfo_store_totals(store).stored_bytes, stored_bytes);
		assert_int_equal(debuginfo_open_kind(store, &executable, &executable_fd, &entry),
				 1);
		assert_int_equal(entry.origin, DEBUGINFO_FROM_AGENT);
		assert_int_equal(entry.richness, DEBUGINFO_SYMBOLS);
		assert_bytes_at(executable_fd, 0, &stripped, 0, stripped.size);
		assert_int_equal(debuginfo_open_kind(store, &debuginfo, &debuginfo_fd, &entry), 1);
		assert_int_equal(entry.origin, DEBUGINFO_FROM_PIPELINE);
		assert_int_equal(entry.richness, DEBUGINFO_DWARF);
		assert_false(entry.has_code);
		assert_bytes_at(debuginfo_fd, 0, &debug, 0, debug.size);
		(void)debuginfo_store_free(store);
	}
	/* IDs are not used again. */
	store = open_debuginfo_at(*state, &clock.clock);
	assert_int_equal(put_file(store, DEBUGINFO_FROM_PIPELINE, SAMPLE_FULL, &entry), 1);
	assert_true(entry.generation > 11);
	(void)debuginfo_store_free(store);
}

static void a_database_of_format_2_keeps_the_richness_of_files(void **state)
{
	struct moving_clock clock = new_clock();
	struct debuginfo_store *store = open_debuginfo_at(*state, &clock.clock);
	struct executable_id id = sample_identity();
	struct debuginfo_entry entry;

	assert_int_equal(put_file(store, DEBUGINFO_FROM_AGENT, SAMPLE_STRIPPED, &entry), 1);
	(void)debuginfo_store_free(store);
	debuginfo_sql(*state, "UPDATE file SET richness = 1; DROP TABLE alias; "
			      "DROP TABLE unhashed; "
			      "PRAGMA user_version=2;");

	for (int start = 0; start < 2; start++) {
		store = open_debuginfo_at(*state, &clock.clock);
		assert_int_equal(debuginfo_number(*state, "PRAGMA user_version"), 5);
		assert_int_equal(debuginfo_find(store, &id, &entry), 1);
		assert_int_equal(entry.richness, DEBUGINFO_SYMBOLS);
		(void)debuginfo_store_free(store);
	}
}

static void the_first_and_the_last_use_are_recorded(void **state)
{
	struct moving_clock clock = new_clock();
	struct debuginfo_store *store = open_debuginfo_at(*state, &clock.clock);
	scoped(arena_freep) struct arena *arena = NULL;
	struct debuginfo_entry *entries;
	uint64_t first;
	size_t count;

	assert_int_equal(put_program(store, &clock, DEBUGINFO_FROM_AGENT, 1), 1);
	use(store, &clock, 1);
	first = clock.now_ns;
	use(store, &clock, 1);
	assert_ok(arena_new(MIB, &arena));
	assert_ok(debuginfo_list(store, arena, &entries, &count));
	assert_int_equal(count, 1);
	assert_int_equal(entries[0].first_used_wall_ns, first);
	assert_int_equal(entries[0].last_used_wall_ns, clock.now_ns);
	(void)debuginfo_store_free(store);
}

static void sources_of_an_identity_are_one_entry_of_the_list(void **state)
{
	struct moving_clock clock = new_clock();
	struct debuginfo_store *store = open_debuginfo_at(*state, &clock.clock);
	scoped(arena_freep) struct arena *arena = NULL;
	struct executable_id id = sample_identity(), other;
	struct debuginfo_entry *entries, entry;
	size_t count;

	assert_int_equal(put_file(store, DEBUGINFO_FROM_PIPELINE, SAMPLE_FULL, &entry), 1);
	assert_int_equal(put_source(store, DEBUGINFO_FROM_PIPELINE, "/a.c", "int a;", &entry), 1);
	assert_int_equal(put_source(store, DEBUGINFO_FROM_PIPELINE, "/b.c", "int bb;", &entry), 1);
	assert_ok(arena_new(MIB, &arena));
	assert_ok(debuginfo_list_of(store, &id, arena, &entries, &count));
	assert_int_equal(count, 2);
	assert_false(entries[0].is_source);
	assert_true(entries[1].is_source);
	assert_int_equal(entries[1].n_files, 2);
	assert_int_equal(entries[1].size_bytes, 13);
	other = id;
	other.bytes[0] ^= 1;
	assert_ok(debuginfo_list_of(store, &other, arena, &entries, &count));
	assert_int_equal(count, 0);
	(void)debuginfo_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(files_that_can_be_fetched_again_are_evicted_first),
		in_folder(an_agents_file_never_evicts_one_of_a_pipeline),
		in_folder(a_file_that_is_being_read_is_not_evicted),
		in_folder(equal_content_is_stored_once_until_its_last_file_is_removed),
		in_folder(a_check_finds_and_removes_damaged_files),
		in_folder(a_database_of_format_1_is_converted),
		in_folder(a_database_of_format_2_keeps_the_richness_of_files),
		in_folder(the_first_and_the_last_use_are_recorded),
		in_folder(sources_of_an_identity_are_one_entry_of_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
