/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a batch from beginning to end. hearth.db is committed before the day files. A crash in
 * between leaves definitions that nothing uses yet, and the agent, which got no answer, sends the
 * batch again. Each day file is changed in one transaction and records which batches it has. A
 * batch is a duplicate if the files of all its days have it.
 */

#include "symbolizer/store/sqlite/write.h"

#include "common/log.h"

/* One column or one hash input. No real process has 65536 paths of 4 KiB. */
#define MAX_COLUMN_BYTES (64 * MIB)

/* Memory to write one batch: 32 bytes per row of the largest batch, and its tables. */
#define MAX_SCRATCH_BYTES (512 * MIB)

/* The numbers of an older epoch are removed. Spools discard older batches too. */
#define EPOCH_KEPT_NS (8 * 24 * 3600 * NSEC_PER_SEC)

#define EXPIRY_INTERVAL_NS (24 * 3600 * NSEC_PER_SEC)

/*
 * Most epochs that are removed per batch. Each is a transaction with up to some 100,000 numbers,
 * and the epochs of a fleet that was restarted eight days ago must not delay new batches.
 */
#define EXPIRED_PER_BATCH 16

int sqlite_writer_new(const char *folder, const struct store_identity *identity,
		      struct store_state *state, const struct clock *clock,
		      struct sqlite_writer **ret_writer)
{
	scoped(sqlite_writer_freep) struct sqlite_writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return -ENOMEM;
	writer->connections = (struct connection_set){
		.folder = folder,
		.identity = identity,
		.state = state,
		.writer = true,
	};
	writer->state = state;
	writer->clock = clock;
	writer->buffer = BYTES_INIT(MAX_COLUMN_BYTES);
	writer->block = BYTES_INIT(MAX_SCRATCH_BYTES);
	writer->counters = BYTES_INIT(MAX_COLUMN_BYTES);
	r = agent_cache_new(AGENT_CACHE_MAX_NUMBERS, &writer->agents);
	if (r == 0)
		r = arena_new(MAX_SCRATCH_BYTES, &writer->scratch);
	if (r < 0)
		return r;
	*ret_writer = take_ptr(writer);
	return 0;
}

struct sqlite_writer *sqlite_writer_free(struct sqlite_writer *writer)
{
	if (!writer)
		return NULL;
	connection_set_release(&writer->connections);
	(void)agent_cache_free(writer->agents);
	(void)arena_free(writer->scratch);
	bytes_release(&writer->buffer);
	bytes_release(&writer->block);
	bytes_release(&writer->counters);
	counter_names_release(&writer->counter_names);
	free(writer);
	return NULL;
}

static int remove_epoch(struct sqlite_writer *writer, struct sqlite_db *hearth, int64_t epoch)
{
	int r;

	agent_cache_forget(writer->agents, epoch);
	r = sqlite_begin(hearth);
	if (r == 0)
		r = sqlite_run(hearth, SQL_EPOCH_REMOVE_NUMBERS, SQL_INT(epoch));
	if (r == 0)
		r = sqlite_run(hearth, SQL_EPOCH_REMOVE, SQL_INT(epoch));
	if (r == 0)
		r = sqlite_commit(hearth);
	if (r < 0)
		sqlite_rollback(hearth);
	return r;
}

/* 1 found, 0 none. */
static int find_expired(struct sqlite_db *hearth, uint64_t before_ns, int64_t *ret_epoch)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(hearth, SQL_EPOCH_EXPIRED, &row, SQL_INT(before_ns));
	if (r > 0)
		*ret_epoch = sqlite3_column_int64(row, 0);
	return r;
}

/* Removes one epoch per transaction. Batches are stored even if that fails. */
static void expire_epochs(struct sqlite_writer *writer, struct sqlite_db *hearth)
{
	uint64_t now = clock_wall_ns(writer->clock);
	int64_t epoch;
	int r = 1;

	if (now < writer->next_expiry_ns || now < EPOCH_KEPT_NS)
		return;
	for (int i = 0; i < EXPIRED_PER_BATCH && r > 0; i++) {
		r = find_expired(hearth, now - EPOCH_KEPT_NS, &epoch);
		if (r > 0) {
			int error = remove_epoch(writer, hearth, epoch);

			r = error < 0 ? error : 1;
		}
	}
	/* Otherwise the next batch removes further epochs. */
	if (r <= 0)
		writer->next_expiry_ns = now + EXPIRY_INTERVAL_NS;
	if (r < 0)
		log_warn_errno(
			r,
			"cannot remove the numbers of old epochs of agents from '%s', trying "
			"again in 24 hours: %m",
			writer->connections.folder);
}

static int copy_missing(struct arena *arena, const uint32_t *numbers, size_t count,
			uint32_t **ret_numbers, size_t *ret_count)
{
	*ret_numbers = arena_copy(arena, numbers, count * sizeof(*numbers));
	*ret_count = count;
	return *ret_numbers ? 0 : -ENOMEM;
}

static int report_missing(const struct write *write, struct arena *arena,
			  struct store_missing *ret_missing)
{
	struct store_missing missing = {};
	int r;

