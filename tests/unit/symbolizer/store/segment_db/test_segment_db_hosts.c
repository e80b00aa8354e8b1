/* SPDX-License-Identifier: Apache-2.0 */
/* The table of hosts, and the executables of an agent. */

#include "tests/unit/symbolizer/store/segment_db/segment_db_fixture.h"

struct listed {
	struct arena *arena;
	struct segment_db_host *hosts;
	size_t count;
};

static void listed_release(struct listed *listed)
{
	(void)arena_free(listed->arena);
}

static struct listed list_of(struct segment_db *db, const char *tenant)
{
	struct listed listed = {};

	assert_ok(arena_new(MIB, &listed.arena));
	assert_ok(segment_db_list_hosts(db, tenant, listed.arena, &listed.hosts, &listed.count));
	return listed;
}

static size_t count_of(struct segment_db *db, const char *tenant)
{
	scoped(listed_release) struct listed listed = list_of(db, tenant);

	return listed.count;
}

static struct batch_builder *batch_of_host(uint8_t agent, uint64_t sequence,
					   uint64_t closed_wall_ns, const char *name)
{
	struct batch_builder *builder = batch_of(agent, sequence, closed_wall_ns, true);

	batch_builder_host(builder, name, "1.2.3");
	return builder;
}

static struct batch_builder *batch_of_described_host(void)
{
	static char machine[] = "0123", release[] = "6.18.0", v4[] = "10.0.0.1", v6[] = "fe80::1";
	static char *ips[] = { v4, v6 };
	struct batch_builder *builder = batch_of_host(1, 1, NOON, "web-1");
	Hearth__V1__Host *host = batch_builder_message(builder)->host;

	host->machine_id = machine;
	host->kernel_release = release;
	host->n_cpus = 8;
	host->ip = ips;
	host->n_ip = ARRAY_SIZE(ips);
	return builder;
}

static void assert_described(struct segment_db *db)
{
	scoped(listed_release) struct listed listed = list_of(db, "default");
	const struct batch_host *host = &listed.hosts[0].host;

	assert_int_equal(listed.count, 1);
	assert_string_equal(host->name, "web-1");
	assert_string_equal(host->machine_id, "0123");
	assert_string_equal(host->boot_id, BUILDER_BOOT_ID);
	assert_string_equal(host->agent_version, "1.2.3");
	assert_string_equal(host->kernel_release, "6.18.0");
	assert_string_equal(host->architecture, "x86_64");
	assert_int_equal(host->n_cpus, 8);
	assert_int_equal(host->n_ips, 2);
	assert_string_equal(host->ips[0], "10.0.0.1");
	assert_string_equal(host->ips[1], "fe80::1");
	assert_int_equal(listed.hosts[0].agent.bytes[15], 1);
	assert_int_equal(listed.hosts[0].first_seen_ns, NOON - 5 * SECOND);
	assert_int_equal(listed.hosts[0].last_seen_ns, NOON);
}

static void a_host_is_listed_at_once_and_after_restarts(void **state)
{
	struct segment_db *db = open_db(*state);

	assert_int_equal(write_batch(db, batch_of_described_host()), STORE_STORED);
	assert_described(db);
	(void)segment_db_free(db);
	db = open_db(*state); /* from the inbox */
	assert_described(db);
	assert_ok(segment_db_flush(db, NOON));
	assert_described(db);
	(void)segment_db_free(db);
	db = open_db(*state); /* from the table */
	assert_described(db);
	(void)segment_db_free(db);
}

static void the_latest_batch_describes_its_host(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);

	assert_int_equal(write_batch(db, batch_of_host(1, 2, NOON, "new")), STORE_STORED);
	assert_int_equal(write_batch(db, batch_of_host(1, 1, NOON - HOUR, "old")), STORE_STORED);
	for (int i = 0; i < 2; i++) {
		scoped(listed_release) struct listed listed = list_of(db, "default");

		assert_int_equal(listed.count, 1);
		assert_string_equal(listed.hosts[0].host.name, "new");
		assert_int_equal(listed.hosts[0].first_seen_ns, NOON - HOUR - 5 * SECOND);
		assert_int_equal(listed.hosts[0].last_seen_ns, NOON);
		assert_ok(segment_db_flush(db, NOON));
	}
}

static void a_flush_saves_changed_hosts_only(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);

	for (uint8_t agent = 1; agent <= 3; agent++)
		assert_int_equal(write_batch(db, batch_of(agent, 1, NOON, true)), STORE_STORED);
	assert_ok(segment_db_flush(db, NOON));
	run_sql(*state, "inbox.db", "UPDATE host SET last_seen_ns = 1");
	assert_int_equal(write_batch(db, batch_of(2, 2, NOON, false)), STORE_STORED);
	assert_ok(segment_db_flush(db, NOON));
	assert_int_equal(query_number(*state, "inbox.db",
				      "SELECT count(*) FROM host WHERE last_seen_ns = 1"),
			 2);
}

