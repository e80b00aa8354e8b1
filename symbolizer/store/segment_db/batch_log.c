/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/segment_db/batch_log.h"

#include <string.h>

#include "common/arena.h"
#include "common/hash_table.h"
#include "common/limits.h"
#include "common/scoped.h"

/* In practice max_head_bytes bounds a log: it counts for the memory of the head. */
#define MAX_LOG_BYTES (16 * GIB)

/* Batches in the first chunk of a run. The next ones have twice as many as the one before. */
#define FIRST_CHUNK 4
#define LAST_CHUNK  256

struct log_chunk {
	struct log_chunk *next;
	size_t count, capacity;
	struct logged_batch batches[];
};

struct run_key {
	struct hash128 tenant; /* of the name */
	struct hash128 agent;
	uint64_t epoch;
};

/* A tenant with what only the writer uses. */
struct tenant_entry {
	struct log_tenant tenant;
	struct hash_table *ids; /* struct hash128 of a name -> u32 number */
	const char *names[COUNTER_NAMES_MAX];
	VEC_DEFINE(, const struct log_run *) runs;
};

struct run_entry {
	struct log_run run;
	struct log_chunk *last;
};

struct batch_log {
	size_t n_references;
	size_t n_batches;
	struct arena *arena;
	struct hash_table *tenants; /* struct hash128 of the name -> struct tenant_entry * */
	struct hash_table *runs;    /* struct run_key -> struct run_entry * */
	struct bytes counters;      /* of the batch that is added */
};

static struct batch_log *log_free(struct batch_log *log)
{
	struct tenant_entry **tenant;
	size_t cursor = 0;

	while (log->tenants && hash_table_next(log->tenants, &cursor, NULL, (void **)&tenant)) {
		(void)hash_table_free((*tenant)->ids);
		vec_release(&(*tenant)->runs);
	}
	(void)hash_table_free(log->tenants);
	(void)hash_table_free(log->runs);
	bytes_release(&log->counters);
	(void)arena_free(log->arena);
	free(log);
	return NULL;
}

int batch_log_new(struct batch_log **ret_log)
{
	struct batch_log *log = calloc(1, sizeof(*log));

	if (!log)
		return -ENOMEM;
	log->n_references = 1;
	log->counters = BYTES_INIT(BATCH_MAX_BYTES);
	if (arena_new(MAX_LOG_BYTES, &log->arena) < 0 ||
	    hash_table_new(sizeof(struct hash128), sizeof(struct tenant_entry *), 0,
			   &log->tenants) < 0 ||
	    hash_table_new(sizeof(struct run_key), sizeof(struct run_entry *), 0, &log->runs) < 0) {
		(void)log_free(log);
		return -ENOMEM;
	}
	*ret_log = log;
	return 0;
}

struct batch_log *batch_log_ref(struct batch_log *log)
{
	log->n_references++;
	return log;
}

struct batch_log *batch_log_unref(struct batch_log *log)
{
	if (log && --log->n_references == 0)
		(void)log_free(log);
	return NULL;
}

size_t batch_log_bytes(const struct batch_log *log)
{
	if (log->n_batches == 0)
		return 0;
	return arena_used_bytes(log->arena) + hash_table_memory_bytes(log->runs) +
	       hash_table_memory_bytes(log->tenants);
}

static int add_tenant(struct batch_log *log, const char *name, struct tenant_entry **ret_tenant)
{
	struct tenant_entry *tenant = arena_alloc(log->arena, sizeof(*tenant));

	if (!tenant)
		return -ENOMEM;
	tenant->tenant.name = arena_copy_text(log->arena, name, strlen(name));
	tenant->names[COUNTER_LEFT_OUT] = "";
	tenant->tenant.names = (struct log_names){ .names = tenant->names, .count = 1 };
	if (!tenant->tenant.name)
		return -ENOMEM;
	*ret_tenant = tenant;
	return hash_table_new(sizeof(struct hash128), sizeof(uint32_t), 0, &tenant->ids);
}

