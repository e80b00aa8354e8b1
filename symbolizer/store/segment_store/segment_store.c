/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, and the operations that write and manage. */

#include "symbolizer/store/segment_store/segment_store_private.h"

#include "common/file.h"
#include "common/folder_lock.h"
#include "symbolizer/store/data_folder/folder_log.h"

/* Batches in one commit. */
#define GROUP_MAX_BATCHES 256
#define GROUP_MAX_BYTES   (64 * MIB)

/* A group costs one synchronous write. */
#define GROUP_SPACING_NS (20 * NSEC_PER_MSEC)

/* Definitions of one epoch of an agent in memory. A build host defines some 10 MiB an hour. */
#define MAX_NUMBERS_BYTES (64 * MIB)

/*
 * Those of all agents: about a thousand mostly idle hosts, or a hundred build hosts. Beyond it,
 * they are read from inbox.db when a batch of the agent arrives.
 */
#define MAX_ALL_NUMBERS_BYTES GIB

/* Epochs with definitions in memory. */
#define MAX_AGENTS 65536

static void log_result(struct segment_store *self, int result)
{
	if (result != -EFBIG)
		folder_log_stored(&self->last_error, result, self->folder);
}

static void count_result(struct segment_store *self, const struct store_write *write)
{
	self->n_too_old += write->result == STORE_TOO_OLD;
	if (write->result != STORE_STORED)
		return;
	self->n_batches++;
	self->n_rows += write->batch->n_rows;
	self->trusted.batch_ns = MAX(self->trusted.batch_ns, write->batch->closed_wall_ns);
}

/* The caller holds the lock. */
static void end_group(struct segment_store *self, struct store_write *const *writes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (writes[i]->result == -ENOSPC || writes[i]->result == -EDQUOT)
			ballast_release(&self->ballast);
		count_result(self, writes[i]);
		log_result(self, writes[i]->result);
	}
}

static size_t refuse(struct segment_store *self, struct store_write *const *writes, size_t count,
		     int error)
{
	for (size_t i = 0; i < count; i++)
		writes[i]->result = error;
	(void)pthread_mutex_lock(&self->lock);
	log_result(self, error);
	(void)pthread_mutex_unlock(&self->lock);
	return count;
}

static size_t write_group(void *arg, struct store_write *const *writes, size_t count)
{
	struct segment_db_write group[GROUP_MAX_BATCHES];
	struct segment_store *self = arg;
	uint32_t first_day;
	size_t n;
	int r;

	assert(count <= ARRAY_SIZE(group));
	(void)pthread_mutex_lock(&self->lock);
	r = ballast_hold(&self->ballast);
	first_day = segment_store_first_day(self);
	(void)pthread_mutex_unlock(&self->lock);
	if (r < 0)
		return refuse(self, writes, count, r);
	for (size_t i = 0; i < count; i++)
		group[i] = (struct segment_db_write){ .tenant = writes[i]->tenant,
						      .batch = writes[i]->batch,
						      .payload = writes[i]->batch->body,
						      .step_ns = writes[i]->batch->step_ns,
						      .first_day = first_day,
						      .arena = writes[i]->arena,
						      .ret_missing = writes[i]->ret_missing };
	n = segment_db_write(self->db, group, count, clock_wall_ns(self->clock));
	for (size_t i = 0; i < n; i++)
		writes[i]->result = group[i].result;
	(void)pthread_mutex_lock(&self->lock);
	end_group(self, writes, n);
	(void)pthread_mutex_unlock(&self->lock);
	return n;
}

static int operation_write(struct store *store, const char *tenant, const struct batch *batch,
			   struct arena *arena, struct store_missing *ret_missing)
{
	return write_queue_run(segment_store_of(store)->queue, tenant, batch, arena, ret_missing);
}

static int operation_agent_executables(struct store *store, const char *tenant,
				       const struct hash128 *agent, uint64_t epoch, size_t max,
				       struct arena *arena,
				       struct store_executable **ret_executables, size_t *ret_count)
{
	const struct segment_db_epoch of = { .tenant = tenant, .agent = *agent, .epoch = epoch };
	struct segment_db_executables executables;
	int r = segment_db_agent_executables(segment_store_of(store)->db, &of, max, arena,
					     &executables);

	if (r < 0)
		return r;
	*ret_executables = executables.items;
	*ret_count = executables.count;
	return 0;
}

static void operation_set_retention(struct store *store, uint64_t retention_ns)
{
	segment_store_of(store)->retention_ns = retention_ns;
}

static void operation_set_hourly_retention(struct store *store, uint64_t retention_ns)
{
	segment_store_of(store)->hourly_retention_ns = retention_ns;
}

static void operation_set_max_bytes(struct store *store, uint64_t max_bytes)
{
	segment_store_of(store)->max_bytes = max_bytes;
}

static int operation_check(struct store *store)
{
	return ballast_check(&segment_store_of(store)->ballast);
}

