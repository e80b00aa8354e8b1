/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts. Segments have the agent ID, the name and the labels of a host; the rest is in the table of
 * hosts. Handles of hosts are those of segment_view.
 */

#include "symbolizer/store/segment_store/view_private.h"

#include <string.h>

#include "symbolizer/store/segment_db/batch_scan.h"

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

static int describe(struct engine_view *self, const struct segment_db_host *from,
		    struct store_host *ret_host)
{
	const struct batch_host *host = &from->host;
	char *agent_id = arena_alloc(self->arena, 2 * sizeof(from->agent) + 1);
	uint32_t id;
	int r = segment_view_add_host(self->segments, &from->agent, &id);

	if (r < 0 || !agent_id)
		return -ENOMEM;
	hex_encode(&from->agent, sizeof(from->agent), agent_id);
	*ret_host = (struct store_host){
		.id = id,
		.name = text_or_empty(host->name),
		.agent_id = agent_id,
		.kernel_release = text_or_empty(host->kernel_release),
		.architecture = text_or_empty(host->architecture),
		.agent_version = text_or_empty(host->agent_version),
		.boot_id = text_or_empty(host->boot_id),
		.n_cpus = host->n_cpus,
		.ips = host->ips,
		.n_ips = host->n_ips,
		.labels = host->labels,
		.n_labels = host->n_labels,
		.first_seen_ns = from->first_seen_ns,
		.last_seen_ns = from->last_seen_ns,
	};
	return 0;
}

static int add_host(struct engine_view *self, const struct segment_db_host *from)
{
	struct store_host *host = arena_alloc(self->arena, sizeof(*host));
	struct store_host **slot;
	int r = host ? describe(self, from, host) : -ENOMEM;

	if (r == 0)
		r = hash_table_insert(self->hosts, &host->id, (void **)&slot);
	if (r < 0)
		return r;
	*slot = host;
	return 0;
}

static int load_hosts(struct engine_view *self)
{
	struct segment_db_host *hosts;
	size_t count;
	int r = 0;

	if (self->hosts)
		return 0;
	r = hash_table_new(sizeof(uint32_t), sizeof(struct store_host *), 0, &self->hosts);
	if (r == 0)
		r = segment_db_list_hosts(self->store->db, self->view.tenant, self->arena, &hosts,
					  &count);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_host(self, &hosts[i]);
	if (r < 0)
		self->hosts = hash_table_free(self->hosts);
	return r;
}

static const struct store_host *find_host(const struct engine_view *self, uint32_t id)
{
	struct store_host **host = hash_table_find(self->hosts, &id);

	return host ? *host : NULL;
}

int view_complete_hosts(struct engine_view *self, struct store_series *series, size_t count)
{
	int r = load_hosts(self);

	for (size_t i = 0; r == 0 && i < count; i++) {
		/* find_series() made it, in the caller's arena. */
		struct store_process *process =
			(struct store_process *)(uintptr_t)series[i].process;
		const struct store_host *known = find_host(self, process->host->id);

		if (known)
			process->host = known;
	}
	return r;
}

static int compare_hosts(const void *a, const void *b)
{
	const struct store_host *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	return order ? order : strcmp(left->agent_id, right->agent_id);
}

int view_list_hosts(struct store_view *view, struct arena *arena, struct store_host **ret_hosts,
		    size_t *ret_count)
{
	struct engine_view *self = engine_view_of(view);
	struct store_host *hosts, **host;
	size_t cursor = 0, n = 0;
	int r = load_hosts(self);

	if (r < 0)
		return r;
	hosts = arena_alloc_array(arena, hash_table_count(self->hosts), sizeof(*hosts));
	if (!hosts)
		return -ENOMEM;
	while (hash_table_next(self->hosts, &cursor, NULL, (void **)&host))
		hosts[n++] = **host;
	if (n > 0)
		qsort(hosts, n, sizeof(*hosts), compare_hosts);
	*ret_hosts = hosts;
	*ret_count = n;
	return 0;
}

