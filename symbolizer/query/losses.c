/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/query/losses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash_table.h"
#include "common/limits.h"
#include "common/vec.h"
#include "symbolizer/query/coverage.h"

/*
 * Batches of which one answer reads the counters, divided among the hosts. Reading 18,000 batches
 * (100 hosts, 15 minutes) takes about 5 ms. If the range has more, only the newest are counted.
 */
#define MAX_BATCHES 2000000
#define MIN_BATCHES 12

/*
 * A batch is late if the time from its closing until it was stored is this much longer than the
 * shortest such time of its host.
 */
#define LATE_MS 60000

/*
 * Maximum number of slowly delivered batches in one answer that are kept to find the late ones. A
 * fleet has fewer late batches; more of them have a wrong clock.
 */
#define MAX_DELAYS 1000000

/* Shorter gaps are rounding errors of times in batches. */
#define LEAST_GAP_SLOTS (NSEC_PER_SEC / SLOT_NS)

/* Time for the next batch to arrive, besides two intervals. */
#define ARRIVAL_NS (20 * NSEC_PER_SEC)

static const struct counter_row {
	size_t offset;
	const char *name;
} rows[] = {
#define X(field, name) { offsetof(struct loss_counts, field), name },
	LOSS_COUNTERS(X)
#undef X
#define X(id, number, name, ...)                                                                   \
	{ offsetof(struct loss_counts, stacks_cut) + (number) * sizeof(uint64_t),                  \
	  "stacks_cut_total{reason=\"" name "\"}" },
		STACK_CUTS(X)
#undef X
	/* The store adds a counter to the first name that matches. */
	{ offsetof(struct loss_counts, stacks_cut), "stacks_cut_total{" },
};

static_assert(ARRAY_SIZE(rows) <= STORE_MAX_COUNTER_NAMES, "one query reads all counters");

static uint64_t *count_at(struct loss_counts *counts, size_t row)
{
	return (uint64_t *)((char *)counts + rows[row].offset);
}

uint64_t loss_counts_cut(const struct loss_counts *counts)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(counts->stacks_cut); i++)
		sum += counts->stacks_cut[i];
	return sum;
}

int64_t losses_clock_offset_ms(const struct host_losses *host)
{
	return host->least_delay_ms == INT64_MAX ? 0 : -host->least_delay_ms;
}

struct delay {
	size_t host;
	int64_t ms;
};

/* Sequence numbers of the batches of one run of an agent. */
struct run {
	uint64_t id;
	size_t host;
	uint64_t least, greatest, count;
};

struct counting {
	struct host_losses *hosts;
	const size_t *host_of; /* [number of boots] index in hosts */
	struct run run;
	VEC_DEFINE(, struct delay) delays; /* of LATE_MS and longer */
};

static void end_run(struct counting *counting)
{
	struct run *run = &counting->run;

	if (run->count > 0)
		counting->hosts[run->host].n_missing += run->greatest - run->least + 1 - run->count;
	run->count = 0;
}

static void count_sequence(struct counting *counting, const struct store_batch_counters *batch,
			   size_t host)
{
	struct run *run = &counting->run;

	if (run->count > 0 && (run->id != batch->run || run->host != host))
		end_run(counting);
	if (run->count == 0)
		*run = (struct run){
			.id = batch->run,
			.host = host,
			.least = batch->sequence,
			.greatest = batch->sequence,
		};
	run->least = MIN(run->least, batch->sequence);
	run->greatest = MAX(run->greatest, batch->sequence);
	run->count++;
}

/* An agent sends the number of CPUs. The host of imported profiles has none: nothing is missing
 * where it has no profile, and an old profile is not late. */
static bool has_agent(const struct host_losses *host)
{
	return host->machine.host->n_cpus > 0;
}

