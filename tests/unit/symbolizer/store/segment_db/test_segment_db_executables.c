/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups of executables by identity, and of event types by name. */

#include "tests/unit/symbolizer/store/segment_db/segment_db_fixture.h"

#include "symbolizer/store/segment_db/event.h"
#include "symbolizer/store/segment_db/executables.h"

/* Build-IDs. */
enum { SERVER = 1, KERNEL = 2, BATCH_JOB = 3, SECRET = 4, UNKNOWN = 9 };

static const struct batch_event_type gpu = { "gpu-time", "ns", EVENT_VALUE_SUM };

/*
 * The first day: the fixture's "server", which is mapped, and the kernel, which is in stacks only.
 * The second: "job", and an event type that is not in the table. Another tenant has its own.
 */
static void write_batches(struct segment_db *db)
{
	const struct executable_id kernel = test_build_id(KERNEL), job = test_build_id(BATCH_JOB),
				   secret = test_build_id(SECRET);
	const struct batch_frame frame = { FRAME_NATIVE, 2, 0x10 };
	const struct batch_code_object code = {
		.number = 1, .language = "python", .function = "f", .qualified_name = "", .file = ""
	};
	struct batch_builder *builder = batch_of(1, 1, NOON, true);

	batch_builder_executable(builder, 2, &kernel, "vmlinux", ROLE_KERNEL);
	batch_builder_executable(builder, 3, NULL, "anonymous", ROLE_USER);
	batch_builder_path(builder, 3, "/deleted");
	batch_builder_stack(builder, 3, STACK_CUT_NONE, &frame, 1);
	batch_builder_row(builder, 1, 3, NOON - SECOND, 1);
	assert_int_equal(write_batch(db, builder), STORE_STORED);

	builder = batch_builder_new(2, EPOCH, 1, NOON + ONE_DAY, NOON + ONE_DAY + SECOND);
	batch_builder_use_format_2(builder);
	batch_builder_executable(builder, 1, &job, "job", ROLE_USER);
	batch_builder_code_object(builder, &code);
	batch_builder_process(builder, 1, 1, 1, "batch", 1);
	batch_builder_path(builder, 1, "/opt/job");
	batch_builder_described_series(builder, 1, 1, 1, &gpu);
	batch_builder_row(builder, 1, 0, NOON + ONE_DAY, 1);
	assert_int_equal(write_batch(db, builder), STORE_STORED);

	builder = batch_builder_new(2, EPOCH, 1, NOON, NOON + SECOND);
	batch_builder_executable(builder, 1, &secret, "secret", ROLE_USER);
	batch_builder_process(builder, 1, 1, 1, "secret", 1);
	batch_builder_series(builder, 1, 1, 1, "t", EVENT_ON_CPU, PERIOD_NS);
	batch_builder_row(builder, 1, 0, NOON, 1);
	assert_int_equal(write_batch_in(db, "other", builder), STORE_STORED);
}

struct expected {
	const char *name; /* NULL: unknown */
	enum executable_role role;
	const char *path;
};

static void assert_described(const struct segment_db_executable *found,
			     const struct expected *expected)
{
	assert_string_equal(found->name, expected->name);
	assert_int_equal(found->role, expected->role);
	if (expected->path)
		assert_string_equal(found->path, expected->path);
	else
		assert_null(found->path);
}

static void assert_executable(struct segment_db *db, const char *tenant, uint8_t seed,
			      struct expected expected)
{
	const struct executable_id identity = test_build_id(seed);
	scoped(arena_freep) struct arena *arena = NULL;
	struct segment_db_executable found;
	int r;

	assert_ok(arena_new(MIB, &arena));
	r = segment_db_find_executable(db, tenant, &identity, arena, &found);
	assert_int_equal(r, expected.name != NULL);
	if (r == 0)
		return;
	assert_true(executable_id_equal(&found.identity, &identity));
	assert_described(&found, &expected);
}