static int operation_stats(struct store *store, struct store_stats *ret_stats)
{
	struct segment_store *self = segment_store_of(store);

	*ret_stats = (struct store_stats){
		.n_batches = self->n_batches,
		.n_rows = self->n_rows,
		.n_too_old_batches = self->n_too_old,
		.n_refused_series = segment_db_refused_series(self->db),
		.n_days_removed_by_age = self->n_removed_by_age,
		.n_days_removed_by_size = self->n_removed_by_size,
	};
	return segment_db_disk_bytes(self->db, &ret_stats->disk_bytes);
}

static int operation_delete_service(struct store *store, const char *tenant, const char *service)
{
	struct segment_store *self = segment_store_of(store);

	return segment_db_delete_service(self->db, tenant, service, clock_wall_ns(self->clock));
}

static int operation_verify(struct store *store, size_t *ret_faults)
{
	return segment_db_check(segment_store_of(store)->db, ret_faults);
}

static struct store *operation_free(struct store *store)
{
	struct segment_store *self = segment_store_of(store);

	(void)write_queue_free(self->queue);
	(void)upkeep_free(self->upkeep);
	/* The next start need not read the inbox. If it fails, the inbox has the rows. */
	if (self->db)
		(void)segment_db_flush(self->db, clock_wall_ns(self->clock));
	(void)segment_db_free(self->db);
	(void)process_cache_free(self->processes);
	(void)pthread_mutex_destroy(&self->lock);
	scoped_close(&self->folder_fd);
	free(self->folder);
	free(self);
	return NULL;
}

static const struct store_operations segment_operations = {
	.write = operation_write,
	.open_view = segment_store_open_view,
	.agent_executables = operation_agent_executables,
	.set_retention = operation_set_retention,
	.set_hourly_retention = operation_set_hourly_retention,
	.set_max_bytes = operation_set_max_bytes,
	.retain = segment_store_retain,
	.check = operation_check,
	.stats = operation_stats,
	.delete_service = operation_delete_service,
	.verify = operation_verify,
	.free = operation_free,
};

static int lock_folder(struct segment_store *self)
{
	self->folder_fd = folder_lock(self->folder);
	if (self->folder_fd < 0)
		return self->folder_fd;
	self->ballast.folder_fd = self->folder_fd;
	return 0;
}

static int open_db(struct segment_store *self, const struct segment_store_options *options)
{
	const struct segment_db_options db = {
		.folder = self->folder,
		.now_wall_ns = clock_wall_ns(self->clock),
		.decoder = options->decoder,
		.max_head_bytes = options->max_head_bytes,
		.max_numbers_bytes = MAX_NUMBERS_BYTES,
		.max_all_numbers_bytes = MAX_ALL_NUMBERS_BYTES,
		.max_agents = MAX_AGENTS,
	};
	int r = segment_db_open(&db, &self->db);

	return r < 0 ? r : segment_store_retention_begin(self);
}

static int start_queue(struct segment_store *self)
{
	const struct write_queue_options options = {
		.max_writes = GROUP_MAX_BATCHES,
		.max_bytes = GROUP_MAX_BYTES,
		.spacing_ns = GROUP_SPACING_NS,
		.write_group = write_group,
		.arg = self,
	};

	return write_queue_new(&options, &self->queue);
}

static int open_parts(struct segment_store *self, const struct segment_store_options *options)
{
	struct segment_store_options used = *options;
	int r;

	if (used.max_head_bytes == 0)
		used.max_head_bytes = SEGMENT_STORE_HEAD_BYTES;
	r = make_folders(self->folder, 0750);
	if (r == 0)
		r = lock_folder(self);
	if (r < 0)
		return r;
	trusted_clock_load(&self->trusted, self->folder);
	segment_store_make_room(self);
	r = open_db(self, &used);
	if (r == 0)
		r = process_cache_new(PROCESS_CACHE_BYTES, &self->processes);
	if (r == 0)
		r = upkeep_new(self, &self->upkeep);
	return r < 0 ? r : start_queue(self);
}

int segment_store_open(const struct segment_store_options *options, struct store **ret_store)
{
	struct segment_store *self = calloc(1, sizeof(*self));
	scoped(store_freep) struct store *store = self ? &self->store : NULL;
	int r;

	if (!self)
		return -ENOMEM;
	self->store.operations = &segment_operations;
	self->clock = options->clock;
	self->retention_ns = options->retention_ns;
	self->hourly_retention_ns = options->hourly_retention_ns;
	self->max_bytes = options->max_bytes;
	self->folder_fd = -1;
	(void)pthread_mutex_init(&self->lock, NULL);
	self->folder = strdup(options->folder);
	if (!self->folder)
		return -ENOMEM;
	r = open_parts(self, options);
	if (r < 0)
		return r;
	ballast_hold_first(&self->ballast, self->folder);
	*ret_store = take_ptr(store);
	return 0;
}

int segment_store_settle(struct store *store)
{
	return upkeep_run(segment_store_of(store));
}
