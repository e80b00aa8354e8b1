/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/debuginfo/debuginfo_private.h"
#include "symbolizer/debuginfo/debuginfo_upstream.h"
#include "symbolizer/debuginfo/upstream_private.h"

/*
 * Who was asked for what. A fleet names the same executables in every batch: the table answers
 * nearly all questions without the database, by remembering of each identity until when there is
 * nothing to ask, and at which generation of the store its file was seen.
 */

#define ASK_AGAIN_NS         (600 * NSEC_PER_SEC)
#define ASK_AFTER_REFUSAL_NS (3600 * NSEC_PER_SEC)

/* Beyond this, entries are dropped but those of asked agents that still have time; if all are such,
 * nobody is asked. */
#define MAX_ASKED 65536

struct asked {
	uint64_t not_before_ns;      /* monotonic */
	uint64_t present_generation; /* a file was there; 0: was not */
};

int debuginfo_asked_new(struct hash_table **ret_asked)
{
	return hash_table_new(sizeof(struct executable_id), sizeof(struct asked), MAX_ASKED,
			      ret_asked);
}

/* With the table full of asked agents every look at it would walk all of it, in vain: nothing that
 * was in time a moment ago is over now. */
#define SWEEP_INTERVAL_NS (10 * NSEC_PER_SEC)

static void drop_idle_entries(struct hash_table *asked, uint64_t now)
{
	const void *id;
	size_t cursor = 0;
	void *value;

	while (hash_table_next(asked, &cursor, &id, &value)) {
		const struct asked *entry = value;

		if (entry->not_before_ns <= now)
			hash_table_remove_at_cursor(asked, &cursor);
	}
}

/* NULL when the table is full of entries that count. */
static struct asked *entry_of(struct debuginfo_store *store, const struct executable_id *id,
			      uint64_t now)
{
	void *value;
	int r;

	r = hash_table_insert(store->asked, id, &value);
	if (r == -ENOSPC && now >= store->asked_sweep_after_ns) {
		store->asked_sweep_after_ns = now + SWEEP_INTERVAL_NS;
		drop_idle_entries(store->asked, now);
		r = hash_table_insert(store->asked, id, &value);
	}
	return r < 0 ? NULL : value;
}

void debuginfo_refused(struct debuginfo_store *store, const struct executable_id *id)
{
	uint64_t now = clock_monotonic_ns(store->clock);
	struct asked *entry;

	(void)pthread_mutex_lock(&store->asked_lock);
	entry = entry_of(store, id, now);
	if (entry)
		entry->not_before_ns = now + ASK_AFTER_REFUSAL_NS;
	(void)pthread_mutex_unlock(&store->asked_lock);
}

/* Debug sections are worth asking for where an agent sent symbols alone. */
static void ask_upstream(struct debuginfo_store *store, const struct executable_id *id)
{
	const struct debuginfo_key key = { .id = *id,
					   .kind = DEBUGINFO_KIND_DEBUGINFO,
					   .path = "" };
	struct debuginfo_upstream *upstream = atomic_load(&store->upstream);

	if (upstream)
		(void)debuginfo_upstream_want(upstream, &key, NULL);
}

/* With the lock held. */
static int want(struct debuginfo_store *store, const struct executable_id *id)
{
	uint64_t generation = debuginfo_generation(store);
	uint64_t now = clock_monotonic_ns(store->clock);
	struct asked *entry = entry_of(store, id, now);
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
	struct asked *entry;

	(void)pthread_mutex_lock(&store->asked_lock);
	entry = hash_table_find(store->asked, id);
	if (entry)
		entry->not_before_ns = 0;
	(void)pthread_mutex_unlock(&store->asked_lock);
}

int debuginfo_want(struct debuginfo_store *store, const struct executable_id *id,
		   const uint8_t agent_id[16])
{
	int r;

	/* Any agent that has the file will do; the caller speaks for the one that it is answering.
	 */
	(void)agent_id;
	if (id->kind == EXECUTABLE_ID_NONE)
		return 0;
	(void)pthread_mutex_lock(&store->asked_lock);
	r = want(store, id);
	(void)pthread_mutex_unlock(&store->asked_lock);
	return r;
}

/* When an agent may be asked for @id again, by the monotonic clock; 0: none was. */
static uint64_t agents_again_ns(struct debuginfo_store *store, const struct executable_id *id)
{
	const struct asked *entry;
	uint64_t again_ns;

	(void)pthread_mutex_lock(&store->asked_lock);
	entry = hash_table_find(store->asked, id);
	again_ns = entry ? entry->not_before_ns : 0;
	(void)pthread_mutex_unlock(&store->asked_lock);
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
		.has_upstream = atomic_load(&store->upstream) != NULL,
	};
	int r;

	if (again_ns > 0)
		search.agents_again_wall_ns =
			clock_wall_ns(store->clock) + again_ns - clock_monotonic_ns(store->clock);
	r = upstream_last_miss(store, &key, &search.n_upstream_misses,
			       &search.upstream_again_wall_ns);
	if (r < 0)
		return r;
	*ret_search = search;
	return 0;
}
