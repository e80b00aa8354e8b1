/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts. The newest row of a host has its attributes, and its oldest row the time since which it is
 * known. The table of batches has the time of its last batch, which list_hosts() alone needs.
 */

#include "symbolizer/store/clickhouse/view_private.h"

#include <inttypes.h>
#include <stdlib.h>

/* 24 bytes for each host. */
#define MAX_WANTED_BYTES (64 * MIB)

struct host_load {
	struct clickhouse_view *self;
	struct arena *arena;
	struct hash_table *hosts; /* u32 number -> struct store_host * */
};

struct host_row {
	struct hash128 agent;
	uint64_t seen_ns;
	struct bytes_view name, boot_id, kernel_release, architecture, agent_version;
	uint32_t n_cpus;
	struct row_texts ips, names, values;
};

static int copy_ips(struct row_texts ips, struct arena *arena, struct store_host *host)
{
	host->ips = arena_alloc_array(arena, ips.count, sizeof(*host->ips));
	if (!host->ips)
		return -ENOMEM;
	for (size_t i = 0; i < ips.count; i++) {
		host->ips[i] = row_texts_next(&ips, arena);
		if (!host->ips[i])
			return -ENOMEM;
	}
	host->n_ips = (uint32_t)ips.count;
	return 0;
}

static int fill_host(const struct host_load *load, const struct host_row *row,
		     struct store_host *host)
{
	char *agent_id = arena_alloc(load->arena, 2 * sizeof(row->agent) + 1);
	int r;

	if (!agent_id)
		return -ENOMEM;
	hex_encode(&row->agent, sizeof(row->agent), agent_id);
	host->agent_id = agent_id;
	host->name = row_copy_text(row->name, load->arena);
	host->boot_id = row_copy_text(row->boot_id, load->arena);
	host->kernel_release = row_copy_text(row->kernel_release, load->arena);
	host->architecture = row_copy_text(row->architecture, load->arena);
	host->agent_version = row_copy_text(row->agent_version, load->arena);
	host->n_cpus = row->n_cpus;
	host->first_seen_ns = row->seen_ns;
	host->last_seen_ns = row->seen_ns;
	if (!host->name || !host->boot_id || !host->kernel_release || !host->architecture ||
	    !host->agent_version)
		return -ENOMEM;
	r = copy_ips(row->ips, load->arena, host);
	return r < 0 ? r
		     : row_copy_labels(row->names, row->values, load->arena, &host->labels,
				       &host->n_labels);
}

/* The newest row of a host comes first. */
static int add_row(struct host_load *load, const struct host_row *row)
{
	struct store_host **slot, *host;
	uint32_t number;
	int r = id_table_number(load->self->agents, &row->agent, &number);

	if (r == 0)
		r = hash_table_insert(load->hosts, &number, (void **)&slot);
	if (r < 0)
		return r;
	if (r == 0) {
		(*slot)->first_seen_ns = MIN((*slot)->first_seen_ns, row->seen_ns);
		return 0;
	}
	host = arena_alloc(load->arena, sizeof(*host));
	*slot = host;
	if (!host)
		return -ENOMEM;
	*host = (struct store_host){ .id = number };
	return fill_host(load, row, host);
}

static int read_host(void *arg, struct bytes_reader *reader)
{
	struct host_row row;

	row.agent = row_read_hash(reader);
	row.seen_ns = row_read_u64(reader);
	row.name = row_read_string(reader);
	row.boot_id = row_read_string(reader);
	row.kernel_release = row_read_string(reader);
	row.architecture = row_read_string(reader);
	row.agent_version = row_read_string(reader);
	row.n_cpus = row_read_u32(reader);
	row.ips = row_read_texts(reader);
	row.names = row_read_texts(reader);
	row.values = row_read_texts(reader);
	return reader->error < 0 ? 0 : add_row(arg, &row);
}

int clickhouse_view_load_hosts(struct clickhouse_view *self, struct arena *arena,
			       struct clickhouse_hosts *ret_hosts)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	struct host_load load = { .self = self, .arena = arena };
	struct clickhouse_query query = { .read_row = read_host, .arg = &load };
	int r;

	(void)bytes_append_text(&sql, "SELECT agent, seen_ns, name, boot_id, kernel_release, "
				      "architecture, agent_version, n_cpus, ips, label_names, "
				      "label_values FROM hosts WHERE day >= 0");
	sql_add_equal(&sql, "tenant", self->view.tenant);
	(void)bytes_append_text(&sql, " ORDER BY seen_ns DESC FORMAT RowBinary");
	r = sql_end(&sql);
	query.sql = (const char *)sql.data;
	if (r == 0)
		r = hash_table_new(sizeof(uint32_t), sizeof(void *), 0, &load.hosts);
	if (r == 0)
		r = clickhouse_view_run(self, &query);
	ret_hosts->by_number = load.hosts;
	return r;
}