static int find_tenant(struct batch_log *log, const char *name, const struct hash128 *hash,
		       struct tenant_entry **ret_tenant)
{
	struct tenant_entry **tenant;
	int r = hash_table_insert(log->tenants, hash, (void **)&tenant);

	if (r > 0) {
		r = add_tenant(log, name, tenant);
		if (r < 0)
			(void)hash_table_remove(log->tenants, hash);
	}
	if (r < 0)
		return r;
	*ret_tenant = *tenant;
	return 0;
}

static int add_run(struct batch_log *log, struct tenant_entry *tenant, const struct run_key *key,
		   struct run_entry **ret_run)
{
	struct run_entry *run = arena_alloc(log->arena, sizeof(*run));
	int r;

	if (!run)
		return -ENOMEM;
	run->run = (struct log_run){ .agent = key->agent, .epoch = key->epoch };
	r = vec_push(&tenant->runs, &run->run);
	if (r < 0)
		return r;
	tenant->tenant.runs = tenant->runs.items;
	tenant->tenant.n_runs = tenant->runs.count;
	*ret_run = run;
	return 0;
}

static int find_run(struct batch_log *log, struct tenant_entry *tenant, const struct run_key *key,
		    struct run_entry **ret_run)
{
	struct run_entry **run;
	int r = hash_table_insert(log->runs, key, (void **)&run);

	if (r > 0) {
		r = add_run(log, tenant, key, run);
		if (r < 0)
			(void)hash_table_remove(log->runs, key);
	}
	if (r < 0)
		return r;
	*ret_run = *run;
	return 0;
}

/* Finds or adds the number of a name. COUNTER_LEFT_OUT: it is too long, or there are too many. */
static int find_name(struct batch_log *log, struct tenant_entry *tenant, const char *name,
		     uint32_t *ret_id)
{
	const size_t length = strlen(name);
	const struct hash128 hash = hash128_of(name, length);
	const uint32_t *known = hash_table_find(tenant->ids, &hash);
	struct log_names *names = &tenant->tenant.names;
	uint32_t *id;
	char *copy;
	int r;

	*ret_id = known ? *known : COUNTER_LEFT_OUT;
	if (known || length > COUNTER_NAME_MAX_BYTES || names->count == COUNTER_NAMES_MAX)
		return 0;
	copy = arena_copy_text(log->arena, name, length);
	if (!copy)
		return -ENOMEM;
	r = hash_table_insert(tenant->ids, &hash, (void **)&id);
	if (r < 0)
		return r;
	tenant->names[names->count] = copy;
	*ret_id = *id = names->count++;
	return 0;
}

/* Puts the counters of the batch into log->counters. */
static int make_counters(struct batch_log *log, struct tenant_entry *tenant,
			 const struct batch *batch)
{
	uint64_t n_left_out = 0;

	bytes_clear(&log->counters);
	for (uint32_t i = 0; i < batch->n_counters; i++) {
		uint32_t id;
		int r;

		if (batch->counters[i].value == 0)
			continue;
		r = find_name(log, tenant, batch->counters[i].name, &id);
		if (r < 0)
			return r;
		if (id == COUNTER_LEFT_OUT) {
			n_left_out++;
			continue;
		}
		(void)bytes_append_varint(&log->counters, id);
		(void)bytes_append_varint(&log->counters, batch->counters[i].value);
	}
	if (n_left_out > 0) {
		(void)bytes_append_varint(&log->counters, COUNTER_LEFT_OUT);
		(void)bytes_append_varint(&log->counters, n_left_out);
	}
	return bytes_error(&log->counters);
}

