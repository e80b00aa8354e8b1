/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/fleet.h"

#include <string.h>

#include "symbolizer/query/coverage.h"

/*
 * Batches whose counters are read for one answer, some 10 us each, shared between the hosts. A host
 * with batches each 10 s has 360 in an hour; of a longer range the newest part is counted.
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

static int describe_host(struct store *store, uint64_t from_slot, uint64_t to_slot,
			 size_t max_batches, struct fleet_host *host)
{
	const struct store_counter_visitor visitor = {
		.batch = add_batch,
		.counter = add_counter,
		.arg = host,
	};
	const struct store_counter_query query = {
		.hosts = &host->host->id,
		.n_hosts = 1,
		.from_slot = from_slot,
		.to_slot = to_slot,
		.max_batches = max_batches,
	};
	int r;

	r = coverage_of_hosts(store, &host->host->id, 1, from_slot, to_slot, &host->covered_slots);
	if (r == 0 && host->covered_slots > 0)
		r = store_scan_counters(store, &query, &visitor);
	return r == -EOPNOTSUPP ? 0 : r;
}

static int cover_all(struct store *store, const struct store_host *hosts, size_t count,
		     uint64_t from_slot, uint64_t to_slot, struct arena *arena, uint64_t *ret_slots)
{
	uint32_t *ids = arena_alloc_array(arena, count + 1, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		ids[i] = hosts[i].id;
	return coverage_of_hosts(store, ids, count, from_slot, to_slot, ret_slots);
}

int fleet_list(struct store *store, const char *tenant, uint64_t from_slot, uint64_t to_slot,
	       struct arena *arena, struct fleet_host **ret_hosts, size_t *ret_count,
	       uint64_t *ret_covered_slots)
{
	struct fleet_host *fleet;
	struct store_host *hosts;
	size_t max_batches;
	size_t count;
	int r;

	r = store_list_hosts(store, tenant, arena, &hosts, &count);
	if (r < 0)
		return r;
	fleet = arena_alloc_array(arena, count + 1, sizeof(*fleet));
	if (!fleet)
		return -ENOMEM;
	max_batches = MIN(MAX(FLEET_MAX_BATCHES / (count + 1), (size_t)1),
			  (size_t)FLEET_MAX_HOST_BATCHES);
	for (size_t i = 0; r == 0 && i < count; i++) {
		fleet[i].host = &hosts[i];
		r = describe_host(store, from_slot, to_slot, max_batches, &fleet[i]);
	}
	if (r == 0)
		r = cover_all(store, hosts, count, from_slot, to_slot, arena, ret_covered_slots);
	if (r < 0)
		return r;
	*ret_hosts = fleet;
	*ret_count = count;
	return 0;
}