void clickhouse_hosts_release(struct clickhouse_hosts *hosts)
{
	hosts->by_number = hash_table_free(hosts->by_number);
}

static int read_last_batch(void *arg, struct bytes_reader *row)
{
	const struct host_load *load = arg;
	struct hash128 agent = row_read_hash(row);
	uint64_t closed_ns = row_read_u64(row);
	struct store_host **host;
	uint32_t number;
	int r;

	if (row->error < 0)
		return 0;
	r = id_table_number(load->self->agents, &agent, &number);
	host = r == 0 ? hash_table_find(load->hosts, &number) : NULL;
	if (host)
		(*host)->last_seen_ns = MAX((*host)->last_seen_ns, closed_ns);
	return r;
}

/* The last batch of a host closed on the day of its newest row, which is written each hour. */
static int load_last_batches(struct host_load *load)
{
	scoped(bytes_release) struct bytes sql = BYTES_INIT(MAX_SQL_BYTES);
	scoped(bytes_release) struct bytes rows = BYTES_INIT(MAX_WANTED_BYTES);
	struct clickhouse_table wanted = { .name = "wanted",
					   .structure = "agent FixedString(16), seen UInt64, "
							"day UInt16" };
	struct clickhouse_query query = {
		.tables = &wanted, .n_tables = 1, .read_row = read_last_batch, .arg = load
	};
	struct store_host **host;
	const uint32_t *number;
	size_t cursor = 0;
	int r;

	while (hash_table_next(load->hosts, &cursor, (const void **)&number, (void **)&host)) {
		row_add_hash(&rows, id_table_id(load->self->agents, *number));
		row_add_u64(&rows, (*host)->last_seen_ns);
		row_add_u16(&rows,
			    (uint16_t)(((*host)->last_seen_ns - 1) / SLOT_NS / SLOTS_PER_DAY));
	}
	(void)bytes_append_text(&sql, "SELECT agent, max(closed_ns) FROM batches WHERE day IN "
				      "(SELECT day FROM wanted)");
	sql_add_equal(&sql, "tenant", load->self->view.tenant);
	(void)bytes_append_text(&sql, " AND agent IN (SELECT agent FROM wanted) AND closed_ns >= "
				      "(SELECT min(seen) FROM wanted) GROUP BY agent "
				      "FORMAT RowBinary");
	r = sql_end(&sql);
	if (r == 0)
		r = bytes_error(&rows);
	wanted.rows = bytes_view_of(&rows);
	query.sql = (const char *)sql.data;
	return r < 0 || rows.size == 0 ? r : clickhouse_view_run(load->self, &query);
}

static int compare_hosts(const void *left, const void *right)
{
	const struct store_host *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	return order ? order : strcmp(a->agent_id, b->agent_id);
}

static int list(const struct host_load *load, struct store_host **ret_hosts, size_t *ret_count)
{
	size_t cursor = 0, n = 0;
	struct store_host **host,
		*hosts = arena_alloc_array(load->arena, hash_table_count(load->hosts),
					   sizeof(*hosts));

	if (!hosts)
		return -ENOMEM;
	while (hash_table_next(load->hosts, &cursor, NULL, (void **)&host))
		hosts[n++] = **host;
	if (n > 0)
		qsort(hosts, n, sizeof(*hosts), compare_hosts);
	*ret_hosts = hosts;
	*ret_count = n;
	return 0;
}

int clickhouse_view_list_hosts(struct store_view *view, struct arena *arena,
			       struct store_host **ret_hosts, size_t *ret_count)
{
	struct clickhouse_view *self = clickhouse_view_of(view);
	scoped(clickhouse_hosts_release) struct clickhouse_hosts hosts = {};
	struct host_load load = { .self = self, .arena = arena };
	int r = clickhouse_view_load_hosts(self, arena, &hosts);

	load.hosts = hosts.by_number;
	if (r == 0)
		r = load_last_batches(&load);
	return r < 0 ? r : list(&load, ret_hosts, ret_count);
}
