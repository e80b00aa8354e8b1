/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/coverage.h"

#include <stdlib.h>

#include "common/limits.h"

#define SLOTS_PER_SECOND (NSEC_PER_SEC / SLOT_NS)

struct host_coverage {
	struct coverage *coverage;
	size_t begin; /* index in coverage->covered of the first interval that this call adds */
};

/* Consecutive batches of one agent touch, so most batches extend the previous interval. */
static int add_interval(void *arg, uint32_t host, uint64_t first_slot, uint64_t last_slot)
{
	const struct host_coverage *of_hosts = arg;
	struct coverage *coverage = of_hosts->coverage;
	struct coverage_interval added = {
		.first = MAX(first_slot, coverage->from_slot),
		.end = MIN(last_slot + 1, coverage->to_slot),
	};
	struct coverage_interval *before = NULL;

	(void)host;
	if (++coverage->n_batches > COVERAGE_MAX_BATCHES)
		return -E2BIG;
	if (added.first >= added.end)
		return 0;
	if (coverage->covered.count > of_hosts->begin)
		before = &coverage->covered.items[coverage->covered.count - 1];
	if (before && added.first >= before->first && added.first <= before->end) {
		before->end = MAX(before->end, added.end);
		return 0;
	}
	return vec_push(&coverage->covered, added);
}

static int compare_intervals(const void *a, const void *b)
{
	const struct coverage_interval *left = a;
	const struct coverage_interval *right = b;

	return left->first < right->first ? -1 : left->first > right->first;
}

/* Sorts the intervals from @begin on, merges those that touch, and returns their slots. */
static uint64_t merge_from(struct coverage *coverage, size_t begin)
{
	struct coverage_interval *items = coverage->covered.items;
	size_t count = coverage->covered.count;
	size_t end = begin;
	uint64_t slots = 0;

	if (begin == count)
		return 0;
	qsort(&items[begin], count - begin, sizeof(*items), compare_intervals);
	for (size_t i = begin; i < count; i++) {
		if (end > begin && items[i].first <= items[end - 1].end)
			items[end - 1].end = MAX(items[end - 1].end, items[i].end);
		else
			items[end++] = items[i];
	}
	coverage->covered.count = end;
	for (size_t i = begin; i < end; i++)
		slots += items[i].end - items[i].first;
	return slots;
}

int coverage_add_hosts(struct coverage *coverage, struct store_view *view, const uint32_t *hosts,
		       size_t n_hosts, uint64_t *ret_slots)
{
	struct host_coverage of_hosts = { .coverage = coverage, .begin = coverage->covered.count };
	int r;

	r = store_scan_coverage(view, hosts, n_hosts, coverage->from_slot, coverage->to_slot,
				add_interval, &of_hosts);
	if (r < 0 && r != -EOPNOTSUPP)
		return r;
	*ret_slots = merge_from(coverage, of_hosts.begin);
	return 0;
}

uint64_t coverage_of_all(struct coverage *coverage)
{
	return merge_from(coverage, 0);
}

void coverage_release(struct coverage *coverage)
{
	vec_release(&coverage->covered);
}

uint64_t coverage_seconds(uint64_t slots)
{
	if (slots == 0)
		return 0;
	return MAX((slots + SLOTS_PER_SECOND / 2) / SLOTS_PER_SECOND, UINT64_C(1));
}
