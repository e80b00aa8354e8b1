/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether an agent is asked to upload an executable. A fleet names the same executables in
 * every batch, so a table in memory answers nearly all calls without the database: for each
 * identity it has the time before which no agent is asked, and the generation of the store in
 * which a file of the identity was found.
 */

#include "symbolizer/debuginfo/debuginfo_private.h"

#define ASK_AGAIN_NS         (600 * NSEC_PER_SEC)
#define ASK_AFTER_REFUSAL_NS (3600 * NSEC_PER_SEC)

/*
 * In a full table, entries with a time in the past are dropped. If no entry is in the past, agents
 * are not asked for further identities.
 */
#define MAX_REQUESTS 65536

struct request {
	uint64_t not_before_ns;      /* monotonic; no agent is asked before */
	uint64_t present_generation; /* in which the store had a trusted file; 0: it had none */
};

int debuginfo_requests_new(struct hash_table **ret_requests)
{
	return hash_table_new(sizeof(struct executable_id), sizeof(struct request), MAX_REQUESTS,
			      ret_requests);
}

/*
 * When no entry of a full table can be dropped, every further call would walk the whole table in
 * vain. It is walked at most this often.
 */
#define SWEEP_INTERVAL_NS (10 * NSEC_PER_SEC)

static void drop_idle_entries(struct hash_table *requests, uint64_t now)
{
	const void *id;
	size_t cursor = 0;
	void *value;

	while (hash_table_next(requests, &cursor, &id, &value)) {
		const struct request *entry = value;

		if (entry->not_before_ns <= now)
			hash_table_remove_at_cursor(requests, &cursor);
	}
}

/* NULL when the table is full and no entry can be dropped. */
static struct request *entry_of(struct debuginfo_store *store, const struct executable_id *id,
				uint64_t now)
{
	void *value;
	int r;

	r = hash_table_insert(store->requests, id, &value);
	if (r == -ENOSPC && now >= store->requests_sweep_after_ns) {
		store->requests_sweep_after_ns = now + SWEEP_INTERVAL_NS;
		drop_idle_entries(store->requests, now);
		r = hash_table_insert(store->requests, id, &value);
	}
	return r < 0 ? NULL : value;
}

void debuginfo_refused(struct debuginfo_store *store, const struct executable_id *id)
{
	uint64_t now = clock_monotonic_ns(store->clock);
	struct request *entry;

	(void)pthread_mutex_lock(&store->requests_lock);
	entry = entry_of(store, id, now);
	if (entry)
		entry->not_before_ns = now + ASK_AFTER_REFUSAL_NS;
	(void)pthread_mutex_unlock(&store->requests_lock);
}

/*
 * Requests the debuginfo from upstream servers, also when an agent has sent the symbols alone: an
 * upstream server may have the debug sections.
 */
static void ask_upstream(struct debuginfo_store *store, const struct executable_id *id)
{
	const struct debuginfo_key key = { .id = *id,
					   .kind = DEBUGINFO_KIND_DEBUGINFO,
					   .path = "" };
	struct debuginfo_fetcher *fetcher = atomic_load(&store->fetcher);

	if (fetcher)
		fetcher->fetch(fetcher, &key);
}

/* The caller holds requests_lock. */
static int want(struct debuginfo_store *store, const struct executable_id *id)
{
	uint64_t generation = debuginfo_generation(store);
	uint64_t now = clock_monotonic_ns(store->clock);
	struct request *entry = entry_of(store, id, now);
	struct debuginfo_entry found;
	int r;

	if (!entry || entry->not_before_ns > now || entry->present_generation == generation)
		return DEBUGINFO_DO_NOT_ASK;
	r = debuginfo_find(store, id, &found);
	if (r < 0)
		return r;
	if (r == 0 || found.richness < DEBUGINFO_LINES)
		ask_upstream(store, id);
	if (r > 0 && found.origin > DEBUGINFO_FROM_USER) {
		entry->present_generation = generation;
		return DEBUGINFO_DO_NOT_ASK;
	}
	entry->present_generation = 0;
	entry->not_before_ns = now + ASK_AGAIN_NS;
	return r > 0 ? DEBUGINFO_ASK_TRUSTED : DEBUGINFO_ASK;
}

void debuginfo_came_from_user(struct debuginfo_store *store, const struct executable_id *id)
{
	struct request *entry;

	(void)pthread_mutex_lock(&store->requests_lock);
	entry = hash_table_find(store->requests, id);
	if (entry)
		entry->not_before_ns = 0;
	(void)pthread_mutex_unlock(&store->requests_lock);
}

int debuginfo_want(struct debuginfo_store *store, const struct executable_id *id,
		   const uint8_t agent_id[16])
{
	int r;

	/* Any agent that has the file may send it: the limits hold for all agents together. */
	(void)agent_id;
	if (id->kind == EXECUTABLE_ID_NONE)
		return 0;
	(void)pthread_mutex_lock(&store->requests_lock);
	r = want(store, id);
	(void)pthread_mutex_unlock(&store->requests_lock);
	return r;
}

/*
 * Returns the monotonic time from which an agent may be asked for @id again; 0 if no agent was
 * asked.
 */
static uint64_t agents_again_ns(struct debuginfo_store *store, const struct executable_id *id)
{
	const struct request *entry;
	uint64_t again_ns;

	(void)pthread_mutex_lock(&store->requests_lock);
	entry = hash_table_find(store->requests, id);
	again_ns = entry ? entry->not_before_ns : 0;
	(void)pthread_mutex_unlock(&store->requests_lock);
	return again_ns;
}

int debuginfo_search_of(struct debuginfo_store *store, const struct executable_id *id,
			struct debuginfo_search *ret_search)
{
	const struct debuginfo_key key = { .id = *id,
					   .kind = DEBUGINFO_KIND_DEBUGINFO,
					   .path = "" };
	const uint64_t again_ns = agents_again_ns(store, id);
	struct debuginfo_search search = {
		.has_upstream = atomic_load(&store->fetcher) != NULL,
	};
	int r;

	if (again_ns > 0)
		search.agents_again_wall_ns =
			clock_wall_ns(store->clock) + again_ns - clock_monotonic_ns(store->clock);
	r = negative_cache_read(store, &key, &search.n_upstream_misses,
				&search.upstream_again_wall_ns);
	if (r < 0)
		return r;
	*ret_search = search;
	return 0;
}
