/* SPDX-License-Identifier: Apache-2.0 */
/* When tables are compiled, replaced, evicted and removed. */

#include "tests/unit/symbolizer/symbols/cache/symbol_cache_fixture.h"

static void a_table_is_compiled_once(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	unsigned int n_finds;

	assert_holds(cache, &fixture->ids[0], "f0");
	n_finds = fixture->debuginfo.n_finds;
	for (int i = 0; i < 10; i++)
		assert_holds(cache, &fixture->ids[0], "f0");
	assert_int_equal(opened(fixture, 0), 1);
	/* Without an upload, the store is not read. */
	assert_int_equal(fixture->debuginfo.n_finds, n_finds);
	assert_int_equal(symbol_cache_counts(cache).n_made, 1);
}

static void a_restart_compiles_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct symbol_cache *cache = new_cache(fixture);
	struct symbol_cache_counts counts;

	assert_holds(cache, &fixture->ids[0], "f0");
	counts = symbol_cache_counts(cache);
	assert_true(counts.stored_bytes > 0);
	cache = symbol_cache_free(cache);

	cache = new_cache(fixture);
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_int_equal(opened(fixture, 0), 1);
	assert_int_equal(symbol_cache_counts(cache).n_made, 0);
	assert_int_equal(symbol_cache_counts(cache).stored_bytes, counts.stored_bytes);
	cache = symbol_cache_free(cache);
}

static void a_table_outlives_its_debuginfo_but_not_its_removal(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);

	assert_holds(cache, &fixture->ids[0], "f0");
	fake_debuginfo_remove(&fixture->debuginfo, &fixture->ids[0]);
	assert_holds(cache, &fixture->ids[0], "f0");
	cache = symbol_cache_free(cache);
	cache = new_cache(fixture);
	assert_holds(cache, &fixture->ids[0], "f0");

	assert_ok(symbol_cache_forget(cache, &fixture->ids[0]));
	assert_state(cache, &fixture->ids[0], TABLE_NONE, "");
	assert_int_equal(count_files(fixture, NULL), 0);
}

static void a_missing_file_is_looked_up_once_per_generation(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	unsigned int n_finds;

	assert_state(cache, &fixture->unknown, TABLE_NONE, "");
	n_finds = fixture->debuginfo.n_finds;
	for (int i = 0; i < 5; i++)
		assert_state(cache, &fixture->unknown, TABLE_NONE, "");
	assert_int_equal(fixture->debuginfo.n_finds, n_finds);
	fake_debuginfo_put(&fixture->debuginfo, &fixture->unknown, fixture->paths[2]);
	assert_holds(cache, &fixture->unknown, "f2");
}

static void a_new_file_replaces_the_table_and_an_upload_for_another_does_not(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	struct table_loan old;

	assert_ok(symbol_cache_borrow(cache, &fixture->ids[0], PATIENCE_NS, &old));
	fake_debuginfo_put(&fixture->debuginfo, &fixture->ids[1], fixture->paths[2]);
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_int_equal(opened(fixture, 0), 1);

	fake_debuginfo_put(&fixture->debuginfo, &fixture->ids[0], fixture->paths[1]);
	assert_holds(cache, &fixture->ids[0], "f1");
	assert_int_equal(opened(fixture, 0), 2);
	/* The old table can still be read by its borrower, but its file is removed. */
	assert_string_equal(first_name(old.file), "f0");
	assert_int_equal(count_files(fixture, NULL), 1);
	symbol_cache_give_back(cache, &old);
}

static void the_least_recently_used_table_is_evicted_and_the_newest_stays(void **state)
{
	struct fixture *fixture = *state;
	struct symbol_cache *cache = new_cache(fixture);
	struct table_loan loan;
	uint64_t one, bytes;

	assert_holds(cache, &fixture->ids[0], "f0");
	one = symbol_cache_counts(cache).bytes;
	assert_holds(cache, &fixture->ids[1], "f1");
	assert_holds(cache, &fixture->ids[2], "f2");
	cache = symbol_cache_free(cache);
	assert_int_equal(count_files(fixture, NULL), 3);

	/* Room for two tables: files left by the last run are removed before tables used now. */
	fixture->options.max_bytes = 2 * one + 100;
	cache = new_cache(fixture);
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_holds(cache, &fixture->ids[1], "f1");
	assert_int_equal(count_files(fixture, NULL), 2);
	/* Table 0 was used after table 1, so table 2 evicts table 1. */
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_holds(cache, &fixture->ids[2], "f2");
	assert_true(symbol_cache_counts(cache).bytes <= fixture->options.max_bytes);
	assert_int_equal(count_files(fixture, &bytes), 2);
	assert_true(bytes <= fixture->options.max_bytes);
	assert_int_equal(symbol_cache_counts(cache).n_open, 2);
	cache = symbol_cache_free(cache);

	/* No room: the newest table stays, and a table in use is not closed. */
	fixture->options.max_bytes = 1;
	cache = new_cache(fixture);
	assert_ok(symbol_cache_borrow(cache, &fixture->ids[0], PATIENCE_NS, &loan));
	assert_holds(cache, &fixture->ids[1], "f1");
	assert_int_equal(count_files(fixture, NULL), 1);
	assert_string_equal(first_name(loan.file), "f0");
	symbol_cache_give_back(cache, &loan);
	cache = symbol_cache_free(cache);
	/* No table was compiled again. */
	for (int i = 0; i < 3; i++)
		assert_int_equal(opened(fixture, i), 1);
}

