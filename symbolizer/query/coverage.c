/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/coverage.h"

#include <stdlib.h>

#include "common/hash_table.h"
#include "common/limits.h"
#include "common/vec.h"

#define SLOTS_PER_SECOND (NSEC_PER_SEC / SLOT_NS)

/* [first, end) */
struct interval {
	uint64_t first, end;
};

struct intervals {
	uint64_t from_slot, to_slot;
	VEC_DEFINE(, struct interval) all;
};

/* Batches of one agent follow each other, so most of them lengthen the interval before. */
static int add_interval(void *arg, uint32_t host, uint64_t first_slot, uint64_t last_slot)
{
	struct intervals *intervals = arg;
	struct interval added = {
		.first = MAX(first_slot, intervals->from_slot),
		.end = MIN(last_slot + 1, intervals->to_slot),
	};
	struct interval *before = NULL;

	(void)host;
	if (added.first >= added.end)
		return 0;
	if (intervals->all.count > 0)
		before = &intervals->all.items[intervals->all.count - 1];
	if (before && added.first >= before->first && added.first <= before->end) {
		before->end = MAX(before->end, added.end);
		return 0;
	}
	return vec_push(&intervals->all, added);
}

static int compare_intervals(const void *a, const void *b)
{
	const struct interval *left = a;
	const struct interval *right = b;

	return left->first < right->first ? -1 : left->first > right->first;
}

static uint64_t length_of_union(struct intervals *intervals)
{
	uint64_t covered_until = 0;
	uint64_t length = 0;

	if (intervals->all.count == 0)
		return 0;
	qsort(intervals->all.items, intervals->all.count, sizeof(struct interval),
	      compare_intervals);
	for (size_t i = 0; i < intervals->all.count; i++) {
		const struct interval *interval = &intervals->all.items[i];
		uint64_t first = MAX(interval->first, covered_until);

		if (interval->end <= first)
			continue;
		length += interval->end - first;
		covered_until = interval->end;
	}
	return length;
}

int coverage_of_hosts(struct store *store, const uint32_t *hosts, size_t n_hosts,
		      uint64_t from_slot, uint64_t to_slot, uint64_t *ret_slots)
{
	struct intervals intervals = { .from_slot = from_slot, .to_slot = to_slot };
	uint64_t slots = 0;
	int r;

	r = store_scan_coverage(store, hosts, n_hosts, from_slot, to_slot, add_interval,
				&intervals);
	if (r == 0)
		slots = length_of_union(&intervals);
	vec_release(&intervals.all);
	if (r < 0 && r != -EOPNOTSUPP)
		return r;
	*ret_slots = slots;
	return 0;
}

int coverage_of_series(struct store *store, const struct store_series *series, size_t n_series,
		       uint64_t from_slot, uint64_t to_slot, uint64_t *ret_slots)
{
	scoped(hash_table_freep) struct hash_table *seen = NULL;
	VEC_DEFINE(, uint32_t) hosts = {};
	void *unused;
	int r;

	r = hash_table_new(sizeof(uint32_t), 0, 0, &seen);
	for (size_t i = 0; r >= 0 && i < n_series; i++) {
		uint32_t host = series[i].process->host->id;

		r = hash_table_insert(seen, &host, &unused);
		if (r > 0)
			r = vec_push(&hosts, host);
	}
	if (r >= 0)
		r = coverage_of_hosts(store, hosts.items, hosts.count, from_slot, to_slot,
				      ret_slots);
	vec_release(&hosts);
	return r;
}

uint64_t coverage_seconds(uint64_t slots)
{
	if (slots == 0)
		return 0;
	return MAX((slots + SLOTS_PER_SECOND / 2) / SLOTS_PER_SECOND, UINT64_C(1));
}
