/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array, indexed by series ID, has the host of each series; the IDs are dense. It takes 4 bytes
 * per series. Without it, each query would look up each series in hearth.db, and a scan could not
 * skip the blocks of other hosts.
 */

#include "symbolizer/store/sqlite/store_state.h"

#include <pthread.h>

#include "common/search.h"
#include "common/vec.h"

struct store_state {
	pthread_mutex_t lock;
	VEC_DEFINE(, struct day_entry) days; /* ascending */
	uint64_t generation;
	VEC_DEFINE(, uint32_t) series_hosts; /* indexed by series ID; 0: unknown */
	uint64_t n_series;
	struct hash_table *host_seen; /* host id -> wall ns */
};

int store_state_new(struct store_state **ret_state)
{
	scoped(store_state_freep) struct store_state *state = calloc(1, sizeof(*state));
	int r;

	if (!state)
		return -ENOMEM;
	(void)pthread_mutex_init(&state->lock, NULL);
	r = hash_table_new(sizeof(uint32_t), sizeof(uint64_t), 0, &state->host_seen);
	if (r < 0)
		return r;
	*ret_state = take_ptr(state);
	return 0;
}

struct store_state *store_state_free(struct store_state *state)
{
	if (!state)
		return NULL;
	vec_release(&state->days);
	vec_release(&state->series_hosts);
	(void)hash_table_free(state->host_seen);
	(void)pthread_mutex_destroy(&state->lock);
	free(state);
	return NULL;
}

/* Returns the index of the first day >= @day. */
static size_t find_day(const struct store_state *state, day_number day)
{
	return lower_bound(at, state->days.count, state->days.items[at].day < day);
}

static bool is_day_at(const struct store_state *state, size_t position, day_number day)
{
	return position < state->days.count && state->days.items[position].day == day;
}

int store_state_set_day(struct store_state *state, day_number day, const struct day_total *total)
{
	size_t position;
	int r = 0;

	(void)pthread_mutex_lock(&state->lock);
	position = find_day(state, day);
	if (!is_day_at(state, position, day)) {
		r = vec_reserve(&state->days, 1);
		if (r == 0) {
			memmove(&state->days.items[position + 1], &state->days.items[position],
				(state->days.count - position) * sizeof(struct day_entry));
			state->days.count++;
		}
	}
	if (r == 0)
		state->days.items[position] = (struct day_entry){ .day = day, .total = *total };
	(void)pthread_mutex_unlock(&state->lock);
	return r;
}

bool store_state_has_day(struct store_state *state, day_number day)
{
	bool found;

	(void)pthread_mutex_lock(&state->lock);
	found = is_day_at(state, find_day(state, day), day);
	(void)pthread_mutex_unlock(&state->lock);
	return found;
}

void store_state_take_day(struct store_state *state, day_number day)
{
	size_t position;

	(void)pthread_mutex_lock(&state->lock);
	position = find_day(state, day);
	if (is_day_at(state, position, day)) {
		state->days.count--;
		memmove(&state->days.items[position], &state->days.items[position + 1],
			(state->days.count - position) * sizeof(struct day_entry));
		state->generation++;
	}
	(void)pthread_mutex_unlock(&state->lock);
}

uint64_t store_state_generation(struct store_state *state)
{
	uint64_t generation;

	(void)pthread_mutex_lock(&state->lock);
	generation = state->generation;
	(void)pthread_mutex_unlock(&state->lock);
	return generation;
}

int store_state_days(struct store_state *state, day_number first, day_number last,
		     struct arena *arena, struct day_entry **ret_days, size_t *ret_count)
{
	struct day_entry *days;
	size_t begin, end;

	(void)pthread_mutex_lock(&state->lock);
	begin = find_day(state, first);
	end = begin;
	while (end < state->days.count && state->days.items[end].day <= last)
		end++;
	days = arena_copy(arena, begin < end ? &state->days.items[begin] : NULL,
			  (end - begin) * sizeof(struct day_entry));
	(void)pthread_mutex_unlock(&state->lock);
	if (!days)
		return -ENOMEM;
	*ret_days = days;
	*ret_count = end - begin;
	return 0;
}

int store_state_set_series_host(struct store_state *state, uint32_t series, uint32_t host)
{
	int r = 0;

	(void)pthread_mutex_lock(&state->lock);
	if (series >= state->series_hosts.count) {
		size_t missing = series + (size_t)1 - state->series_hosts.count;

		r = vec_reserve(&state->series_hosts, missing);
		if (r == 0) {
			memset(&state->series_hosts.items[state->series_hosts.count], 0,
			       missing * sizeof(uint32_t));
			state->series_hosts.count += missing;
		}
	}
	if (r == 0) {
		state->n_series += state->series_hosts.items[series] == 0;
		state->series_hosts.items[series] = host;
	}
	(void)pthread_mutex_unlock(&state->lock);
	return r;
}

uint32_t store_state_series_end(struct store_state *state)
{
	uint32_t end;

	(void)pthread_mutex_lock(&state->lock);
	end = (uint32_t)state->series_hosts.count;
	(void)pthread_mutex_unlock(&state->lock);
	return end;
}

void store_state_forget_series(struct store_state *state, uint32_t end)
{
	(void)pthread_mutex_lock(&state->lock);
	for (size_t i = end; i < state->series_hosts.count; i++)
		state->n_series -= state->series_hosts.items[i] != 0;
	state->series_hosts.count = MIN(state->series_hosts.count, (size_t)end);
	(void)pthread_mutex_unlock(&state->lock);
}

int store_state_hosts_of(struct store_state *state, const uint32_t *series, size_t count,
			 struct hash_table *hosts)
{
	uint32_t last = 0;
	int r = 0;

	(void)pthread_mutex_lock(&state->lock);
	for (size_t i = 0; i < count && r >= 0; i++) {
		uint32_t host = series[i] < state->series_hosts.count
					? state->series_hosts.items[series[i]]
					: 0;
		void *unused;

		if (host == 0 || host == last)
			continue;
		last = host;
		r = hash_table_insert(hosts, &host, &unused);
	}
	(void)pthread_mutex_unlock(&state->lock);
	return r < 0 ? r : 0;
}

int store_state_set_host_seen(struct store_state *state, uint32_t host, uint64_t wall_ns)
{
	uint64_t *seen;
	int r;

	(void)pthread_mutex_lock(&state->lock);
	r = hash_table_insert(state->host_seen, &host, (void **)&seen);
	if (r >= 0)
		*seen = MAX(*seen, wall_ns);
	(void)pthread_mutex_unlock(&state->lock);
	return r < 0 ? r : 0;
}

uint64_t store_state_host_seen(struct store_state *state, uint32_t host)
{
	const uint64_t *seen;
	uint64_t wall_ns;

	(void)pthread_mutex_lock(&state->lock);
	seen = hash_table_find(state->host_seen, &host);
	wall_ns = seen ? *seen : 0;
	(void)pthread_mutex_unlock(&state->lock);
	return wall_ns;
}

struct store_counts store_state_counts(struct store_state *state)
{
	struct store_counts counts = {};

	(void)pthread_mutex_lock(&state->lock);
	for (size_t i = 0; i < state->days.count; i++) {
		counts.n_batches += state->days.items[i].total.n_batches;
		counts.n_rows += state->days.items[i].total.n_rows;
	}
	counts.n_series = state->n_series;
	(void)pthread_mutex_unlock(&state->lock);
	return counts;
}
