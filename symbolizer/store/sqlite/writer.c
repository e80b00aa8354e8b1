/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer, and the removal of numbers of old epochs.
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
		r = node_budget_new(NODE_BUDGET_MAX_AGENTS, &writer->node_budget);
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
	(void)node_budget_free(writer->node_budget);
	(void)arena_free(writer->scratch);
	bytes_release(&writer->buffer);
	bytes_release(&writer->block);
	bytes_release(&writer->counters);
	counter_names_release(&writer->counter_names);
	vec_release(&writer->group.members);
	free(writer);
	return NULL;
}

void sqlite_writer_checkpoint(struct sqlite_writer *writer)
{
	struct connection_set *set = &writer->connections;

	if (set->hearth)
		sqlite_db_empty_wal(set->hearth);
	for (size_t i = 0; i < ARRAY_SIZE(set->days); i++)
		if (set->days[i].db)
			sqlite_db_empty_wal(set->days[i].db);
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

/* Returns 1 if found, 0 if there is none. */
static int find_expired(struct sqlite_db *hearth, uint64_t before_ns, int64_t *ret_epoch)
{
	scoped(sqlite_resetp) sqlite3_stmt *row = NULL;
	int r;

	r = sqlite_query(hearth, SQL_EPOCH_EXPIRED, &row, SQL_INT(before_ns));
	if (r > 0)
		*ret_epoch = sqlite3_column_int64(row, 0);
	return r;
}

void sqlite_writer_expire_epochs(struct sqlite_writer *writer, struct sqlite_db *hearth)
{
	uint64_t now = trusted_clock_now(&writer->trusted, writer->clock);
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
