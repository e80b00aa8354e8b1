/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/reduced.h"

#include "common/hash_table.h"

/* @shortest: uint32_t host id -> uint64_t period */
static int find_shortest(const struct store_series *series, size_t n_series, struct hash_table *shortest)
{
	for (size_t i = 0; i < n_series; i++) {
		uint64_t *period_ns;
		void *value;
		int r;

		if (series[i].period_ns == 0)
			continue;
		r = hash_table_insert(shortest, &series[i].process->host->id, &value);
		if (r < 0)
			return r;
		period_ns = value;
		if (*period_ns == 0 || series[i].period_ns < *period_ns)
			*period_ns = series[i].period_ns;
	}
	return 0;
}

int reduced_find(const struct store_series *series, size_t n_series, struct arena *arena, bool **ret_reduced)
{
	scoped(hash_table_freep) struct hash_table *shortest = NULL;
	bool *reduced = arena_alloc_array(arena, n_series + 1, sizeof(*reduced));
	int r;

	if (!reduced)
		return -ENOMEM;
	r = hash_table_new(sizeof(uint32_t), sizeof(uint64_t), 0, &shortest);
	if (r == 0)
		r = find_shortest(series, n_series, shortest);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n_series; i++) {
		const uint64_t *period_ns = hash_table_find(shortest, &series[i].process->host->id);

		reduced[i] = period_ns && series[i].period_ns > *period_ns;
	}
	*ret_reduced = reduced;
	return 0;
}
