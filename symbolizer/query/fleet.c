/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizer/query/coverage.h"

/*
 * Batches of which one answer reads the counters, divided among the hosts. Reading one takes about
 * 10 us. A host that sends a batch every 10 s has 360 in an hour; if the range has more batches,
 * only the newest are counted.
 */
#define FLEET_MAX_BATCHES      20000
#define FLEET_MAX_HOST_BATCHES 360

static const struct counter_row {
	size_t offset;
	const char *prefix;
} counter_rows[] = {
#define X(field, prefix) { offsetof(struct fleet_counts, field), prefix },
	FLEET_COUNTERS(X)
#undef X
};

static int add_batch(void *arg, uint64_t opened_wall_ns, uint64_t closed_wall_ns)
{
	struct fleet_host *host = arg;

	if (closed_wall_ns > opened_wall_ns)
		host->counted_ns += closed_wall_ns - opened_wall_ns;
	return 0;
}

static int add_counter(void *arg, struct bytes_view name, uint64_t value)
{
	struct fleet_host *host = arg;

	for (size_t i = 0; i < ARRAY_SIZE(counter_rows); i++) {
		const char *prefix = counter_rows[i].prefix;
		size_t length = strlen(prefix);
		uint64_t *sum = (uint64_t *)((char *)&host->counts + counter_rows[i].offset);

		if (name.size >= length && memcmp(name.data, prefix, length) == 0)
			*sum += value;
	}
	return 0;
}

/* All boots of one host name, the newest first. */
struct machine {
	struct fleet_host host;
	const uint32_t *boots; /* [n_boots] store IDs of hosts */
	size_t n_boots;
};

static int compare_hosts(const void *left, const void *right)
{
	const struct store_host *a = left;
	const struct store_host *b = right;
	int order = strcmp(a->name, b->name);

	if (order == 0)
		order = a->last_seen_ns < b->last_seen_ns ? 1
							  : -(a->last_seen_ns > b->last_seen_ns);
	return order ? order : (a->id < b->id ? 1 : -(a->id > b->id));
}

static int list_machines(struct store *store, const char *tenant, struct arena *arena,
			 struct machine **ret_machines, size_t *ret_count)
{
	struct machine *machines;
	struct store_host *hosts;
	size_t count, n = 0;
	uint32_t *boots;
	int r;

	r = store_list_hosts(store, tenant, arena, &hosts, &count);
	if (r < 0)
		return r;
	machines = arena_alloc_array(arena, count + 1, sizeof(*machines));
	boots = arena_alloc_array(arena, count + 1, sizeof(*boots));
	if (!machines || !boots)
		return -ENOMEM;
	if (count > 0)
		qsort(hosts, count, sizeof(*hosts), compare_hosts);
	for (size_t i = 0; i < count; i++) {
		boots[i] = hosts[i].id;
		if (i == 0 || strcmp(hosts[i].name, hosts[i - 1].name) != 0)
			machines[n++] = (struct machine){
				.host.host = &hosts[i],
				.boots = &boots[i],
			};
		machines[n - 1].n_boots++;
	}
	*ret_machines = machines;
	*ret_count = n;
	return 0;
}

/* Moves the machines with an agent that ran in the range to the front. */
static int keep_covered(struct store *store, struct machine *machines, size_t count,
			struct coverage *coverage, size_t *ret_kept)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct machine machine = machines[i];
		int r;

		r = coverage_add_hosts(coverage, store, machine.boots, machine.n_boots,
				       &machine.host.covered_slots);
		if (r < 0)
			return r;
		if (machine.host.covered_slots > 0)
			machines[kept++] = machine;
	}
	*ret_kept = kept;
	return 0;
}

static int count_machine(struct store *store, const struct coverage *coverage, size_t max_batches,
			 struct machine *machine)
{
	const struct store_counter_visitor visitor = {
		.batch = add_batch,
		.counter = add_counter,
		.arg = &machine->host,
	};
	const struct store_counter_query query = {
		.hosts = machine->boots,
		.n_hosts = machine->n_boots,
		.from_slot = coverage->from_slot,
		.to_slot = coverage->to_slot,
		.max_batches = max_batches,
	};
	int r;

	r = store_scan_counters(store, &query, &visitor);
	return r == -EOPNOTSUPP ? 0 : r;
}

static int count_machines(struct store *store, struct machine *machines, size_t count,
			  const struct coverage *coverage, struct arena *arena, struct fleet *fleet)
{
	size_t max_batches = MIN(MAX(FLEET_MAX_BATCHES / (count + 1), (size_t)1),
				 (size_t)FLEET_MAX_HOST_BATCHES);

	fleet->hosts = arena_alloc_array(arena, count + 1, sizeof(*fleet->hosts));
	if (!fleet->hosts)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		int r = count_machine(store, coverage, max_batches, &machines[i]);

		if (r < 0)
			return r;
		fleet->hosts[fleet->count++] = machines[i].host;
	}
	return 0;
}

int fleet_list(struct store *store, const char *tenant, uint64_t from_slot, uint64_t to_slot,
	       struct arena *arena, struct fleet *ret_fleet)
{
	struct coverage coverage = { .from_slot = from_slot, .to_slot = to_slot };
	struct fleet fleet = {};
	struct machine *machines;
	size_t count, covered = 0;
	int r;

	r = list_machines(store, tenant, arena, &machines, &count);
	if (r < 0)
		return r;

	r = keep_covered(store, machines, count, &coverage, &covered);
	if (r == 0)
		r = count_machines(store, machines, covered, &coverage, arena, &fleet);
	if (r == 0) {
		fleet.n_not_seen = count - covered;
		fleet.covered_slots = coverage_of_all(&coverage);
		*ret_fleet = fleet;
	}
	coverage_release(&coverage);
	return r;
}
