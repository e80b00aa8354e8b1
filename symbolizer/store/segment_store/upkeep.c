/* SPDX-License-Identifier: Apache-2.0 */
/* One thread: a flush and a compaction would wait for each other anyway. */

#include "common/clock.h"
#include "common/condition.h"
#include "common/log.h"
#include "symbolizer/store/segment_store/segment_store_private.h"

#define WAKE_INTERVAL_S     1
#define FLUSH_INTERVAL_NS   (60 * NSEC_PER_SEC)
#define COMPACT_INTERVAL_NS (5 * 60 * NSEC_PER_SEC)
#define EPOCHS_INTERVAL_NS  (3600 * NSEC_PER_SEC)

/* Batches of a spool that arrive later make the roll-up of their hour again. */
#define CLOSED_AFTER_NS (10 * 60 * NSEC_PER_SEC)

/* A silent agent may send batches of its spool for as long. */
#define SILENT_EPOCH_NS (14 * 24 * 3600 * NSEC_PER_SEC)

#define MAX_MERGE_BYTES (64 * MIB)

struct upkeep {
	struct segment_store *store;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool is_stopping;
	struct cancel cancel;
	uint64_t flush_at_ns, compact_at_ns, epochs_at_ns; /* monotonic */
	int flush_error, compact_error;                    /* logged */
};

static void log_change(int *last, int r, const char *folder, const char *attempt)
{
	r = r == -ECANCELED ? 0 : MIN(r, 0);
	if (r < 0 && r != *last)
		(void)log_warn_errno(r, "cannot %s in '%s', trying again: %m", attempt, folder);
	*last = r;
}

static int compact(struct segment_store *self, const struct cancel *cancel)
{
	const uint64_t now_ns = clock_wall_ns(self->clock);
	const struct segment_db_compaction options = {
		.closed_slot = now_ns > CLOSED_AFTER_NS ? (now_ns - CLOSED_AFTER_NS) / SLOT_NS : 0,
		.max_merge_bytes = MAX_MERGE_BYTES,
		.cancel = cancel,
	};
	size_t n_changed;

	return segment_db_compact(self->db, &options, &n_changed);
}

int upkeep_run(struct segment_store *self)
{
	int r = segment_db_flush(self->db, clock_wall_ns(self->clock));

	return r < 0 ? r : compact(self, NULL);
}

static void flush_if_due(struct upkeep *upkeep, uint64_t now_ns)
{
	struct segment_store *self = upkeep->store;

	if (now_ns < upkeep->flush_at_ns && !segment_db_is_half_full(self->db))
		return;
	log_change(&upkeep->flush_error, segment_db_flush(self->db, clock_wall_ns(self->clock)),
		   self->folder, "write samples as segments");
	upkeep->flush_at_ns = now_ns + FLUSH_INTERVAL_NS;
}

static void compact_if_due(struct upkeep *upkeep, uint64_t now_ns)
{
	struct segment_store *self = upkeep->store;

	if (now_ns < upkeep->compact_at_ns)
		return;
	log_change(&upkeep->compact_error, compact(self, &upkeep->cancel), self->folder,
		   "merge segments");
	upkeep->compact_at_ns = now_ns + COMPACT_INTERVAL_NS;
}

static void drop_epochs_if_due(struct upkeep *upkeep, uint64_t now_ns)
{
	struct segment_store *self = upkeep->store;
	uint64_t wall_ns;

	if (now_ns < upkeep->epochs_at_ns)
		return;
	/* A clock that is wrongly ahead drops nothing. */
	(void)pthread_mutex_lock(&self->lock);
	wall_ns = trusted_clock_now(&self->trusted, self->clock);
	(void)pthread_mutex_unlock(&self->lock);
	if (wall_ns < SILENT_EPOCH_NS)
		return;
	(void)segment_db_drop_silent_epochs(self->db, wall_ns - SILENT_EPOCH_NS);
	(void)segment_db_drop_superseded(self->db, wall_ns - SEGMENT_DB_SUPERSEDED_NS);
	upkeep->epochs_at_ns = now_ns + EPOCHS_INTERVAL_NS;
}

/* Returns false if the thread has to end. */
static bool wait_for_work(struct upkeep *upkeep)
{
	uint64_t until_ns = clock_monotonic_ns(&system_clock) + WAKE_INTERVAL_S * NSEC_PER_SEC;
	bool stops;

	(void)pthread_mutex_lock(&upkeep->lock);
	while (!upkeep->is_stopping && condition_wait_until(&upkeep->wake, &upkeep->lock, until_ns))
		;
	stops = upkeep->is_stopping;
	(void)pthread_mutex_unlock(&upkeep->lock);
	return !stops;
}

static void *run(void *arg)
{
	struct upkeep *upkeep = arg;

	while (wait_for_work(upkeep)) {
		uint64_t now_ns = clock_monotonic_ns(upkeep->store->clock);

		flush_if_due(upkeep, now_ns);
		compact_if_due(upkeep, now_ns);
		drop_epochs_if_due(upkeep, now_ns);
	}
	return NULL;
}

int upkeep_new(struct segment_store *self, struct upkeep **ret_upkeep)
{
	struct upkeep *upkeep = calloc(1, sizeof(*upkeep));
	const uint64_t now_ns = clock_monotonic_ns(self->clock);
	int r;

	if (!upkeep)
		return -ENOMEM;
	upkeep->store = self;
	upkeep->flush_at_ns = now_ns + FLUSH_INTERVAL_NS;
	upkeep->compact_at_ns = now_ns + COMPACT_INTERVAL_NS;
	upkeep->epochs_at_ns = now_ns + EPOCHS_INTERVAL_NS;
	(void)pthread_mutex_init(&upkeep->lock, NULL);
	condition_init(&upkeep->wake);
	r = pthread_create(&upkeep->thread, NULL, run, upkeep);
	if (r != 0) {
		(void)pthread_cond_destroy(&upkeep->wake);
		(void)pthread_mutex_destroy(&upkeep->lock);
		free(upkeep);
		return -r;
	}
	*ret_upkeep = upkeep;
	return 0;
}

struct upkeep *upkeep_free(struct upkeep *upkeep)
{
	if (!upkeep)
		return NULL;
	cancel_request(&upkeep->cancel);
	(void)pthread_mutex_lock(&upkeep->lock);
	upkeep->is_stopping = true;
	(void)pthread_cond_signal(&upkeep->wake);
	(void)pthread_mutex_unlock(&upkeep->lock);
	(void)pthread_join(upkeep->thread, NULL);
	(void)pthread_cond_destroy(&upkeep->wake);
	(void)pthread_mutex_destroy(&upkeep->lock);
	free(upkeep);
	return NULL;
}