/* The agents of hosts. Handles that are not of hosts are left out. */
struct agent_list {
	struct hash128 *agents; /* [count] */
	size_t *indexes;        /* [count] in the caller's array */
	size_t count;
};

static void agent_list_release(struct agent_list *list)
{
	free(list->agents);
	free(list->indexes);
}

static int make_agent_list(const struct engine_view *self, const uint32_t *hosts, size_t count,
			   struct agent_list *list)
{
	list->agents = calloc(count + 1, sizeof(*list->agents));
	list->indexes = calloc(count + 1, sizeof(*list->indexes));
	if (!list->agents || !list->indexes)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (!segment_view_agent_of(self->segments, hosts[i], &list->agents[list->count]))
			continue;
		list->indexes[list->count++] = i;
	}
	return 0;
}

struct coverage_scan {
	const uint32_t *hosts;
	const struct agent_list *list;
	store_coverage_function function;
	void *arg;
};

static int visit_coverage(void *arg, const struct segment_db_batch *batch)
{
	const struct coverage_scan *scan = arg;
	const uint64_t first_slot = batch->opened_wall_ns / SLOT_NS;
	/* The slot of the closing belongs to the next batch, if that is where it begins. */
	const uint64_t end_slot = (batch->closed_wall_ns + SLOT_NS - 1) / SLOT_NS;

	return scan->function(scan->arg, scan->hosts[scan->list->indexes[batch->agent_index]],
			      first_slot, MAX(end_slot, first_slot + 1) - 1);
}

int view_scan_coverage(struct store_view *view, const uint32_t *hosts, size_t count,
		       uint64_t from_slot, uint64_t to_slot, store_coverage_function function,
		       void *arg)
{
	struct engine_view *self = engine_view_of(view);
	scoped(agent_list_release) struct agent_list list = {};
	struct coverage_scan scan = {
		.hosts = hosts, .list = &list, .function = function, .arg = arg
	};
	struct segment_db_batch_query query = { .tenant = view->tenant,
						.from_slot = from_slot,
						.to_slot = to_slot,
						.cancel = view->cancel };
	int r = make_agent_list(self, hosts, count, &list);

	query.agents = list.agents;
	query.n_agents = list.count;
	if (r < 0 || list.count == 0)
		return r;
	return segment_db_scan_coverage(self->store->db, &query, visit_coverage, &scan);
}

struct counter_scan {
	const struct agent_list *list;
	store_counters_function function;
	void *arg;
};

static int visit_counters(void *arg, const struct segment_db_batch *batch)
{
	const struct counter_scan *scan = arg;
	const struct store_batch_counters counters = {
		.host_index = scan->list->indexes[batch->agent_index],
		.run = batch->run,
		.sequence = batch->sequence,
		.opened_wall_ns = batch->opened_wall_ns,
		.closed_wall_ns = batch->closed_wall_ns,
		.delay_ms = batch->delay_ms,
		.values = batch->values,
	};

	return scan->function(scan->arg, &counters);
}

int view_scan_counters(struct store_view *view, const struct store_counter_query *query,
		       store_counters_function function, void *arg)
{
	struct engine_view *self = engine_view_of(view);
	scoped(agent_list_release) struct agent_list list = {};
	struct counter_scan scan = { .list = &list, .function = function, .arg = arg };
	struct segment_db_batch_query batches = { .tenant = view->tenant,
						  .from_slot = query->from_slot,
						  .to_slot = query->to_slot,
						  .names = query->names,
						  .n_names = query->n_names,
						  .max_batches = query->max_batches,
						  .cancel = view->cancel };
	int r = make_agent_list(self, query->hosts, query->n_hosts, &list);

	batches.agents = list.agents;
	batches.n_agents = list.count;
	if (r < 0 || list.count == 0)
		return r;
	return segment_db_scan_counters(self->store->db, &batches, visit_counters, &scan);
}
