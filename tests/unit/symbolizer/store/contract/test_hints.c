/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups for messages: the names of services and labels, and the time of the last sample.
 */

#include "tests/unit/symbolizer/store/contract/contract_fixture.h"

#define DAY (UINT64_C(24 * 3600) * NSEC_PER_SEC)

static void write_two_tenants(struct contract *contract)
{
	struct batch_builder *builder = batch_at(1, NOON, true);

	batch_builder_process(builder, 2, 4712, 99, "worker", 1);
	batch_builder_label(builder, "zone", "a");
	batch_builder_series(builder, 2, 2, 4712, "main", EVENT_OFF_CPU, 0);
	batch_builder_row(builder, 2, 1, NOON - NSEC_PER_SEC, 5);
	assert_int_equal(contract_write(contract, builder), STORE_STORED);
	assert_int_equal(contract_write(contract, batch_at(2, NOON + DAY, false)), STORE_STORED);
	builder = batch_builder_new(2, EPOCH, 1, NOON, NOON + NSEC_PER_SEC);
	batch_builder_process(builder, 1, 1, 1, "secret", 0);
	batch_builder_label(builder, "clearance", "high");
	batch_builder_series(builder, 1, 1, 1, "secret", EVENT_ON_GPU, 0);
	batch_builder_row(builder, 1, 0, NOON, 1);
	assert_int_equal(contract_write_in(contract, "other", builder, NULL), STORE_STORED);
}

static void services_and_labels_are_listed_by_tenant(void **state)
{
	struct contract *contract = *state;
	scoped(store_view_closep) struct store_view *view = NULL;
	scoped(store_view_closep) struct store_view *other = NULL;
	struct store_service *services;
	const char **names;
	size_t count;

	write_two_tenants(contract);
	view = open_view(contract->store, "default");
	other = open_view(contract->store, "other");
	assert_ok(store_list_services(view, 10, contract->arena, &services, &count));
	assert_int_equal(count, 2);
	assert_string_equal(services[0].name, "server");
	assert_string_equal(services[1].name, "worker");
	assert_false(services[0].without_stacks);
	assert_ok(store_list_services(view, 1, contract->arena, &services, &count));
	assert_int_equal(count, 1);
	assert_ok(store_list_services(other, 10, contract->arena, &services, &count));
	assert_int_equal(count, 1);
	assert_string_equal(services[0].name, "secret");

	assert_ok(store_list_label_names(view, "", 10, contract->arena, &names, &count));
	assert_int_equal(count, 2);
	assert_string_equal(names[0], "service");
	assert_string_equal(names[1], "zone");
	assert_ok(store_list_label_names(view, "t", 1, contract->arena, &names, &count));
	assert_int_equal(count, 1);
	assert_string_equal(names[0], "zone");
	assert_ok(store_list_label_names(view, "clearance", 1, contract->arena, &names, &count));
	assert_string_equal(names[0], "service");
}

/* A second host with two processes "server", each with two threads, and one "other". */
static struct batch_builder *batch_of_second_host(void)
{
	struct batch_builder *builder = batch_builder_new(3, EPOCH, 1, NOON, NOON + NSEC_PER_SEC);

	for (uint32_t i = 1; i <= 3; i++)
		batch_builder_process(builder, i, 100 * i, 1, i == 3 ? "other" : "server", 0);
	for (uint32_t i = 0; i < 6; i++) {
		batch_builder_series(builder, i + 1, i / 2 + 1, 100 * (i / 2 + 1) + i % 2, "t",
				     EVENT_ON_CPU, NSEC_PER_MSEC);
		batch_builder_row(builder, i + 1, 0, NOON + i * 100 * NSEC_PER_MSEC, 1);
	}
	return builder;
}

static void check_services(struct contract *contract, const char *tenant, uint64_t from_ns,
			   const struct store_active_service *expected, size_t n_expected)
{
	const struct store_series_query query = { .from_slot = from_ns / SLOT_NS };
	scoped(store_view_closep) struct store_view *view = open_view(contract->store, tenant);
	scoped(arena_freep) struct arena *arena = NULL;
	struct store_active_service *services;
	size_t count;

	assert_ok(arena_new(MIB, &arena));
	assert_ok(store_active_services(view, &query, arena, &services, &count));
	assert_int_equal(count, n_expected);
	for (size_t i = 0; i < count; i++) {
		size_t k = 0;

		while (k < n_expected && (strcmp(expected[k].name, services[i].name) != 0 ||
					  expected[k].type != services[i].type))
			k++;
		assert_true(k < n_expected);
		assert_int_equal(services[i].first_slot, expected[k].first_slot);
		assert_int_equal(services[i].last_slot, expected[k].last_slot);
		assert_int_equal(services[i].n_hosts, expected[k].n_hosts);
		assert_int_equal(services[i].n_processes, expected[k].n_processes);
		assert_string_equal(services[i].event->name, event_type_name(services[i].type));
	}
}