static void executables_of_any_day_are_found_by_identity(void **state)
{
	struct segment_db *db = open_db(*state);

	write_batches(db);
	for (int number = 0; number < N_STEPS; number++) {
		db = step(db, *state, number);
		assert_executable(db, "default", SERVER,
				  (struct expected){ "server", ROLE_USER, "/usr/bin/server" });
		assert_executable(db, "default", KERNEL,
				  (struct expected){ "vmlinux", ROLE_KERNEL, NULL });
		assert_executable(db, "default", BATCH_JOB,
				  (struct expected){ "job", ROLE_USER, "/opt/job" });
		assert_executable(db, "default", SECRET, (struct expected){});
		assert_executable(db, "default", UNKNOWN, (struct expected){});
		assert_executable(db, "other", SECRET,
				  (struct expected){ "secret", ROLE_USER, NULL });
		assert_executable(db, "other", SERVER, (struct expected){});
		assert_executable(db, "nobody", SERVER, (struct expected){});
	}
	/* Neither code objects nor executables without an identity. */
	assert_int_equal(query_number(*state, DAY, "SELECT count(*) FROM executable"), 3);
	(void)segment_db_free(db);
}

static void an_identity_of_no_kind_is_not_found(void **state)
{
	const struct executable_id none = {};
	scoped(arena_freep) struct arena *arena = NULL;
	struct segment_db *db = open_db(*state);
	struct segment_db_executable found;

	assert_ok(arena_new(MIB, &arena));
	write_batches(db);
	for (int number = 0; number < 2; number++) {
		db = step(db, *state, number);
		assert_int_equal(segment_db_find_executable(db, "default", &none, arena, &found),
				 0);
	}
	(void)segment_db_free(db);
}

struct visited {
	struct segment_db *db;
	size_t count;
	bool seen[UNKNOWN + 1]; /* by seed */
	int result;
};

static int visit(void *arg, const struct segment_db_executable *executable)
{
	static const struct expected expected[] = {
		[SERVER] = { "server", ROLE_USER, "/usr/bin/server" },
		[KERNEL] = { "vmlinux", ROLE_KERNEL, NULL },
		[BATCH_JOB] = { "job", ROLE_USER, "/opt/job" },
	};
	struct visited *visited = arg;
	const uint8_t seed = executable->identity.bytes[0];

	assert_true(seed >= SERVER && seed <= BATCH_JOB);
	assert_false(visited->seen[seed]);
	visited->seen[seed] = true;
	visited->count++;
	assert_described(executable, &expected[seed]);
	/* No lock is held, and no statement is shared. */
	assert_executable(visited->db, "default", seed, expected[seed]);
	return visited->result;
}

static void all_executables_of_a_tenant_are_visited_once(void **state)
{
	struct segment_db *db = open_db(*state);

	write_batches(db);
	for (int number = 0; number < N_STEPS; number++) {
		struct visited visited = {};

		db = step(db, *state, number);
		visited.db = db;
		assert_ok(segment_db_visit_executables(db, "default", visit, &visited));
		assert_int_equal(visited.count, 3);
		visited = (struct visited){ .db = db };
		assert_ok(segment_db_visit_executables(db, "nobody", visit, &visited));
		assert_int_equal(visited.count, 0);
		visited.result = -ECANCELED;
		assert_errno(segment_db_visit_executables(db, "default", visit, &visited),
			     -ECANCELED);
		assert_int_equal(visited.count, 1);
	}
	(void)segment_db_free(db);
}

/* A batch in which the executable SERVER has this name, and path if there is one. */
static struct batch_builder *described(uint8_t agent, const char *name, const char *path)
{
	const struct executable_id id = test_build_id(SERVER);
	struct batch_builder *builder = batch_builder_new(agent, EPOCH, 1, NOON - SECOND, NOON);

	batch_builder_executable(builder, 1, &id, name, ROLE_USER);
	batch_builder_process(builder, 1, 4711, 99, "web", 1);
	if (path)
		batch_builder_path(builder, 1, path);
	batch_builder_series(builder, 1, 1, 4711, "main", EVENT_ON_CPU, PERIOD_NS);
	batch_builder_row(builder, 1, 0, NOON - SECOND, 1);
	return builder;
}