static int count_delay(struct counting *counting, const struct store_batch_counters *batch,
		       size_t index)
{
	struct host_losses *host = &counting->hosts[index];

	if (batch->delay_ms == INT64_MAX || !has_agent(host))
		return 0;
	host->least_delay_ms = MIN(host->least_delay_ms, batch->delay_ms);
	if (batch->delay_ms < LATE_MS || counting->delays.count >= MAX_DELAYS)
		return 0;
	return vec_push(&counting->delays,
			((struct delay){ .host = index, .ms = batch->delay_ms }));
}

static int count_batch(void *arg, const struct store_batch_counters *batch)
{
	struct counting *counting = arg;
	size_t index = counting->host_of[batch->host_index];
	struct host_losses *host = &counting->hosts[index];
	uint64_t ring_full = host->counts.ticks_ring_full;
	uint64_t duration_ns = batch->closed_wall_ns - batch->opened_wall_ns;

	host->n_batches++;
	host->counted_ns += duration_ns;
	host->longest_batch_ns = MAX(host->longest_batch_ns, duration_ns);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		*count_at(&host->counts, i) += batch->values[i];
	if (host->counts.ticks_ring_full > ring_full) {
		host->ring_full_since_ns =
			host->ring_full_since_ns == 0
				? batch->opened_wall_ns
				: MIN(host->ring_full_since_ns, batch->opened_wall_ns);
		host->ring_full_until_ns = MAX(host->ring_full_until_ns, batch->closed_wall_ns);
	}
	count_sequence(counting, batch, index);
	return count_delay(counting, batch, index);
}

/*
 * Counts late batches. A host's clock that is behind adds the same time to the delays of all its
 * batches, so the host's shortest delay is subtracted.
 */
static void count_late(struct counting *counting)
{
	for (size_t i = 0; i < counting->delays.count; i++) {
		const struct delay *delay = &counting->delays.items[i];
		struct host_losses *host = &counting->hosts[delay->host];

		host->n_late += delay->ms - host->least_delay_ms >= LATE_MS;
	}
}

static int read_counters(struct store_view *view, const struct losses_range *range, size_t count,
			 struct arena *arena, struct host_losses *hosts)
{
	const char *names[ARRAY_SIZE(rows)];
	struct counting counting = { .hosts = hosts };
	struct store_counter_query query = {
		.from_slot = range->from_slot,
		.to_slot = range->to_slot,
		.names = names,
		.n_names = ARRAY_SIZE(rows),
	};
	size_t n_boots = 0;
	uint32_t *boots;
	size_t *host_of;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		names[i] = rows[i].name;
	for (size_t i = 0; i < count; i++)
		n_boots += hosts[i].machine.n_boots;
	boots = arena_alloc_array(arena, n_boots + 1, sizeof(*boots));
	host_of = arena_alloc_array(arena, n_boots + 1, sizeof(*host_of));
	if (!boots || !host_of)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < hosts[i].machine.n_boots; k++) {
			host_of[query.n_hosts] = i;
			boots[query.n_hosts++] = hosts[i].machine.boots[k];
		}
	query.hosts = boots;
	query.max_batches = MAX(MAX_BATCHES / (n_boots + 1), (size_t)MIN_BATCHES);
	counting.host_of = host_of;
	r = store_scan_counters(view, &query, count_batch, &counting);
	end_run(&counting);
	count_late(&counting);
	vec_release(&counting.delays);
	return r == -EOPNOTSUPP ? 0 : r;
}

/* Inserts a gap into the largest ones. */
static void add_gap(struct losses *losses, struct host_losses *host, const struct loss_gap *gap)
{
	uint64_t slots = gap->end_slot - gap->first_slot;
	size_t index = losses->n_listed_gaps;
	struct loss_gap *gaps = losses->gaps;

	host->gap_slots += slots;
	host->n_gaps++;
	while (index > 0 && gaps[index - 1].end_slot - gaps[index - 1].first_slot < slots)
		index--;
	if (index == LOSSES_MAX_GAPS)
		return;
	losses->n_listed_gaps = MIN(losses->n_listed_gaps + 1, (size_t)LOSSES_MAX_GAPS);
	memmove(&gaps[index + 1], &gaps[index],
		(losses->n_listed_gaps - index - 1) * sizeof(*gaps));
	gaps[index] = *gap;
	(void)snprintf(gaps[index].host, sizeof(gaps[index].host), "%.*s", LOSSES_NAME_SIZE - 1,
		       host->machine.host->name);
}

