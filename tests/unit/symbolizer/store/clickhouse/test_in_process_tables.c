/* SPDX-License-Identifier: Apache-2.0 */
/* The database has a fixed name, so each test uses units of its own. */

#include "tests/unit/symbolizer/store/clickhouse/server_fixture.h"

#include <sys/stat.h>
#include <time.h>

#include "symbolizer/store/clickhouse/changes.h"
#include "symbolizer/store/clickhouse/in_process_tables.h"
#include "symbolizer/store/clickhouse/row_binary.h"

static struct clickhouse_client *client_with_tables(const struct clickhouse_server *server)
{
	struct clickhouse_client *client = server_client(server, NULL);

	/* Twice: they may exist. */
	for (int i = 0; i < 2; i++)
		if (in_process_tables_make(client, NULL) < 0)
			fail_msg("%s", clickhouse_client_message(client));
	return client;
}

static void add_row(struct bytes *rows, uint32_t unit, uint64_t value, uint64_t state)
{
	row_add_u32(rows, unit * IN_PROCESS_UNIT_S);
	row_add_u64(rows, 1);
	for (int i = 0; i < 4; i++)
		row_add_text(rows, "text");
	row_add_u64(rows, value);
	row_add_text(rows, "unit");
	row_add_u32(rows, 7);
	row_add_text(rows, "agent");
	row_add_text(rows, "host");
	row_add_u8(rows, 0);
	row_add_u32(rows, 0);
	(void)bytes_append(rows, (uint8_t[16]){}, 16);
	row_add_text(rows, "web-1");
	for (int i = 0; i < 6; i++)
		row_add_text(rows, "");
	row_add_count(rows, 1);
	row_add_text(rows, "vpc");
	row_add_count(rows, 1);
	row_add_text(rows, "blue");
	row_add_u32(rows, 2);
	row_add_u64(rows, state);
}

/* Fills the unit with rows of the values 1, 2, 4, ... */
static void fill(struct clickhouse_client *client, uint32_t unit, int n_rows, uint64_t state)
{
	scoped(bytes_release) struct bytes rows = BYTES_INIT(MIB);
	char name[IN_PROCESS_FILL_NAME_SIZE];

	for (int i = 0; i < n_rows; i++)
		add_row(&rows, unit, UINT64_C(1) << i, state);
	if (in_process_fill_begin(client, name) < 0 ||
	    (n_rows > 0 && in_process_fill_add(client, name, bytes_view_of(&rows)) < 0) ||
	    (n_rows > 0 ? in_process_fill_publish(client, name, unit)
			: in_process_drop_unit(client, unit)) < 0 ||
	    in_process_fill_drop(client, name) < 0)
		fail_msg("%s", clickhouse_client_message(client));
}

static uint64_t value_of(struct clickhouse_client *client, uint32_t unit)
{
	char sql[160];

	(void)snprintf(sql, sizeof(sql),
		       "SELECT toUInt64(sum(profile_value)) FROM profile.in_process WHERE "
		       "intDiv(toUInt32(time), %d) = %u FORMAT RowBinary",
		       IN_PROCESS_UNIT_S, unit);
	return ask_number(client, sql);
}

static void a_fill_replaces_all_rows_of_its_unit(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;

	skip_without_server(server);
	client = client_with_tables(server);
	fill(client, 1000, 3, 5);
	fill(client, 1001, 2, 5);
	assert_int_equal(value_of(client, 1000), 7);
	fill(client, 1000, 3, 5);
	assert_int_equal(value_of(client, 1000), 7);
	fill(client, 1000, 1, 6);
	assert_int_equal(value_of(client, 1000), 1);
	/* Twice: the unit may have no rows. */
	for (int i = 0; i < 2; i++) {
		fill(client, 1000, 0, 7);
		assert_int_equal(value_of(client, 1000), 0);
	}
	assert_int_equal(value_of(client, 1001), 3);
}

static void the_names_of_a_unit_are_counted(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	struct in_process_names names;

	skip_without_server(server);
	client = client_with_tables(server);
	fill(client, 5000, 3, 5);
	fill(client, 5001, 1, 5);
	assert_ok(in_process_find_names(client, "in_process", 5000, &names));
	assert_int_equal(names.value, 7);
	assert_int_equal(names.unnamed_frames, 3 * 2);
	assert_int_equal(names.length, 3 * strlen("text"));
	assert_ok(in_process_find_names(client, "in_process", 5002, &names));
	assert_int_equal(names.unnamed_frames, 0);
}

