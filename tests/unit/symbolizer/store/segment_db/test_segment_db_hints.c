/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups for messages: the names of services and labels, and the time of the last sample. */

#include "tests/unit/symbolizer/store/segment_db/segment_db_fixture.h"

#include "symbolizer/store/segment_db/hints.h"

/* "web" and "db" on the first day, "batch" (without stacks) on the second, "secret" of a tenant. */
static void write_batches(struct segment_db *db)
{
	static const struct batch_process without_stacks = { .without_stacks = true,
							     .executable_path = "" };
	struct batch_builder *builder = batch_of(1, 1, NOON, true);

	batch_builder_process(builder, 3, 4713, 99, "unused", 1);
	batch_builder_label(builder, "of_unused", "1");
	batch_builder_process(builder, 1, 4711, 99, "web", 1);
	batch_builder_label(builder, "zone", "a");
	batch_builder_label(builder, "app", "shop");
	assert_int_equal(write_batch(db, builder), STORE_STORED);
	builder = batch_builder_new(2, EPOCH, 1, NOON + ONE_DAY, NOON + ONE_DAY + SECOND);
	batch_builder_use_format_2(builder);
	batch_builder_process(builder, 1, 1, 1, "batch", 0);
	batch_builder_process_details(builder, &without_stacks);
	batch_builder_label(builder, "zone", "b");
	batch_builder_series(builder, 1, 1, 1, "t", EVENT_ON_CPU, PERIOD_NS);
	batch_builder_series_label(builder, "class", "high");
	batch_builder_row(builder, 1, 0, NOON + ONE_DAY, 1);
	assert_int_equal(write_batch(db, builder), STORE_STORED);
	builder = batch_builder_new(2, EPOCH, 1, NOON, NOON + SECOND);
	batch_builder_process(builder, 1, 1, 1, "secret", 0);
	batch_builder_label(builder, "clearance", "high");
	batch_builder_series(builder, 1, 1, 1, "t", EVENT_ON_CPU, PERIOD_NS);
	batch_builder_row(builder, 1, 0, NOON, 1);
	assert_int_equal(write_batch_in(db, "other", builder), STORE_STORED);
}

static void assert_services(struct segment_db *db, const char *tenant, size_t max,
			    const char *const *expected, size_t n_expected)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_service *services;
	size_t count;

	assert_ok(arena_new(MIB, &arena));
	assert_ok(segment_db_list_services(db, tenant, max, arena, &services, &count));
	assert_int_equal(count, n_expected);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(services[i].name, expected[i]);
		assert_int_equal(services[i].without_stacks, strcmp(expected[i], "batch") == 0);
	}
}

static void services_are_listed_by_tenant(void **state)
{
	static const char *const all[] = { "batch", "db", "web" }, *const secret[] = { "secret" };
	struct segment_db *db = open_db(*state);

	write_batches(db);
	for (int number = 0; number < N_STEPS; number++) {
		db = step(db, *state, number);
		assert_services(db, "default", 10, all, 3);
		assert_services(db, "default", 3, all, 3);
		assert_services(db, "default", 2, all, 2);
		assert_services(db, "default", 0, NULL, 0);
		assert_services(db, "other", 10, secret, 1);
		assert_services(db, "nobody", 10, NULL, 0);
	}
	(void)segment_db_free(db);
}

static void the_last_sample_is_found_by_service_and_event(void **state)
{
	static const struct {
		struct segment_db_names names;
		uint64_t last_ns; /* 0: none */
	} cases[] = {
		{ { "default", "web", "on-cpu" }, NOON - SECOND },
		{ { "default", "web", NULL }, NOON - SECOND },
		{ { "default", "web", "off-cpu" }, 0 },
		{ { "default", "db", "off-cpu" }, NOON - SECOND },
		{ { "default", "nobody", "on-cpu" }, 0 },
		{ { "default", NULL, "on-cpu" }, NOON + ONE_DAY },
		{ { "default", NULL, "off-cpu" }, NOON - SECOND },
		{ { "default", NULL, "mem-alloc" }, 0 },
		{ { "default", NULL, NULL }, NOON + ONE_DAY },
		{ { "other", NULL, "on-cpu" }, NOON },
		{ { "other", "web", "on-cpu" }, 0 },
		{ { "nobody", NULL, NULL }, 0 },
	};
	struct segment_db *db = open_db(*state);

	write_batches(db);
	for (int number = 0; number < N_STEPS; number++) {
		db = step(db, *state, number);
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			uint64_t slot = 0;

			assert_int_equal(segment_db_last_slot(db, &cases[i].names, &slot),
					 cases[i].last_ns != 0);
			assert_int_equal(slot, cases[i].last_ns / SLOT_NS);
		}
	}
	(void)segment_db_free(db);
}