/*
 * Finds the gaps of a host. The time before the first batch is a gap only if the host was known
 * before the range; the time after the last batch is a gap only once the next batch is overdue.
 */
static void find_gaps(const struct losses_range *range, const struct coverage_interval *covered,
		      size_t count, struct host_losses *host, struct losses *losses)
{
	uint64_t grace_ns = 2 * host->longest_batch_ns + ARRIVAL_NS;
	uint64_t seen_slot = host->machine.first_seen_ns / SLOT_NS;
	uint64_t now_slot = range->now_ns / SLOT_NS;
	uint64_t end_slot = MIN(range->to_slot, now_slot);
	uint64_t last_end = count > 0 ? covered[count - 1].end : 0;

	if (count == 0)
		return;
	if (seen_slot < range->from_slot && covered[0].first >= range->from_slot + LEAST_GAP_SLOTS)
		add_gap(losses, host,
			&(struct loss_gap){ .first_slot = range->from_slot,
					    .end_slot = covered[0].first });
	for (size_t i = 1; i < count; i++)
		if (covered[i].first - covered[i - 1].end >= LEAST_GAP_SLOTS)
			add_gap(losses, host,
				&(struct loss_gap){ .first_slot = covered[i - 1].end,
						    .end_slot = covered[i].first });
	if (last_end + LEAST_GAP_SLOTS <= end_slot && last_end + grace_ns / SLOT_NS < now_slot)
		add_gap(losses, host,
			&(struct loss_gap){
				.first_slot = last_end, .end_slot = end_slot, .at_end = true });
}

static int read_coverage(struct store_view *view, const struct losses_range *range, size_t count,
			 struct host_losses *hosts, struct losses *losses)
{
	struct coverage coverage = { .from_slot = range->from_slot, .to_slot = range->to_slot };
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		size_t begin = coverage.covered.count;

		r = coverage_add_hosts(&coverage, view, hosts[i].machine.boots,
				       hosts[i].machine.n_boots, &hosts[i].covered_slots);
		if (r == 0 && coverage.covered.count > begin && has_agent(&hosts[i]))
			find_gaps(range, &coverage.covered.items[begin],
				  coverage.covered.count - begin, &hosts[i], losses);
	}
	if (r == 0)
		losses->covered_slots = coverage_of_all(&coverage);
	coverage_release(&coverage);
	return r;
}

static void add_host(struct losses *losses, const struct host_losses *host)
{
	uint64_t *sums = (uint64_t *)&losses->counts;
	const uint64_t *counts = (const uint64_t *)&host->counts;

	static_assert(sizeof(struct loss_counts) % sizeof(uint64_t) == 0, "only counters");
	for (size_t i = 0; i < sizeof(struct loss_counts) / sizeof(uint64_t); i++)
		sums[i] += counts[i];
	losses->n_batches += host->n_batches;
	losses->n_late += host->n_late;
	losses->n_missing += host->n_missing;
	losses->counted_ns += host->counted_ns;
	losses->gap_slots += host->gap_slots;
	losses->n_gaps += host->n_gaps;
}

static int read_hosts(struct store_view *view, const struct losses_range *range,
		      const struct loss_machine *machines, size_t count, struct arena *arena,
		      struct host_losses **ret_hosts)
{
	struct host_losses *hosts = arena_alloc_array(arena, count + 1, sizeof(*hosts));