static void the_columns_of_deepflow_can_be_selected(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;

	skip_without_server(server);
	client = client_with_tables(server);
	fill(client, 2000, 1, 5);
	assert_int_equal(
		ask_number(client,
			   "SELECT count() FROM profile.in_process WHERE time = toDateTime(600000)"
			   " AND app_service = app_instance AND process_name = app_service"
			   " AND profile_language_type = 'eBPF' AND trace_id = ''"
			   " AND span_name = '' AND profile_id = '' AND compression_algo = ''"
			   " AND vtap_id = agent AND agent_id = 'agent' AND host_id = 'host'"
			   " AND pod_id = 'web-1' AND pod_ns_id = pod_ns AND pod_node_id = ''"
			   " AND l3_epc_id = 'blue' AND vpc_id = 'blue' AND region_id = ''"
			   " FORMAT RowBinary"),
		1);
}

static void change(struct clickhouse_client *client, uint64_t number, uint64_t stored_ns,
		   const uint32_t *units, size_t n_units)
{
	struct batch_row rows[4] = {};
	const struct batch batch = { .rows = rows, .n_rows = (uint32_t)n_units };
	struct changes changes;

	for (size_t i = 0; i < n_units; i++)
		rows[i].slot = units[i] * IN_PROCESS_UNIT_SLOTS + i;
	assert_ok(changes_init(&changes, MIB));
	changes_begin(&changes, number, stored_ns);
	assert_ok(changes_add(&changes, "default", &batch));
	assert_ok(changes_insert(&changes, client, 60 * NSEC_PER_SEC));
	changes_release(&changes);
}

/* The unit as it is listed now; {}: it is not. */
static struct in_process_unit find_unit(struct clickhouse_client *client, uint64_t from_ns,
					uint32_t unit)
{
	struct in_process_unit found = {};
	struct in_process_units units = {};

	assert_ok(in_process_find_units(client, from_ns, &units));
	for (size_t i = 0; i < units.list.count; i++)
		if (units.list.items[i].unit == unit)
			found = units.list.items[i];
	vec_release(&units.list);
	return found;
}

static void a_change_changes_the_state_of_its_units_once(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	struct in_process_unit first, again, later;

	skip_without_server(server);
	client = client_with_tables(server);
	/* Units repeat: a batch has the rows of one series after those of another. */
	change(client, 1, 100, (uint32_t[]){ 3000, 3001, 3000, 3001 }, 4);
	first = find_unit(client, 100, 3000);
	assert_int_equal(first.unit, 3000);
	assert_int_equal(first.changed_ns, 100);
	assert_int_equal(first.state, 0);
	assert_int_equal(find_unit(client, 100, 3001).unit, 3001);
	assert_int_equal(find_unit(client, 101, 3000).unit, 0);

	/* An INSERT whose answer was lost is sent again. */
	change(client, 1, 100, (uint32_t[]){ 3000 }, 1);
	again = find_unit(client, 100, 3000);
	assert_true(again.changes == first.changes);

	change(client, 2, 200, (uint32_t[]){ 3000 }, 1);
	later = find_unit(client, 150, 3000);
	assert_true(later.changes != first.changes);
	assert_int_equal(later.changed_ns, 200);
	/* All its changes count, also those before the time that was asked for. */
	assert_true(later.changes == find_unit(client, 0, 3000).changes);

	fill(client, 3000, 1, 77);
	assert_int_equal(find_unit(client, 0, 3000).state, 77);
	assert_int_equal(find_unit(client, 0, 3001).state, 0);
}

static void samples_after_2106_are_not_filled(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	const uint32_t last = IN_PROCESS_MAX_UNIT;

	skip_without_server(server);
	client = client_with_tables(server);
	change(client, 1, 900, (uint32_t[]){ last, last + 1, 6000 }, 3);
	assert_int_equal(find_unit(client, 900, last).unit, last);
	assert_int_equal(find_unit(client, 900, last + 1).unit, 0);
	/* They do not hide the rows of other units. */
	fill(client, 6000, 1, 77);
	assert_int_equal(find_unit(client, 900, 6000).state, 77);
}

static void make_older(const struct clickhouse_server *server, const char *table, time_t seconds)
{
	const struct timespec at = { .tv_sec = time(NULL) - seconds };
	scoped_free char *path = NULL;

	assert_true(asprintf(&path, "%s/data/metadata/profile/%s.sql", server->folder, table) > 0);
	assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){ at, at }, 0), 0);
}

static bool has_table(struct clickhouse_client *client, const char *name)
{
	char sql[160];

	(void)snprintf(sql, sizeof(sql),
		       "SELECT count() FROM system.tables WHERE database = 'profile' AND "
		       "name = '%s' FORMAT RowBinary",
		       name);
	return ask_number(client, sql) == 1;
}

/* The fills of a server of ClickHouse: of one that was killed, and of one that still fills. */
struct fills {
	char old[IN_PROCESS_FILL_NAME_SIZE], young[IN_PROCESS_FILL_NAME_SIZE];
	struct clickhouse_client *client;
};

