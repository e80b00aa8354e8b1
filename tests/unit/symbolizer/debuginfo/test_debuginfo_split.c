/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbolizer/debuginfo/debuginfo_fixture.h"

/* The .dwo that gcc -gsplit-dwarf writes for the sample, with -O0 and with -O2. */
#define SAMPLE_SPLIT       SAMPLE ".dwo"
#define SAMPLE_OTHER_SPLIT SAMPLE ".other.dwo"

static void assert_kept(struct debuginfo_store *store, const char *path,
			enum debuginfo_origin origin)
{
	struct executable_id id = sample_identity();
	const struct debuginfo_key key = key_of(&id, DEBUGINFO_KIND_SPLIT);
	scoped(bytes_release) struct bytes content = {};
	struct debuginfo_entry entry;
	scoped_fd int fd = -1;

	read_sample(path, &content);
	assert_int_equal(debuginfo_open_kind(store, &key, &fd, &entry), 1);
	assert_int_equal(entry.origin, origin);
	assert_int_equal(entry.size_bytes, content.size);
	assert_true(entry.is_split);
	assert_false(entry.has_code);
	assert_bytes_at(fd, 0, &content, 0, content.size);
}

static void split_dwarf_is_found_as_kind_split_only(void **state)
{
	scoped(debuginfo_store_freep) struct debuginfo_store *store =
		open_debuginfo_at(*state, &system_clock);
	struct executable_id id = sample_identity();
	const struct debuginfo_key debuginfo = key_of(&id, DEBUGINFO_KIND_DEBUGINFO);
	const struct debuginfo_key executable = key_of(&id, DEBUGINFO_KIND_EXECUTABLE);
	scoped(arena_freep) struct arena *arena = NULL;
	struct debuginfo_entry entry, *entries;
	size_t count;

	assert_int_equal(put_file(store, DEBUGINFO_FROM_PIPELINE, SAMPLE_SPLIT, &entry), 1);
	assert_true(entry.is_split);
	assert_int_equal(debuginfo_find(store, &id, &entry), 0);
	assert_int_equal(debuginfo_find_kind(store, &debuginfo, &entry), 0);
	assert_int_equal(debuginfo_find_kind(store, &executable, &entry), 0);

	assert_int_equal(put_file(store, DEBUGINFO_FROM_PIPELINE, SAMPLE_STRIPPED, &entry), 1);
	assert_int_equal(put_file(store, DEBUGINFO_FROM_PIPELINE, SAMPLE_FULL, &entry), 1);
	assert_int_equal(debuginfo_find(store, &id, &entry), 1);
	assert_false(entry.is_split);
	assert_true(entry.has_code);
	assert_kept(store, SAMPLE_SPLIT, DEBUGINFO_FROM_PIPELINE);

	assert_ok(arena_new(MIB, &arena));
	assert_ok(debuginfo_list_of(store, &id, arena, &entries, &count));
	assert_int_equal(count, 2);
	assert_int_equal(entries[0].is_split + entries[1].is_split, 1);
	assert_int_equal(debuginfo_remove(store, &id), 1);
	assert_int_equal(debuginfo_number(*state, "SELECT count(*) FROM chunk"), 0);
}

static void the_last_split_dwarf_of_the_best_origin_is_kept(void **state)
{
	static const struct {
		enum debuginfo_origin origin;
		const char *path;
		int stored;
		/* The stored file after this step. */
		enum debuginfo_origin best;
		const char *kept;
		int n_files;
	} steps[] = {
		{ DEBUGINFO_FROM_UPSTREAM, SAMPLE_SPLIT, 1, DEBUGINFO_FROM_UPSTREAM, SAMPLE_SPLIT,
		  1 },
		{ DEBUGINFO_FROM_UPSTREAM, SAMPLE_SPLIT, 0, DEBUGINFO_FROM_UPSTREAM, SAMPLE_SPLIT,
		  1 },
		{ DEBUGINFO_FROM_UPSTREAM, SAMPLE_OTHER_SPLIT, 1, DEBUGINFO_FROM_UPSTREAM,
		  SAMPLE_OTHER_SPLIT, 1 },
		{ DEBUGINFO_FROM_AGENT, SAMPLE_SPLIT, 0, DEBUGINFO_FROM_UPSTREAM,
		  SAMPLE_OTHER_SPLIT, 1 },
		{ DEBUGINFO_FROM_PIPELINE, SAMPLE_SPLIT, 1, DEBUGINFO_FROM_PIPELINE, SAMPLE_SPLIT,
		  1 },
		{ DEBUGINFO_FROM_PIPELINE, SAMPLE_OTHER_SPLIT, 1, DEBUGINFO_FROM_PIPELINE,
		  SAMPLE_OTHER_SPLIT, 1 },
	};
	scoped(debuginfo_store_freep) struct debuginfo_store *store =
		open_debuginfo_at(*state, &system_clock);
	struct debuginfo_entry entry;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		assert_int_equal(put_file(store, steps[i].origin, steps[i].path, &entry),
				 steps[i].stored);
		assert_kept(store, steps[i].kept, steps[i].best);
		assert_int_equal(debuginfo_number(*state, "SELECT count(*) FROM file"),
				 steps[i].n_files);
	}
}

static void a_refusal_of_split_dwarf_names_the_stored_file(void **state)
{
	scoped(debuginfo_store_freep) struct debuginfo_store *store =
		open_debuginfo_at(*state, &system_clock);
	scoped(debuginfo_upload_freep) struct debuginfo_upload *upload = NULL;
	struct executable_id id = sample_identity();
	char message[DEBUGINFO_MESSAGE_SIZE];
	scoped(bytes_release) struct bytes content = {};
	struct debuginfo_entry entry;

	assert_int_equal(put_file(store, DEBUGINFO_FROM_PIPELINE, SAMPLE_FULL, &entry), 1);
	assert_int_equal(put_file(store, DEBUGINFO_FROM_PIPELINE, SAMPLE_SPLIT, &entry), 1);
	read_sample(SAMPLE_OTHER_SPLIT, &content);
	assert_ok(debuginfo_upload_begin(store, &id, DEBUGINFO_FROM_AGENT, &upload, message));
	assert_ok(debuginfo_upload_append(upload, bytes_view_of(&content), message));
	assert_int_equal(debuginfo_upload_commit(upload, &entry, message), 0);
	assert_string_equal(message,
			    "a file with split DWARF from a build pipeline is stored already");
	assert_true(entry.is_split);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(split_dwarf_is_found_as_kind_split_only),
		in_folder(the_last_split_dwarf_of_the_best_origin_is_kept),
		in_folder(a_refusal_of_split_dwarf_names_the_stored_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