#define SLOT_AT(wall_ns) ((wall_ns) / SLOT_NS)

static void hosts_and_processes_of_active_services_are_counted(void **state)
{
	static const struct store_active_service all[] = {
		{ "server", EVENT_ON_CPU, SLOT_AT(NOON - 4 * NSEC_PER_SEC),
		  SLOT_AT(NOON + DAY - NSEC_PER_SEC), 2, 3, NULL },
		{ "worker", EVENT_OFF_CPU, SLOT_AT(NOON - NSEC_PER_SEC),
		  SLOT_AT(NOON - NSEC_PER_SEC), 1, 1, NULL },
		{ "other", EVENT_ON_CPU, SLOT_AT(NOON + 400 * NSEC_PER_MSEC),
		  SLOT_AT(NOON + 500 * NSEC_PER_MSEC), 1, 1, NULL },
	};
	static const struct store_active_service second_day[] = {
		{ "server", EVENT_ON_CPU, SLOT_AT(NOON + DAY - 4 * NSEC_PER_SEC),
		  SLOT_AT(NOON + DAY - NSEC_PER_SEC), 1, 1, NULL },
	};
	static const struct store_active_service other[] = {
		{ "secret", EVENT_ON_GPU, SLOT_AT(NOON), SLOT_AT(NOON), 1, 1, NULL },
	};
	struct contract *contract = *state;

	write_two_tenants(contract);
	assert_int_equal(contract_write(contract, batch_of_second_host()), STORE_STORED);
	check_services(contract, "default", 0, all, ARRAY_SIZE(all));
	check_services(contract, "default", NOON + DAY / 2, second_day, ARRAY_SIZE(second_day));
	check_services(contract, "default", NOON + 2 * DAY, NULL, 0);
	check_services(contract, "other", 0, other, ARRAY_SIZE(other));
}

static void the_last_sample_is_found_by_service_and_type(void **state)
{
	static const struct {
		const char *tenant, *service;
		enum event_type type;
		uint64_t last_ns; /* 0: none */
	} cases[] = {
		{ "default", "server", EVENT_ON_CPU, NOON + DAY - NSEC_PER_SEC },
		{ "default", "worker", EVENT_OFF_CPU, NOON - NSEC_PER_SEC },
		{ "default", "worker", EVENT_ON_CPU, 0 },
		{ "default", "nobody", EVENT_ON_CPU, 0 },
		{ "default", NULL, EVENT_ON_CPU, NOON + DAY - NSEC_PER_SEC },
		{ "default", NULL, EVENT_OFF_CPU, NOON - NSEC_PER_SEC },
		{ "other", NULL, EVENT_ON_CPU, 0 },
		{ "other", "server", EVENT_ON_CPU, 0 },
	};
	struct contract *contract = *state;

	write_two_tenants(contract);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scoped(store_view_closep) struct store_view *view =
			open_view(contract->store, cases[i].tenant);
		uint64_t slot = 0;

		assert_int_equal(store_last_slot(view, cases[i].service, cases[i].type, &slot),
				 cases[i].last_ns != 0);
		assert_int_equal(slot, cases[i].last_ns / SLOT_NS);
	}
}

static void batches_older_than_the_retention_are_counted_and_refused(void **state)
{
	struct contract *contract = *state;
	struct store_stats stats;

	store_set_retention(contract->store, 2 * DAY);
	/* A day is kept until all of it is older than the retention. */
	assert_int_equal(contract_write(contract, batch_at(1, NOON - 2 * DAY - NSEC_PER_SEC, true)),
			 STORE_STORED);
	assert_int_equal(contract_write(contract, batch_at(2, NOON - 3 * DAY, true)),
			 STORE_TOO_OLD);
	assert_ok(store_stats(contract->store, &stats));
	assert_int_equal(stats.n_too_old_batches, 1);
	assert_int_equal(stats.n_batches, 1);
	store_set_retention(contract->store, 0);
	assert_int_equal(contract_write(contract, batch_at(2, NOON - 3 * DAY, true)), STORE_STORED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_each_engine(services_and_labels_are_listed_by_tenant),
		on_each_engine(hosts_and_processes_of_active_services_are_counted),
		on_each_engine(the_last_sample_is_found_by_service_and_type),
		on_each_engine(batches_older_than_the_retention_are_counted_and_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