static struct fills begin_fills(const struct clickhouse_server *server)
{
	struct fills fills = { .client = client_with_tables(server) };

	assert_ok(in_process_fill_begin(fills.client, fills.old));
	assert_ok(in_process_fill_begin(fills.client, fills.young));
	make_older(server, fills.old, 3700);
	make_older(server, fills.young, 1800);
	make_older(server, "in_process", 86400);
	return fills;
}

static void fills_of_killed_servers_are_dropped_on_each_server(void **state)
{
	const struct clickhouse_server *server = *state;
	struct clickhouse_server *second;
	struct fills fills[2];
	void *second_state = NULL;

	skip_without_server(server);
	assert_int_equal(server_group_setup(&second_state), 0);
	second = second_state;
	fills[0] = begin_fills(server);
	fills[1] = begin_fills(second);
	{
		scoped(clickhouse_client_freep) struct clickhouse_client *both = NULL;
		scoped_free char *urls = NULL;
		struct clickhouse_options options = {};

		assert_true(asprintf(&urls, "%s,%s", server->url, second->url) > 0);
		options.url = urls;
		assert_ok(clickhouse_client_new(&options, &both));
		assert_ok(in_process_drop_old_fills(both));
	}
	for (size_t i = 0; i < ARRAY_SIZE(fills); i++) {
		assert_false(has_table(fills[i].client, fills[i].old));
		assert_true(has_table(fills[i].client, fills[i].young));
		assert_true(has_table(fills[i].client, "in_process"));
		assert_ok(in_process_fill_drop(fills[i].client, fills[i].young));
		(void)clickhouse_client_free(fills[i].client);
	}
	assert_int_equal(server_group_teardown(&second_state), 0);
}

static void a_fill_is_dropped_after_a_cancel(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL, *watched = NULL;
	char name[IN_PROCESS_FILL_NAME_SIZE], more[IN_PROCESS_FILL_NAME_SIZE];
	struct cancel cancel = {};
	struct clickhouse_options options = { .url = server->url, .cancel = &cancel };

	skip_without_server(server);
	client = client_with_tables(server);
	assert_ok(clickhouse_client_new(&options, &watched));
	assert_ok(in_process_fill_begin(watched, name));
	cancel_request(&cancel);
	assert_int_equal(in_process_fill_begin(watched, more), -ECANCELED);
	assert_ok(in_process_fill_drop(watched, name));
	assert_false(has_table(client, name));
}

static void tenants_are_those_of_the_changes(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	scoped(arena_freep) struct arena *arena = NULL;
	const char **tenants;
	size_t count;

	skip_without_server(server);
	client = client_with_tables(server);
	change(client, 1, 100, (uint32_t[]){ 4000 }, 1);
	change(client, 2, 200, (uint32_t[]){ 4000, 4001 }, 2);
	assert_ok(arena_new(4 * MIB, &arena));
	assert_ok(in_process_find_tenants(client, 4000, arena, &tenants, &count));
	assert_int_equal(count, 1);
	assert_string_equal(tenants[0], "default");
	assert_ok(in_process_find_tenants(client, 4002, arena, &tenants, &count));
	assert_int_equal(count, 0);
}

static void old_units_are_dropped(void **state)
{
	const struct clickhouse_server *server = *state;
	scoped(clickhouse_client_freep) struct clickhouse_client *client = NULL;

	skip_without_server(server);
	client = client_with_tables(server);
	fill(client, 10, 1, 5);
	fill(client, 11, 1, 5);
	change(client, 1, 100, (uint32_t[]){ 10 }, 1);
	assert_ok(in_process_drop_before(client, 11));
	assert_int_equal(value_of(client, 10), 0);
	assert_int_equal(value_of(client, 11), 1);
	/* Changes are dropped by day. */
	assert_int_equal(find_unit(client, 0, 10).unit, 10);
	assert_ok(in_process_drop_before(client, 288));
	assert_int_equal(find_unit(client, 0, 10).unit, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_units_are_dropped),
		cmocka_unit_test(a_fill_replaces_all_rows_of_its_unit),
		cmocka_unit_test(the_names_of_a_unit_are_counted),
		cmocka_unit_test(the_columns_of_deepflow_can_be_selected),
		cmocka_unit_test(a_change_changes_the_state_of_its_units_once),
		cmocka_unit_test(samples_after_2106_are_not_filled),
		cmocka_unit_test(fills_of_killed_servers_are_dropped_on_each_server),
		cmocka_unit_test(a_fill_is_dropped_after_a_cancel),
		cmocka_unit_test(tenants_are_those_of_the_changes),
	};

	return cmocka_run_group_tests(tests, server_group_setup, server_group_teardown);
}