static void texts_that_are_not_known_are_filled_later(void **state)
{
	static const struct {
		const char *name, *path;
		struct expected expected;
	} steps[] = {
		{ "", NULL, { "", ROLE_USER, NULL } },
		{ "a", NULL, { "a", ROLE_USER, NULL } },
		{ "", "/a", { "a", ROLE_USER, "/a" } },
		{ "", NULL, { "a", ROLE_USER, "/a" } },
	};
	struct segment_db *db = open_db(*state);

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		assert_int_equal(
			write_batch(db, described((uint8_t)(i + 1), steps[i].name, steps[i].path)),
			STORE_STORED);
		assert_executable(db, "default", SERVER, steps[i].expected);
		assert_ok(segment_db_flush(db, NOON));
		assert_executable(db, "default", SERVER, steps[i].expected);
	}
	/* A description in memory is newer, and what it lacks is in the file. */
	assert_int_equal(write_batch(db, described(8, "b", NULL)), STORE_STORED);
	assert_executable(db, "default", SERVER, (struct expected){ "b", ROLE_USER, "/a" });
	/* Two descriptions of one segment. */
	assert_int_equal(write_batch(db, described(9, "b", "/b")), STORE_STORED);
	assert_executable(db, "default", SERVER, (struct expected){ "b", ROLE_USER, "/b" });
	(void)segment_db_free(db);
}

static void removed_days_and_tenants_have_no_executables(void **state)
{
	struct segment_db *db = open_db(*state);
	size_t n_removed;

	write_batches(db);
	assert_ok(segment_db_flush(db, NOON));
	assert_ok(segment_db_prune(db, NOON + ONE_DAY, &n_removed));
	assert_executable(db, "default", SERVER, (struct expected){});
	assert_executable(db, "default", BATCH_JOB,
			  (struct expected){ "job", ROLE_USER, "/opt/job" });
	assert_ok(segment_db_delete_tenant(db, "default", NOON));
	assert_executable(db, "default", BATCH_JOB, (struct expected){});
	(void)segment_db_free(db);
}

/* Between the commits of the day file and of the inbox. */
static void a_flush_that_fails_hides_and_doubles_no_executable(void **state)
{
	struct segment_db *db = open_db(*state);
	struct visited visited = { .db = db };

	write_batches(db);
	run_sql(*state, "inbox.db",
		"CREATE TRIGGER fail BEFORE UPDATE ON meta BEGIN SELECT RAISE(ABORT, 'test'); END");
	assert_errno(segment_db_flush(db, NOON), -EEXIST);
	assert_ok(segment_db_visit_executables(db, "default", visit, &visited));
	assert_int_equal(visited.count, 3);
	(void)segment_db_free(db);
}

static void the_check_finds_damaged_descriptions(void **state)
{
	static const char *const faults[] = {
		"UPDATE executable SET class = 128 WHERE name = 'server'",
		"UPDATE executable SET class = 1, id = zeroblob(97) WHERE name = 'server'",
		"UPDATE executable SET id = x'00', role = 4 WHERE name = 'server'",
	};
	struct segment_db *db = open_db(*state);
	size_t n_faults;

	write_batches(db);
	assert_ok(segment_db_flush(db, NOON));
	assert_ok(segment_db_check(db, &n_faults));
	assert_int_equal(n_faults, 0);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct visited visited = { .db = db };

		run_sql(*state, DAY, faults[i]);
		assert_ok(segment_db_check(db, &n_faults));
		assert_int_equal(n_faults, 1);
		/* Identities that are not valid are skipped. */
		assert_ok(segment_db_visit_executables(db, "default", visit, &visited));
		assert_int_equal(visited.count, 2);
	}
	(void)segment_db_free(db);
}

static void event_types_are_found_by_name(void **state)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct segment_db *db = open_db(*state);
	struct event_type_info info;

	assert_ok(arena_new(MIB, &arena));
	write_batches(db);
	for (int number = 0; number < N_STEPS; number++) {
		db = step(db, *state, number);
		assert_int_equal(segment_db_find_event(db, "default", "gpu-time", arena, &info), 1);
		assert_string_equal(info.name, "gpu-time");
		assert_string_equal(info.unit, "ns");
		assert_int_equal(info.kind, EVENT_VALUE_SUM);
		assert_int_equal(info.type, EVENT_NONE);
		assert_int_equal(segment_db_find_event(db, "default", "gpu", arena, &info), 0);
		assert_int_equal(segment_db_find_event(db, "other", "gpu-time", arena, &info), 0);
	}
	(void)segment_db_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(executables_of_any_day_are_found_by_identity),
		in_folder(an_identity_of_no_kind_is_not_found),
		in_folder(all_executables_of_a_tenant_are_visited_once),
		in_folder(texts_that_are_not_known_are_filled_later),
		in_folder(removed_days_and_tenants_have_no_executables),
		in_folder(a_flush_that_fails_hides_and_doubles_no_executable),
		in_folder(the_check_finds_damaged_descriptions),
		in_folder(event_types_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