static void the_last_sample_may_be_in_memory_or_in_a_file(void **state)
{
	static const struct segment_db_names names = { "default", "web", "on-cpu" };
	struct segment_db *db = open_db(*state);
	uint64_t slot;

	assert_int_equal(write_batch(db, batch_of(1, 1, NOON, true)), STORE_STORED);
	assert_ok(segment_db_flush(db, NOON));
	assert_int_equal(write_batch(db, batch_of(1, 2, NOON + 60 * SECOND, false)), STORE_STORED);
	assert_int_equal(segment_db_last_slot(db, &names, &slot), 1);
	assert_int_equal(slot, (NOON + 59 * SECOND) / SLOT_NS);
	assert_ok(segment_db_flush(db, NOON));
	/* Late batches of the same day and of an earlier one. */
	assert_int_equal(write_batch(db, batch_of(1, 3, NOON - HOUR, false)), STORE_STORED);
	assert_int_equal(segment_db_last_slot(db, &names, &slot), 1);
	assert_int_equal(slot, (NOON + 59 * SECOND) / SLOT_NS);
	assert_ok(segment_db_flush(db, NOON));
	assert_int_equal(write_batch(db, batch_of(1, 4, NOON - ONE_DAY, false)), STORE_STORED);
	assert_int_equal(segment_db_last_slot(db, &names, &slot), 1);
	assert_int_equal(slot, (NOON + 59 * SECOND) / SLOT_NS);
	(void)segment_db_free(db);
}

static void assert_labels(struct segment_db *db, const struct segment_db_label_query *query,
			  const char *const *expected, size_t n_expected)
{
	scoped(arena_freep) struct arena *arena = NULL;
	const char **names;
	size_t count;

	assert_ok(arena_new(MIB, &arena));
	assert_ok(segment_db_list_label_names(db, query, arena, &names, &count));
	assert_int_equal(count, n_expected);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(names[i], expected[i]);
}

/* Labels of hosts are not among them. */
static void names_of_labels_are_listed_by_tenant(void **state)
{
	static const char *const all[] = { "app", "class", "zone" }, *const other[] = {
		"clearance"
	};
	struct segment_db *db = open_db(*state);

	write_batches(db);
	for (int number = 0; number < N_STEPS; number++) {
		db = step(db, *state, number);
		assert_labels(db, &(struct segment_db_label_query){ "default", "", 10 }, all, 3);
		assert_labels(db, &(struct segment_db_label_query){ "default", "", 2 }, all, 2);
		assert_labels(db, &(struct segment_db_label_query){ "default", "class", 10 },
			      all + 1, 2);
		assert_labels(db, &(struct segment_db_label_query){ "default", "classes", 1 },
			      all + 2, 1);
		assert_labels(db, &(struct segment_db_label_query){ "default", "zonf", 10 }, NULL,
			      0);
		assert_labels(db, &(struct segment_db_label_query){ "other", "", 10 }, other, 1);
	}
	assert_int_equal(query_number(*state, DAY, "SELECT count(*) FROM label_name"), 3);
	(void)segment_db_free(db);
}

static void removed_days_and_tenants_have_no_names(void **state)
{
	static const char *const batch[] = { "batch" }, *const labels[] = { "class", "zone" };
	const struct segment_db_label_query query = { "default", "", 10 };
	struct segment_db *db = open_db(*state);
	size_t n_removed;

	write_batches(db);
	assert_ok(segment_db_flush(db, NOON));
	assert_ok(segment_db_prune(db, NOON + ONE_DAY, &n_removed));
	assert_services(db, "default", 10, batch, 1);
	assert_labels(db, &query, labels, 2);
	assert_ok(segment_db_delete_tenant(db, "default", NOON));
	assert_services(db, "default", 10, NULL, 0);
	assert_labels(db, &query, NULL, 0);
	(void)segment_db_free(db);
}

/* Between the commits of the day file and of the inbox. */
static void a_flush_that_fails_hides_and_doubles_no_name(void **state)
{
	static const char *const all[] = { "batch", "db", "web" };
	static const char *const labels[] = { "app", "class", "zone" };
	const struct segment_db_label_query query = { "default", "", 10 };
	static const struct segment_db_names names = { "default", NULL, NULL };
	struct segment_db *db = open_db(*state);
	uint64_t slot;

	write_batches(db);
	run_sql(*state, "inbox.db",
		"CREATE TRIGGER fail BEFORE UPDATE ON meta BEGIN SELECT RAISE(ABORT, 'test'); END");
	assert_errno(segment_db_flush(db, NOON), -EEXIST);
	assert_services(db, "default", 10, all, 3);
	assert_labels(db, &query, labels, 3);
	assert_int_equal(segment_db_last_slot(db, &names, &slot), 1);
	assert_int_equal(slot, (NOON + ONE_DAY) / SLOT_NS);
	(void)segment_db_free(db);
}

static void the_check_compares_whether_processes_have_stacks(void **state)
{
	struct segment_db *db = open_db(*state);
	size_t n_faults;

	write_batches(db);
	assert_ok(segment_db_flush(db, NOON));
	assert_ok(segment_db_check(db, &n_faults));
	assert_int_equal(n_faults, 0);
	run_sql(*state, DAY, "UPDATE segment SET without_stacks = 1 WHERE service = 'web'");
	assert_ok(segment_db_check(db, &n_faults));
	assert_int_equal(n_faults, 1);
	(void)segment_db_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(services_are_listed_by_tenant),
		in_folder(the_last_sample_is_found_by_service_and_event),
		in_folder(the_last_sample_may_be_in_memory_or_in_a_file),
		in_folder(names_of_labels_are_listed_by_tenant),
		in_folder(removed_days_and_tenants_have_no_names),
		in_folder(a_flush_that_fails_hides_and_doubles_no_name),
		in_folder(the_check_compares_whether_processes_have_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
