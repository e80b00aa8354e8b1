/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storage of waiting batches: moves them from memory to disk, and drops batches if neither has
 * room. Called only by the network thread. The lock is held only while the queue is accessed, and
 * never while writing to disk.
 */
#include "agent/upload/sender_private.h"

#include <inttypes.h>

#include "common/log.h"

/* Logs once until the server is back. Each dropped batch is counted and reported separately. */
static void log_full(struct sender *sender, const char *where)
{
	if (!sender->full_was_logged)
		log_warn("%s is full, dropping the oldest batches", where);
	sender->full_was_logged = true;
}

static void on_spool_lost(void *argument, const struct spool_key *key, int problem)
{
	struct sender *sender = argument;

	if (problem == -EBADMSG)
		log_warn("spooled batch %" PRIu64 " of run %" PRIu64 " is damaged, removing it",
			 key->sequence, key->epoch);
	else if (problem < 0)
		log_warn_errno(problem, "cannot read spooled batch %" PRIu64 ", removing it: %m",
			       key->sequence);
	else
		log_full(sender, "the spool");
	sender_report_lost(sender, key);
}

void sender_count_spool(struct sender *sender)
{
	uint64_t bytes = sender->spool ? spool_bytes(sender->spool) : 0;

	(void)pthread_mutex_lock(&sender->lock);
	sender->stats.spool_bytes = bytes;
	(void)pthread_mutex_unlock(&sender->lock);
}

int sender_open_spool(struct sender *sender, const struct sender_options *options)
{
	const struct spool_options spool_options = {
		.folder = options->spool_folder,
		.max_bytes = options->spool_max_bytes,
		.lost = on_spool_lost,
		.argument = sender,
	};
	int r;

	if (!options->spool_folder || !*options->spool_folder)
		return 0;
	r = spool_open(&spool_options, &sender->spool);
	if (r == -ENOMEM)
		return r;
	if (r == -EBUSY)
		log_warn("spool folder '%s' is in use by another agent, keeping batches in memory "
			 "only",
			 options->spool_folder);
	else if (r < 0)
		log_warn_errno(r,
			       "cannot use spool folder '%s', keeping batches in memory only: %m",
			       options->spool_folder);
	else if (spool_count(sender->spool) > 0)
		log_info("the spool has %zu batches of an earlier run", spool_count(sender->spool));
	sender_count_spool(sender);
	return 0;
}

bool sender_spool_works(const struct sender *sender)
{
	return sender->spool && !sender->spool_fails;
}

/*
 * 0: written to disk, or too large for the spool and reported as lost. Negative errno: disk error.
 */
static int spool_batch(struct sender *sender, const struct queued_batch *batch)
{
	int r;

	r = spool_push(sender->spool, &batch->key, bytes_view_of(&batch->content));
	if (r == -EFBIG) {
		sender_report_lost(sender, &batch->key);
		return 0;
	}
	if (r < 0) {
		if (!sender->spool_fails)
			log_warn_errno(
				r, "cannot write to the spool, keeping batches in memory only: %m");
		sender->spool_fails = true;
		return r;
	}
	if (sender->spool_fails)
		log_info("the spool can be written again");
	sender->spool_fails = false;
	(void)pthread_mutex_lock(&sender->lock);
	sender->stats.batches_spooled++;
	(void)pthread_mutex_unlock(&sender->lock);
	sender_count_spool(sender);
	return 0;
}

void sender_spool_current(struct sender *sender)
{
	if (!sender->current || sender->current_is_spooled)
		return;
	if (spool_batch(sender, sender->current) == 0)
		sender->current = queued_batch_free(sender->current);
}

void sender_spool_queue(struct sender *sender, uint64_t max_bytes)
{
	for (;;) {
		struct queued_batch *batch = NULL;
		int r;

		(void)pthread_mutex_lock(&sender->lock);
		if (sender->queue.bytes > max_bytes)
			batch = batch_queue_take_first(&sender->queue);
		(void)pthread_mutex_unlock(&sender->lock);
		if (!batch)
			return;
		r = spool_batch(sender, batch);
		if (r < 0) {
			(void)pthread_mutex_lock(&sender->lock);
			batch_queue_prepend(&sender->queue, batch);
			(void)pthread_mutex_unlock(&sender->lock);
			return;
		}
		(void)queued_batch_free(batch);
	}
}

/* Keeps at least @kept batches of any size, because the newest may still be delivered at once. */
static void drop_oldest(struct sender *sender, uint64_t max_bytes, size_t kept)
{
	for (;;) {
		struct queued_batch *batch = NULL;

		(void)pthread_mutex_lock(&sender->lock);
		if (sender->queue.bytes > max_bytes && sender->queue.count > kept)
			batch = batch_queue_take_first(&sender->queue);
		(void)pthread_mutex_unlock(&sender->lock);
		if (!batch)
			return;
		log_full(sender, "the memory for batches");
		sender_report_lost(sender, &batch->key);
		(void)queued_batch_free(batch);
	}
}

void sender_bound_memory(struct sender *sender)
{
	if (sender->spool)
		sender_spool_queue(sender, sender->memory_max_bytes);
	drop_oldest(sender, sender->memory_max_bytes, 1);
}

void sender_drop_queue(struct sender *sender)
{
	drop_oldest(sender, 0, 0);
}
