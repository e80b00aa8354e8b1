/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/segment_db/batch_state.h"

#include <string.h>

#include "common/arena.h"
#include "symbolizer/store/segment_db/segment_db_private.h"

#define MS_PER_SLOT (SLOT_NS / NSEC_PER_MSEC)

/* Runs and maps of names: 100 bytes for each of a million runs. */
#define MAX_ARENA_BYTES (256 * MIB)

static void drop_logs(struct batch_state *state)
{
	if (!state->db)
		return;
	fair_lock_take(&state->db->inbox_lock);
	for (size_t i = 0; i < ARRAY_SIZE(state->logs); i++)
		state->logs[i] = batch_log_unref(state->logs[i]);
	fair_lock_give(&state->db->inbox_lock);
}

static void clear_state(struct batch_state *state)
{
	drop_logs(state);
	for (size_t i = 0; i < state->files.count; i++)
		(void)sqlite_db_free(state->files.items[i].file);
	vec_clear(&state->files);
	vec_clear(&state->batches);
	if (state->arena)
		arena_clear(state->arena);
}

void batch_state_release(struct batch_state *state)
{
	clear_state(state);
	vec_release(&state->files);
	vec_release(&state->batches);
	vec_release(&state->agents);
	(void)hash_table_free(state->agent_index);
	(void)arena_free(state->arena);
}

uint8_t batch_state_index_of(const struct segment_db_batch_query *query, const char *name)
{
	for (size_t i = 0; i < query->n_names; i++)
		if (strncmp(query->names[i], name, strlen(query->names[i])) == 0)
			return (uint8_t)i;
	return NAME_NOT_ASKED;
}

static int add_agent(struct batch_state *state, const struct hash128 *agent, size_t *ret_index)
{
	size_t *index;
	int r = hash_table_insert(state->agent_index, agent, (void **)&index);

	if (r > 0) {
		*index = state->agents.count;
		r = vec_push(&state->agents,
			     ((struct scanned_agent){ .id = *agent,
						      .n_left = state->query->max_batches }));
	}
	if (r < 0)
		return r;
	*ret_index = *index;
	return 0;
}

int batch_state_find_agent(struct batch_state *state, const struct hash128 *agent,
			   size_t *ret_index)
{
	const size_t *index;
	int r;

	if (!state->query->agents) {
		r = add_agent(state, agent, ret_index);
		return r < 0 ? r : 1;
	}
	index = hash_table_find(state->agent_index, agent);
	if (!index)
		return 0;
	*ret_index = *index;
	return 1;
}

/* A log in memory, copied under inbox_lock. */
struct copied_log {
	struct log_run *runs; /* [n_runs] */
	size_t *agents;       /* [n_runs] */
	size_t n_runs;
	struct log_names names;
};

static int copy_runs(struct batch_state *state, const struct log_tenant *tenant,
		     struct copied_log *copied)
{
	copied->names = tenant->names;
	copied->runs = arena_alloc_array(state->arena, tenant->n_runs, sizeof(*copied->runs));
	copied->agents = arena_alloc_array(state->arena, tenant->n_runs, sizeof(*copied->agents));
	if (!copied->runs || !copied->agents)
		return -ENOMEM;
	for (size_t i = 0; i < tenant->n_runs; i++) {
		int r = batch_state_find_agent(state, &tenant->runs[i]->agent,
					       &copied->agents[copied->n_runs]);

		if (r < 0)
			return r;
		if (r > 0)
			copied->runs[copied->n_runs++] = *tenant->runs[i];
	}
	return 0;
}

/* The caller holds inbox_lock. */
static int copy_log(struct batch_state *state, size_t index, struct batch_log *log,
		    struct copied_log *copied)
{
	const struct log_tenant *tenant = log ? batch_log_tenant(log, state->query->tenant) : NULL;

	if (!tenant)
		return 0;
	state->logs[index] = batch_log_ref(log);
	return copy_runs(state, tenant, copied);
}

static int map_log_names(struct batch_state *state, const struct log_names *names,
			 const uint8_t **ret_index_of)
{
	uint8_t *index_of = arena_alloc(state->arena, names->count + 1);

	if (!index_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < names->count; i++)
		index_of[i] = batch_state_index_of(state->query, i == COUNTER_LEFT_OUT
									 ? STORE_COUNTERS_LEFT_OUT
									 : names->names[i]);
	*ret_index_of = index_of;
	return 0;
}

static int add_run_of_log(struct batch_state *state, const struct log_run *run,
			  struct scanned_batch added)
{
	struct log_cursor cursor = {};
	int r = 0;

	added.epoch = run->epoch;
	while (r == 0 && (added.batch = log_run_next(run, &cursor)))
		if (batch_day(added.batch->closed_ms) >= state->oldest_day &&
		    batch_state_overlaps(state, added.batch->opened_ms, added.batch->closed_ms))
			r = vec_push(&state->batches, added);
	return r;
}