static void tenants_have_their_own_hosts_in_order_of_agents(void **state)
{
	scoped(segment_db_freep) struct segment_db *db = open_db(*state);
	static const uint8_t agents[] = { 7, 3, 9, 1 };

	for (size_t i = 0; i < ARRAY_SIZE(agents); i++)
		assert_int_equal(write_batch(db, batch_of(agents[i], 1, NOON, true)), STORE_STORED);
	assert_int_equal(write_batch_in(db, "other", batch_of(3, 1, NOON, true)), STORE_STORED);
	{
		scoped(listed_release) struct listed listed = list_of(db, "default");

		assert_int_equal(listed.count, 4);
		for (size_t i = 1; i < 4; i++)
			assert_true(listed.hosts[i - 1].agent.bytes[0] <
				    listed.hosts[i].agent.bytes[0]);
	}
	assert_int_equal(count_of(db, "other"), 1);
	assert_int_equal(count_of(db, "nobody"), 0);
	assert_ok(segment_db_delete_tenant(db, "default", NOON));
	assert_int_equal(count_of(db, "default"), 0);
	assert_int_equal(count_of(db, "other"), 1);
	assert_int_equal(query_number(*state, "inbox.db", "SELECT count(*) FROM host"), 1);
}

static void hosts_without_kept_days_are_dropped(void **state)
{
	struct segment_db *db = open_db(*state);
	size_t n_removed;

	assert_int_equal(write_batch(db, batch_of(1, 1, NOON, true)), STORE_STORED);
	assert_int_equal(write_batch(db, batch_of(2, 1, NOON, true)), STORE_STORED);
	assert_int_equal(write_batch(db, batch_of(2, 2, NOON + ONE_DAY, false)), STORE_STORED);
	assert_ok(segment_db_flush(db, NOON));
	assert_ok(segment_db_prune(db, NOON, &n_removed));
	assert_int_equal(count_of(db, "default"), 2);
	assert_ok(segment_db_prune(db, NOON + ONE_DAY, &n_removed));
	assert_int_equal(n_removed, 1);
	assert_int_equal(count_of(db, "default"), 1);
	(void)segment_db_free(db);
	db = open_db(*state);
	assert_int_equal(count_of(db, "default"), 1);
	(void)segment_db_free(db);
}

static struct segment_db_executables executables_of(struct segment_db *db, uint64_t epoch,
						    size_t max, struct arena *arena)
{
	struct segment_db_epoch of = { .tenant = "default", .epoch = epoch };
	struct segment_db_executables found = { .count = 99 };

	memset(&of.agent, 1, sizeof(of.agent));
	assert_ok(segment_db_agent_executables(db, &of, max, arena, &found));
	return found;
}

static void assert_executables(struct segment_db *db)
{
	scoped(arena_freep) struct arena *arena = NULL;
	struct segment_db_executables found;
	struct executable_id id = test_build_id(4);

	assert_ok(arena_new(MIB, &arena));
	found = executables_of(db, EPOCH, 10, arena);
	assert_int_equal(found.count, 4);
	assert_string_equal(found.items[0].name, "library-4");
	assert_memory_equal(&found.items[0].identity, &id, sizeof(id));
	assert_int_equal(found.items[0].n_segments, 1);
	assert_int_equal(found.items[0].segments[0].vaddr, 0x4000);
	assert_int_equal(found.items[0].id, 0);
	assert_string_equal(found.items[3].name, "server");
	assert_int_equal(executables_of(db, EPOCH, 2, arena).count, 2);
	assert_string_equal(executables_of(db, EPOCH, 1, arena).items[0].name, "library-4");
	assert_int_equal(executables_of(db, EPOCH + 1, 10, arena).count, 0);
}

static void the_newest_executables_of_an_epoch_are_listed(void **state)
{
	struct segment_db *db = open_db(*state);
	struct batch_builder *builder = batch_of(1, 1, NOON, true);

	for (uint8_t i = 2; i <= 4; i++) {
		struct executable_id id = test_build_id(i);
		char name[16];

		(void)snprintf(name, sizeof(name), "library-%d", i);
		batch_builder_executable(builder, i, &id, name, ROLE_USER);
		batch_builder_segment(builder, 0, i * UINT64_C(0x1000), 4096);
	}
	assert_int_equal(write_batch(db, builder), STORE_STORED);
	assert_executables(db);
	assert_ok(segment_db_flush(db, NOON));
	(void)segment_db_free(db);
	db = open_db(*state);
	assert_executables(db);
	/* Its definitions are in memory now. */
	assert_int_equal(write_batch(db, batch_of(1, 2, NOON, false)), STORE_STORED);
	(void)segment_db_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(a_host_is_listed_at_once_and_after_restarts),
		in_folder(the_latest_batch_describes_its_host),
		in_folder(a_flush_saves_changed_hosts_only),
		in_folder(tenants_have_their_own_hosts_in_order_of_agents),
		in_folder(hosts_without_kept_days_are_dropped),
		in_folder(the_newest_executables_of_an_epoch_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