/* Finds a chunk with room for a batch. */
static int find_chunk(struct batch_log *log, struct run_entry *run, struct log_chunk **ret_chunk)
{
	struct log_chunk *last = run->last, *chunk;
	size_t capacity = last ? MIN(2 * last->capacity, (size_t)LAST_CHUNK) : FIRST_CHUNK;

	if (last && last->count < last->capacity) {
		*ret_chunk = last;
		return 0;
	}
	chunk = arena_alloc(log->arena, sizeof(*chunk) + capacity * sizeof(chunk->batches[0]));
	if (!chunk)
		return -ENOMEM;
	chunk->capacity = capacity;
	if (last)
		last->next = chunk;
	else
		run->run.first = chunk;
	run->last = chunk;
	*ret_chunk = chunk;
	return 0;
}

static struct logged_batch times_of(const struct batch *batch, uint64_t arrived_wall_ns)
{
	const uint64_t max_ms = BATCH_MAX_DAYS * 24 * BATCH_HOUR_MS;
	const uint64_t closed_ms = MAX(batch->closed_wall_ns / NSEC_PER_MSEC, UINT64_C(1));
	uint64_t opened_ms = MIN(batch->opened_wall_ns / NSEC_PER_MSEC, closed_ms);

	if (closed_ms - opened_ms > max_ms)
		opened_ms = closed_ms - max_ms;
	return (struct logged_batch){ .sequence = batch->sequence,
				      .opened_ms = opened_ms,
				      .closed_ms = closed_ms,
				      .delay_ms = (int64_t)(arrived_wall_ns / NSEC_PER_MSEC) -
						  (int64_t)closed_ms };
}

int batch_log_add(struct batch_log *log, const char *tenant_name, const struct batch *batch,
		  uint64_t arrived_wall_ns)
{
	const struct run_key key = { .tenant = hash128_of(tenant_name, strlen(tenant_name)),
				     .agent = batch->agent_id,
				     .epoch = batch->epoch };
	struct logged_batch logged = times_of(batch, arrived_wall_ns);
	struct tenant_entry *tenant;
	struct run_entry *run;
	struct log_chunk *chunk;
	int r = find_tenant(log, tenant_name, &key.tenant, &tenant);

	if (r == 0)
		r = find_run(log, tenant, &key, &run);
	if (r == 0)
		r = make_counters(log, tenant, batch);
	if (r < 0)
		return r;
	logged.counters = bytes_view_of(&log->counters);
	logged.counters.data = arena_copy(log->arena, logged.counters.data, logged.counters.size);
	if (!logged.counters.data)
		return -ENOMEM;
	r = find_chunk(log, run, &chunk);
	if (r < 0)
		return r;
	chunk->batches[chunk->count++] = logged;
	run->run.last = chunk;
	run->run.n_in_last = chunk->count;
	log->n_batches++;
	return 0;
}

const struct log_tenant *batch_log_tenant(const struct batch_log *log, const char *tenant)
{
	const struct hash128 hash = hash128_of(tenant, strlen(tenant));
	struct tenant_entry **entry = hash_table_find(log->tenants, &hash);

	return entry ? &(*entry)->tenant : NULL;
}

const struct log_tenant *batch_log_next(const struct batch_log *log, size_t *cursor)
{
	struct tenant_entry **entry;

	if (!hash_table_next(log->tenants, cursor, NULL, (void **)&entry))
		return NULL;
	return &(*entry)->tenant;
}

const struct logged_batch *log_run_next(const struct log_run *run, struct log_cursor *cursor)
{
	const struct log_chunk *chunk = cursor->chunk ? cursor->chunk : run->first;

	if (!chunk)
		return NULL;
	/* The chunk is full, as it is not the last one of the run. */
	if (chunk != run->last && cursor->index == chunk->capacity) {
		chunk = chunk->next;
		cursor->index = 0;
	}
	cursor->chunk = chunk;
	if (chunk == run->last && cursor->index == run->n_in_last)
		return NULL;
	return &chunk->batches[cursor->index++];
}

int logged_counter_next(struct bytes_reader *in, uint32_t *ret_name, uint64_t *ret_value)
{
	if (in->next == in->end)
		return 0;
	*ret_name = (uint32_t)bytes_read_varint(in);
	*ret_value = bytes_read_varint(in);
	return in->error == 0;
}
