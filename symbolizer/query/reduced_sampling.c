/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/reduced_sampling.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/hash_table.h"

/* Fills @shortest, a map from uint32_t host ID to uint64_t period_ns. */
static int find_shortest(const struct store_series *series, size_t n_series,
			 struct hash_table *shortest)
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

int reduced_sampling_find(const struct store_series *series, size_t n_series, struct arena *arena,
			  bool **ret_reduced)
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

/* Returns the value of REDUCED_LABEL; NULL: the host's agent has reduced nothing. */
static const char *state_of(const struct store_host *host)
{
	for (uint32_t i = 0; i < host->n_labels; i++)
		if (strcmp(host->labels[i].name, REDUCED_LABEL) == 0)
			return host->labels[i].value;
	return NULL;
}

int reduced_sampling_describe_hosts(const struct store_series *series, size_t n_series,
				    char *ret_text, size_t size)
{
	scoped(hash_table_freep) struct hash_table *hosts = NULL;
	const struct store_host *first = NULL;
	size_t n_hosts = 0;
	int r = hash_table_new(sizeof(uint32_t), sizeof(bool), 0, &hosts);

	ret_text[0] = '\0';
	for (size_t i = 0; i < n_series && r >= 0; i++) {
		const struct store_host *host = series[i].process->host;
		void *value;

		r = hash_table_insert(hosts, &host->id, &value);
		if (r <= 0 || !state_of(host))
			continue;
		n_hosts++;
		first = first ? first : host;
	}
	if (r < 0 || !first)
		return r < 0 ? r : 0;
	(void)snprintf(ret_text, size,
		       "the agent of host '%s' has reduced sampling to keep its budget: %s",
		       first->name, state_of(first));
	if (n_hosts > 1)
		(void)snprintf(ret_text + strlen(ret_text), size - strlen(ret_text),
			       " (and %zu more hosts, see /v1/hosts)", n_hosts - 1);
	return 0;
}
