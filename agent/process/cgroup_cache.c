/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process/cgroup_cache.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash_table.h"
#include "common/scoped.h"

/*
 * Maximum number of entries. Each container has one. Entries of containers that have ended are
 * never used again, so when the table is full all entries are removed.
 */
#define MAX_CGROUPS 4096

struct cached_labels {
	size_t count;
	struct process_label labels[PROCESS_MAX_LABELS];
};

struct cgroup_cache {
	struct hash_table *by_cgroups; /* uint64_t -> struct cached_labels */
};

DEFINE_SCOPED(struct cgroup_cache *, cgroup_cache_free);

int cgroup_cache_new(struct cgroup_cache **ret_cache)
{
	scoped(cgroup_cache_freep) struct cgroup_cache *cache = calloc(1, sizeof(*cache));
	int r;

	if (!cache)
		return -ENOMEM;
	r = hash_table_new(sizeof(uint64_t), sizeof(struct cached_labels), MAX_CGROUPS,
			   &cache->by_cgroups);
	if (r < 0)
		return r;
	*ret_cache = take_ptr(cache);
	return 0;
}

struct cgroup_cache *cgroup_cache_free(struct cgroup_cache *cache)
{
	if (!cache)
		return NULL;
	(void)hash_table_free(cache->by_cgroups);
	free(cache);
	return NULL;
}

void cgroup_cache_clear(struct cgroup_cache *cache)
{
	hash_table_clear(cache->by_cgroups);
}

void cgroup_cache_add(struct cgroup_cache *cache, const struct process *process)
{
	struct cached_labels *cached;
	void *value;

	if (hash_table_count(cache->by_cgroups) >= MAX_CGROUPS)
		hash_table_clear(cache->by_cgroups);
	if (hash_table_insert(cache->by_cgroups, &process->cgroups, &value) < 0)
		return;
	cached = value;
	cached->count = MIN(process->n_cgroup_labels, (size_t)PROCESS_MAX_LABELS);
	if (cached->count > 0)
		memcpy(cached->labels, process->labels, cached->count * sizeof(*cached->labels));
}

int cgroup_cache_find(struct cgroup_cache *cache, struct process *process)
{
	const struct cached_labels *cached;
	struct process_label *labels = NULL;

	cached = process->cgroups ? hash_table_find(cache->by_cgroups, &process->cgroups) : NULL;
	if (!cached)
		return 0;
	if (cached->count > 0) {
		labels = calloc(PROCESS_MAX_LABELS, sizeof(*labels));
		if (!labels)
			return 0;
		memcpy(labels, cached->labels, cached->count * sizeof(*labels));
	}
	free(process->labels);
	process->labels = labels;
	process->n_labels = process->n_cgroup_labels = cached->count;
	return 1;
}
