/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/unit.h"

#include <string.h>

#include "symbolizer/query/fleet.h"

/* web-1 has two boots; db-1 has sent nothing in the range. */
static const struct store_host hosts[] = {
	{ .id = 1, .name = "web-1", .agent_id = "first-boot", .n_cpus = 4, .last_seen_ns = 1000 },
	{ .id = 2, .name = "db-1", .agent_id = "db", .n_cpus = 2, .last_seen_ns = 100 },
	{ .id = 3, .name = "web-1", .agent_id = "second-boot", .n_cpus = 8, .last_seen_ns = 2000 },
};

static int list_hosts(struct store_view *view, struct arena *arena, struct store_host **ret_hosts,
		      size_t *ret_count)
{
	(void)view;
	*ret_hosts = arena_copy(arena, hosts, sizeof(hosts));
	*ret_count = ARRAY_SIZE(hosts);
	return *ret_hosts ? 0 : -ENOMEM;
}

/* Each boot of web-1 covers 1,000 slots. */
static int scan_coverage(struct store_view *view, const uint32_t *ids, size_t count,
			 uint64_t from_slot, uint64_t to_slot, store_coverage_function function,
			 void *arg)
{
	int r = 0;

	(void)view;
	(void)from_slot;
	(void)to_slot;
	for (size_t i = 0; r == 0 && i < count; i++)
		if (ids[i] != 2)
			r = function(arg, ids[i], ids[i] * 10000, ids[i] * 10000 + 999);
	return r;
}

static int scan_counters(struct store_view *view, const struct store_counter_query *query,
			 store_counters_function function, void *arg)
{
	int r = 0;

	(void)view;
	for (size_t i = 0; r == 0 && i < query->n_hosts; i++) {
		uint64_t values[STORE_MAX_COUNTER_NAMES] = {};
		const struct store_batch_counters batch = {
			.host_index = i,
			.run = query->hosts[i],
			.sequence = 1,
			.closed_wall_ns = 1000 * SLOT_NS,
			.values = values,
		};

		for (size_t k = 0; k < query->n_names; k++)
			if (strcmp(query->names[k], "samples_total{") == 0)
				values[k] = query->hosts[i];
		r = query->hosts[i] == 2 ? 0 : function(arg, &batch);
	}
	return r;
}

static const struct store_view_operations operations = {
	.list_hosts = list_hosts,
	.scan_coverage = scan_coverage,
	.scan_counters = scan_counters,
};

static void boots_of_a_host_are_one_row_with_the_data_of_the_newest(void **state)
{
	struct store_view view = { .operations = &operations };
	scoped(arena_freep) struct arena *arena = NULL;
	struct fleet fleet;

	(void)state;
	assert_ok(arena_new(MIB, &arena));
	assert_ok(fleet_list(&view, &(struct losses_range){ .to_slot = 100000 }, arena, &fleet));
	assert_int_equal(fleet.count, 1);
	assert_string_equal(fleet.hosts[0].machine.host->agent_id, "second-boot");
	assert_int_equal(fleet.hosts[0].machine.host->n_cpus, 8);
	assert_int_equal(fleet.hosts[0].covered_slots, 2000);
	assert_int_equal(fleet.hosts[0].counted_ns, 2000 * SLOT_NS);
	assert_int_equal(fleet.hosts[0].counts.samples, 4);
	assert_int_equal(fleet.covered_slots, 2000);
}

static void hosts_not_seen_in_the_range_are_counted_by_name(void **state)
{
	struct store_view view = { .operations = &operations };
	scoped(arena_freep) struct arena *arena = NULL;
	struct fleet fleet;

	(void)state;
	assert_ok(arena_new(MIB, &arena));
	assert_ok(fleet_list(&view, &(struct losses_range){ .to_slot = 100000 }, arena, &fleet));
	assert_int_equal(fleet.n_not_seen, 1);
	assert_ok(fleet_list(&view, &(struct losses_range){ .to_slot = 5000 }, arena, &fleet));
	assert_int_equal(fleet.count, 0);
	assert_int_equal(fleet.n_not_seen, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boots_of_a_host_are_one_row_with_the_data_of_the_newest),
		cmocka_unit_test(hosts_not_seen_in_the_range_are_counted_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