static int add_log(struct batch_state *state, const struct copied_log *copied)
{
	struct scanned_batch added = {};
	int r = 0;

	if (copied->n_runs > 0)
		r = map_log_names(state, &copied->names, &added.index_of);
	for (size_t i = 0; i < copied->n_runs && r == 0; i++) {
		added.agent = copied->agents[i];
		r = add_run_of_log(state, &copied->runs[i], added);
	}
	return r;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* By day, agent, epoch and time. */
static int compare_batches(const void *a, const void *b)
{
	const struct scanned_batch *left = a, *right = b;
	int order = compare_numbers(batch_day(left->batch->closed_ms),
				    batch_day(right->batch->closed_ms));

	if (order == 0)
		order = compare_numbers(left->agent, right->agent);
	if (order == 0)
		order = compare_numbers(left->epoch, right->epoch);
	if (order == 0)
		order = compare_numbers(left->batch->closed_ms, right->batch->closed_ms);
	return order ? order : compare_numbers(left->batch->sequence, right->batch->sequence);
}

static int read_memory(struct batch_state *state)
{
	struct copied_log copied[ARRAY_SIZE(state->logs)] = {};
	struct segment_db *db = state->db;
	int r;

	fair_lock_take(&db->inbox_lock);
	state->last_flush = db->state.last_flush;
	state->oldest_day = db->oldest_day;
	r = copy_log(state, 0, db->flushed_log, &copied[0]);
	if (r == 0)
		r = copy_log(state, 1, db->log, &copied[1]);
	fair_lock_give(&db->inbox_lock);
	for (size_t i = 0; i < ARRAY_SIZE(copied) && r == 0; i++)
		r = add_log(state, &copied[i]);
	if (r == 0 && state->batches.count > 0)
		qsort(state->batches.items, state->batches.count, sizeof(*state->batches.items),
		      compare_batches);
	return r;
}

/* The first read begins the transaction. */
static int begin_reading(struct sqlite_db *file)
{
	uint64_t flush;
	int r = sqlite_db_run(file, "BEGIN");

	return r < 0 ? r : day_file_max_flush(file, &flush);
}

static int open_day(struct batch_state *state, segment_day day)
{
	scoped(sqlite_db_freep) struct sqlite_db *file = NULL;
	int r = day_file_open(state->db->folder, day, DAY_FILE_READ, &file);

	if (r > 0)
		r = begin_reading(file);
	/* A damaged file: its batches are not shown, as its samples. */
	if (r == -EUCLEAN || (r == 0 && !file))
		return 0;
	if (r == 0)
		r = vec_push(&state->files, ((struct scanned_file){ .day = day, .file = file }));
	if (r == 0)
		(void)take_ptr(file);
	return r;
}

static int open_days(struct batch_state *state)
{
	scoped(segment_days_release) struct segment_days days = {};
	int r = day_files_list(state->db->folder, &days);

	for (size_t i = 0; i < days.count && r == 0; i++) {
		const uint64_t begin_ms = days.items[i] * BATCH_DAY_MS;

		if (days.items[i] < state->oldest_day ||
		    begin_ms + BATCH_DAY_MS <= state->from_ms ||
		    begin_ms >= state->to_ms + BATCH_MAX_DAYS * BATCH_DAY_MS)
			continue;
		if (cancel_is_requested(state->query->cancel))
			return -ECANCELED;
		r = open_day(state, days.items[i]);
	}
	return r;
}

static bool is_current(struct batch_state *state)
{
	bool current;

	fair_lock_take(&state->db->inbox_lock);
	current = state->db->state.last_flush == state->last_flush;
	fair_lock_give(&state->db->inbox_lock);
	return current;
}

static uint64_t ms_of_slot(uint64_t slot)
{
	return MIN(slot, (uint64_t)INT64_MAX / MS_PER_SLOT / 2) * MS_PER_SLOT;
}

static int add_agents(struct batch_state *state)
{
	const struct segment_db_batch_query *query = state->query;
	int r = hash_table_new(sizeof(struct hash128), sizeof(size_t), 0, &state->agent_index);

	for (size_t i = 0; query->agents && i < query->n_agents && r == 0; i++) {
		size_t index;

		r = add_agent(state, &query->agents[i], &index);
	}
	return r;
}

int batch_state_read(struct segment_db *db, const struct segment_db_batch_query *query,
		     struct batch_state *state)
{
	int r;

	assert(query->n_names <= STORE_MAX_COUNTER_NAMES);
	state->db = db;
	state->query = query;
	state->from_ms = ms_of_slot(query->from_slot);
	state->to_ms = ms_of_slot(query->to_slot);
	r = arena_new(MAX_ARENA_BYTES, &state->arena);
	if (r == 0)
		r = add_agents(state);
	if (r < 0)
		return r;
	do {
		clear_state(state);
		r = read_memory(state);
		if (r == 0)
			r = open_days(state);
	} while (r == 0 && !is_current(state));
	return r;
}