	r = copy_missing(arena, write->missing[NUMBER_STACK].items,
			 write->missing[NUMBER_STACK].count, &missing.stacks, &missing.n_stacks);
	if (r == 0)
		r = copy_missing(arena, write->missing[NUMBER_SERIES].items,
				 write->missing[NUMBER_SERIES].count, &missing.series,
				 &missing.n_series);
	if (r == 0)
		r = copy_missing(arena, write->missing[NUMBER_PROCESS].items,
				 write->missing[NUMBER_PROCESS].count, &missing.processes,
				 &missing.n_processes);
	if (r == 0)
		r = copy_missing(arena, write->missing[NUMBER_EXECUTABLE].items,
				 write->missing[NUMBER_EXECUTABLE].count, &missing.executables,
				 &missing.n_executables);
	if (r == 0)
		r = copy_missing(arena, write->missing[NUMBER_CODE_OBJECT].items,
				 write->missing[NUMBER_CODE_OBJECT].count, &missing.code_objects,
				 &missing.n_code_objects);
	if (r < 0)
		return r;
	*ret_missing = missing;
	return STORE_NEEDS_NUMBERS;
}

static int commit_definitions(struct write *write)
{
	int r;

	r = write_define(write);
	if (r == 0 && write->in_transaction)
		r = sqlite_commit(write->hearth);
	if (r < 0)
		sqlite_rollback(write->hearth);
	return r;
}

/* Sets bit i if the file of the i-th day of the batch has it already. */
static int find_stored_days(struct sqlite_writer *writer, const char *tenant,
			    const struct batch *batch, const struct write_days *days,
			    uint32_t *ret_stored)
{
	*ret_stored = 0;
	for (size_t i = 0; i < days->count; i++) {
		int r = write_is_stored(writer, tenant, batch, days->days[i]);

		if (r < 0)
			return r;
		*ret_stored |= (uint32_t)r << i;
	}
	return 0;
}

static int append_days(struct write *write, const struct write_days *days, uint32_t stored)
{
	int outcome = STORE_DUPLICATE;
	int r = 0;

	for (size_t i = 0; i < days->count && r >= 0; i++) {
		if (stored >> i & 1)
			continue;
		r = write_append_day(write, days->days[i], i == 0);
		if (r > 0)
			outcome = STORE_STORED;
	}
	return r < 0 ? r : outcome;
}

static int write_new_batch(struct write *write, const struct write_days *days, uint32_t stored,
			   struct arena *arena, struct store_missing *ret_missing)
{
	struct sqlite_writer *writer = write->writer;
	int r;

	r = agent_cache_find(writer->agents, write->hearth, write->tenant, write->batch,
			     &write->agent);
	if (r < 0)
		return r;
	write->epoch_id = write->agent->epoch_id;
	write->host = write->agent->host;
	write->host_attributes = write->agent->host_attributes;
	write->host_saved_ns = write->agent->host_saved_ns;
	write->epoch_saved_ns = write->agent->epoch_saved_ns;

	r = write_resolve(write);
	if (r == 0)
		return report_missing(write, arena, ret_missing);
	if (r > 0)
		r = commit_definitions(write);
	if (r == 0)
		r = write_apply(write);
	if (r == 0)
		r = append_days(write, days, stored);
	return r;
}

/* Retention would remove it at once, and its duplicates could not be recognized. */
static bool is_too_old(const struct sqlite_writer *writer, const struct write_days *days)
{
	uint64_t now = clock_wall_ns(writer->clock);
	uint64_t retention_ns = writer->retention_ns;

	return retention_ns != 0 && now > retention_ns &&
	       days->days[days->count - 1] < day_of_wall_ns(now - retention_ns);
}

static int write_batch(struct sqlite_writer *writer, const char *tenant, const struct batch *batch,
		       struct arena *arena, struct store_missing *ret_missing)
{
	scoped(write_release) struct write write = {
		.writer = writer,
		.tenant = tenant,
		.batch = batch,
		.scratch = writer->scratch,
	};
	struct write_days days;
	uint32_t stored = 0;
	int r;

	arena_clear(writer->scratch);
	r = connection_set_hearth(&writer->connections, &write.hearth);
	if (r == 0)
		expire_epochs(writer, write.hearth);
	if (r == 0)
		r = write_find_days(batch, &days);
	if (r == 0 && is_too_old(writer, &days)) {
		writer->n_too_old++;
		return STORE_TOO_OLD;
	}
	if (r == 0)
		r = find_stored_days(writer, tenant, batch, &days, &stored);
	if (r < 0)
		return r;
	if (stored == (1u << days.count) - 1)
		return STORE_DUPLICATE;
	return write_new_batch(&write, &days, stored, arena, ret_missing);
}

/* A full disk fails every batch of every agent, so only the first and the end are logged. */
static void log_change(struct sqlite_writer *writer, int result)
{
	int error = MIN(result, 0);

	if (error == writer->last_error)
		return;
	if (error < 0)
		log_error_errno(error,
				"cannot store batches in '%s', agents keep and resend them: %m",
				writer->connections.folder);
	else
		log_info("storing batches in '%s' again", writer->connections.folder);
	writer->last_error = error;
}

int sqlite_writer_write(struct sqlite_writer *writer, const char *tenant, const struct batch *batch,
			struct arena *arena, struct store_missing *ret_missing)
{
	int r;

	r = write_batch(writer, tenant, batch, arena, ret_missing);
	log_change(writer, r);
	return r;
}