	if (!hosts)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		hosts[i] = (struct host_losses){
			.machine = machines[i],
			.least_delay_ms = INT64_MAX,
		};
	*ret_hosts = hosts;
	return read_counters(view, range, count, arena, hosts);
}

int losses_read(struct store_view *view, const struct losses_range *range,
		const struct loss_machine *machines, size_t count, struct arena *arena,
		struct host_losses **ret_hosts, struct losses *ret_losses)
{
	struct host_losses *hosts;
	int r;

	*ret_losses = (struct losses){ .n_hosts = count };
	r = read_hosts(view, range, machines, count, arena, &hosts);
	if (r == 0)
		r = read_coverage(view, range, count, hosts, ret_losses);
	if (r < 0 && r != -E2BIG)
		return r;
	/* Of such a range, only a part of the coverage was read. */
	if (r == -E2BIG)
		*ret_losses = (struct losses){ .n_hosts = count };
	for (size_t i = 0; i < count; i++)
		add_host(ret_losses, &hosts[i]);
	*ret_hosts = hosts;
	return r;
}

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

int losses_machines(struct store_host *hosts, size_t count, struct arena *arena,
		    struct loss_machine **ret_machines, size_t *ret_count)
{
	struct loss_machine *machines = arena_alloc_array(arena, count + 1, sizeof(*machines));
	uint32_t *boots = arena_alloc_array(arena, count + 1, sizeof(*boots));
	size_t n = 0;

	if (!machines || !boots)
		return -ENOMEM;
	if (count > 0)
		qsort(hosts, count, sizeof(*hosts), compare_hosts);
	for (size_t i = 0; i < count; i++) {
		boots[i] = hosts[i].id;
		if (i == 0 || strcmp(hosts[i].name, hosts[i - 1].name) != 0)
			machines[n++] = (struct loss_machine){
				.host = &hosts[i],
				.boots = &boots[i],
				.first_seen_ns = hosts[i].first_seen_ns,
			};
		machines[n - 1].n_boots++;
		machines[n - 1].first_seen_ns =
			MIN(machines[n - 1].first_seen_ns, hosts[i].first_seen_ns);
	}
	*ret_machines = machines;
	*ret_count = n;
	return 0;
}

static int hosts_of_series(const struct store_series *series, size_t n_series, struct arena *arena,
			   struct store_host **ret_hosts, size_t *ret_count)
{
	scoped(hash_table_freep) struct hash_table *seen = NULL;
	VEC_DEFINE(, struct store_host) found = {};
	int r;

	r = hash_table_new(sizeof(uint32_t), 0, 0, &seen);
	for (size_t i = 0; r >= 0 && i < n_series; i++) {
		const struct store_host *host = series[i].process->host;

		r = hash_table_insert(seen, &host->id, NULL);
		if (r > 0)
			r = vec_push(&found, *host);
	}
	if (r >= 0) {
		*ret_count = found.count;
		*ret_hosts = arena_alloc_array(arena, found.count + 1, sizeof(**ret_hosts));
		r = *ret_hosts ? 0 : -ENOMEM;
	}
	if (r == 0 && found.count > 0)
		memcpy(*ret_hosts, found.items, found.count * sizeof(*found.items));
	vec_release(&found);
	return r;
}

int losses_of_series(struct store_view *view, const struct losses_range *range,
		     const struct store_series *series, size_t n_series, struct arena *arena,
		     struct host_losses **ret_hosts, struct losses *ret_losses)
{
	struct loss_machine *machines;
	struct store_host *hosts;
	size_t n_hosts, count;
	int r;

	r = hosts_of_series(series, n_series, arena, &hosts, &n_hosts);
	if (r == 0)
		r = losses_machines(hosts, n_hosts, arena, &machines, &count);
	if (r == 0)
		r = losses_read(view, range, machines, count, arena, ret_hosts, ret_losses);
	return r == -E2BIG ? 0 : r;
}