static void stored_tables_keep_their_quota(void **state)
{
	struct fixture *fixture = *state;
	struct symbol_cache *cache = new_cache(fixture);
	uint64_t one;

	assert_holds(cache, &fixture->ids[0], "f0");
	one = symbol_cache_counts(cache).stored_bytes;
	cache = symbol_cache_free(cache);
	run_sql(fixture, "UPDATE symbol_table SET used_ns = 1");

	fixture->options.stored_bytes = 2 * one + one / 2;
	cache = new_cache(fixture);
	assert_holds(cache, &fixture->ids[1], "f1");
	assert_holds(cache, &fixture->ids[2], "f2");
	assert_true(symbol_cache_counts(cache).stored_bytes <= fixture->options.stored_bytes);
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_int_equal(opened(fixture, 0), 2);
	cache = symbol_cache_free(cache);
}

static void an_executable_without_symbols_is_compiled(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);

	fake_debuginfo_describe(
		&fixture->debuginfo, &fixture->ids[0],
		&(struct fake_debuginfo_file){ .has_code = true, .without_names = true });
	assert_holds(cache, &fixture->ids[0], "f0");
}

static void an_alternative_file_uploaded_later_is_used(void **state)
{
	static const char link[] = "/usr/lib/debug/.dwz/shared.debug\0nobody";
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	struct fake_debuginfo_file description = { .has_code = true };
	scoped_free char *path = write_file_in(fixture->folder, "altlink", link, sizeof(link) - 1);
	struct table_status status;

	(void)snprintf(description.alt_link_path, sizeof(description.alt_link_path), "%s", path);
	fake_debuginfo_describe(&fixture->debuginfo, &fixture->ids[0], &description);
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_ok(symbol_cache_status(cache, &fixture->ids[0], &status));
	assert_true(executable_id_equal(&status.row.alt_id, &fixture->unknown));
	assert_true(executable_id_equal(&fixture->debuginfo.last_wanted, &fixture->unknown));

	fake_debuginfo_put(&fixture->debuginfo, &fixture->unknown, fixture->paths[1]);
	fake_debuginfo_describe(&fixture->debuginfo, &fixture->unknown,
				&(struct fake_debuginfo_file){});
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_int_equal(opened(fixture, 0), 2);
	assert_int_equal(fake_debuginfo_opened(&fixture->debuginfo, &fixture->unknown), 1);
	assert_holds(cache, &fixture->ids[0], "f0");
	assert_int_equal(opened(fixture, 0), 2);
}

static const char split_c[] = "volatile int sink;\n"
			      "static inline int twice(int n) { return sink * n; }\n"
			      "int work(int n) { return twice(n) + 1; }\n";

/* Returns whether the table has an inlined function @name. */
static bool has_inlined(struct symbol_cache *cache, const struct executable_id *id,
			const char *name)
{
	struct table_loan loan;
	bool found = false;

	assert_ok(symbol_cache_borrow(cache, id, PATIENCE_NS, &loan));
	assert_int_equal(loan.state, TABLE_READY);
	for (uint32_t i = 0; !found && i < symbol_file_info(loan.file)->n_ranges; i++) {
		struct symbol_range range;
		struct symbol_frame frame;

		symbol_file_range(loan.file, i, &range);
		if (range.location != SYMBOL_NO_LOCATION &&
		    symbol_file_frame(loan.file, range.location, &frame) != SYMBOL_NO_LOCATION)
			found = frame.function && strcmp(frame.function, name) == 0;
	}
	symbol_cache_give_back(cache, &loan);
	return found;
}

static void split_dwarf_uploaded_later_is_used(void **state)
{
	struct fixture *fixture = *state;
	scoped(symbol_cache_freep) struct symbol_cache *cache = new_cache(fixture);
	scoped_free char *source =
		write_file_in(fixture->folder, "split.c", split_c, sizeof(split_c) - 1);
	scoped_free char *program = path_in(fixture->folder, "split.so");
	scoped_free char *split = path_in(fixture->folder, "split.dwp");
	struct table_status status;

	assert_non_null(source);
	run_command("cd %s && gcc -O2 -g -gsplit-dwarf -fPIC -c split.c -o split.o && "
		    "gcc -shared -nostdlib split.o -o split.so && "
		    "llvm-dwp -e split.so -o split.dwp 2>&1",
		    (char *)fixture->folder);
	fake_debuginfo_put(&fixture->debuginfo, &fixture->ids[0], program);
	assert_false(has_inlined(cache, &fixture->ids[0], "twice"));
	assert_ok(symbol_cache_status(cache, &fixture->ids[0], &status));
	assert_non_null(strstr(status.row.why, "upload its .dwp"));

	fake_debuginfo_put_split(&fixture->debuginfo, &fixture->ids[0], split);
	assert_true(has_inlined(cache, &fixture->ids[0], "twice"));
	assert_ok(symbol_cache_status(cache, &fixture->ids[0], &status));
	assert_string_equal(status.row.why, "");
	assert_int_equal(opened(fixture, 0), 3);
	assert_true(has_inlined(cache, &fixture->ids[0], "twice"));
	assert_int_equal(opened(fixture, 0), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FILES(a_table_is_compiled_once),
		WITH_FILES(a_restart_compiles_nothing),
		WITH_FILES(a_table_outlives_its_debuginfo_but_not_its_removal),
		WITH_FILES(a_missing_file_is_looked_up_once_per_generation),
		WITH_FILES(a_new_file_replaces_the_table_and_an_upload_for_another_does_not),
		WITH_FILES(the_least_recently_used_table_is_evicted_and_the_newest_stays),
		WITH_FILES(stored_tables_keep_their_quota),
		WITH_FILES(an_executable_without_symbols_is_compiled),
		WITH_FILES(an_alternative_file_uploaded_later_is_used),
		WITH_FILES(split_dwarf_uploaded_later_is_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
