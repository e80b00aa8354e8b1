/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main thread's side of the sender: a queue under a lock to the network thread, and events
 * back. Only sender_stop() waits.
 */
#include "agent/upload/sender_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/condition.h"
#include "common/thread.h"

/* The first retry is early, because the server may only be restarting. */
#define FIRST_RETRY_NS NSEC_PER_SEC

uint64_t sender_now_ns(void)
{
	return clock_monotonic_ns(&system_clock);
}

struct queued_batch *queued_batch_free(struct queued_batch *batch)
{
	if (!batch)
		return NULL;
	bytes_release(&batch->content);
	free(batch);
	return NULL;
}

static uint64_t cost_of(const struct queued_batch *batch)
{
	return sizeof(*batch) + batch->content.size;
}

void batch_queue_append(struct batch_queue *queue, struct queued_batch *batch)
{
	batch->next = NULL;
	if (queue->last)
		queue->last->next = batch;
	else
		queue->first = batch;
	queue->last = batch;
	queue->bytes += cost_of(batch);
	queue->count++;
}

void batch_queue_prepend(struct batch_queue *queue, struct queued_batch *batch)
{
	batch->next = queue->first;
	queue->first = batch;
	if (!queue->last)
		queue->last = batch;
	queue->bytes += cost_of(batch);
	queue->count++;
}

struct queued_batch *batch_queue_take_first(struct batch_queue *queue)
{
	struct queued_batch *batch = queue->first;

	if (!batch)
		return NULL;
	queue->first = batch->next;
	if (!queue->first)
		queue->last = NULL;
	queue->bytes -= cost_of(batch);
	queue->count--;
	batch->next = NULL;
	return batch;
}

void sender_report_undelivered(struct sender *sender, const struct spool_key *key)
{
	struct sender_event event = {
		.type = SENDER_DROPPED,
		.epoch = key->epoch,
		.sequence = key->sequence,
	};

	(void)event_queue_push_take(&sender->events, &event);
}

void sender_report_lost(struct sender *sender, const struct spool_key *key)
{
	(void)pthread_mutex_lock(&sender->lock);
	sender->stats.batches_dropped++;
	(void)pthread_mutex_unlock(&sender->lock);
	sender_report_undelivered(sender, key);
}

static int init_locks(struct sender *sender)
{
	(void)pthread_mutex_init(&sender->lock, NULL);
	condition_init(&sender->wake);
	return event_queue_init(&sender->events);
}

static int start_thread(struct sender *sender)
{
	int r = thread_start("hearth-sender", sender_thread, sender, &sender->thread);

	if (r < 0)
		return r;
	sender->is_running = true;
	return 0;
}

static int set_up(struct sender *sender, const struct sender_options *options)
{
	const struct http_client_options client_options = {
		.server = options->server,
		.token = options->token,
		.ca_file = options->ca_file,
		.insecure_tls = options->insecure_tls,
	};
	int r;

	sender->memory_max_bytes = options->memory_max_bytes;
	sender->keep_capabilities = options->keep_capabilities;
	(void)snprintf(sender->boot_id, sizeof(sender->boot_id), "%s",
		       options->boot_id && *options->boot_id ? options->boot_id : "-");
	sender->server = strdup(options->server);
	if (!sender->server)
		return -ENOMEM;
	backoff_init(&sender->backoff, MIN(FIRST_RETRY_NS, options->retry_max_ns),
		     options->retry_max_ns, sender_now_ns());
	r = http_client_new(&client_options, &sender->client);
	if (r < 0)
		return r;
	if (options->upload_bytes_per_s) {
		r = uploader_new(options, &sender->uploader);
		if (r < 0)
			return r;
	}
	r = sender_open_spool(sender, options);
	if (r < 0)
		return r;
	return start_thread(sender);
}

int sender_new(const struct sender_options *options, struct sender **ret_sender)
{
	struct sender *sender = calloc(1, sizeof(*sender));
	int r;

	if (!sender)
		return -ENOMEM;
	r = init_locks(sender);
	if (r == 0)
		r = set_up(sender, options);
	if (r < 0) {
		(void)sender_free(sender);
		return r;
	}
	*ret_sender = sender;
	return 0;
}

void sender_stop(struct sender *sender, uint64_t linger_ns)
{
	if (!sender->is_running)
		return;
	(void)pthread_mutex_lock(&sender->lock);
	sender->stopping = true;
	sender->stop_deadline_ns = sender_now_ns() + linger_ns;
	(void)pthread_cond_broadcast(&sender->wake);
	(void)pthread_mutex_unlock(&sender->lock);
	http_client_wake(sender->client);
	(void)pthread_join(sender->thread, NULL);
	sender->is_running = false;
}

struct sender *sender_free(struct sender *sender)
{
	struct queued_batch *batch;

	if (!sender)
		return NULL;
	sender_stop(sender, 0);
	(void)uploader_free(sender->uploader);
	while ((batch = batch_queue_take_first(&sender->queue)))
		(void)queued_batch_free(batch);
	(void)queued_batch_free(sender->supplement);
	(void)queued_batch_free(sender->current);
	(void)spool_close(sender->spool);
	(void)http_client_free(sender->client);
	event_queue_release(&sender->events);
	(void)pthread_cond_destroy(&sender->wake);
	(void)pthread_mutex_destroy(&sender->lock);
	free(sender->server);
	free(sender);
	return NULL;
}

static struct queued_batch *take_batch(uint64_t epoch, uint64_t sequence, struct bytes *content)
{
	struct queued_batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return NULL;
	batch->key = (struct spool_key){ .epoch = epoch, .sequence = sequence };
	batch->content = *content;
	*content = BYTES_INIT(content->ceiling);
	return batch;
}

int sender_submit(struct sender *sender, uint64_t epoch, uint64_t sequence, struct bytes *batch)
{
	struct queued_batch *queued = take_batch(epoch, sequence, batch);
	bool too_much;

	if (!queued)
		return -ENOMEM;
	(void)pthread_mutex_lock(&sender->lock);
	sender->current_epoch = epoch;
	batch_queue_append(&sender->queue, queued);
	too_much = sender->queue.bytes > sender->memory_max_bytes;
	(void)pthread_cond_broadcast(&sender->wake);
	(void)pthread_mutex_unlock(&sender->lock);
	/* Also during a request the thread has to move batches out of memory. */
	if (too_much)
		http_client_wake(sender->client);
	return 0;
}

int sender_supplement(struct sender *sender, uint64_t epoch, uint64_t sequence, struct bytes *batch)
{
	struct queued_batch *supplement = take_batch(epoch, sequence, batch);
	bool too_late;

	if (!supplement)
		return -ENOMEM;
	(void)pthread_mutex_lock(&sender->lock);
	too_late = !sender->waits_for_supplement || sender->supplement;
	if (!too_late) {
		sender->supplement = supplement;
		(void)pthread_cond_broadcast(&sender->wake);
	}
	(void)pthread_mutex_unlock(&sender->lock);
	if (too_late) {
		sender_report_undelivered(sender, &supplement->key);
		(void)queued_batch_free(supplement);
	}
	return 0;
}

int sender_poll(struct sender *sender, struct sender_event *ret_event)
{
	return event_queue_pop(&sender->events, ret_event);
}

int sender_event_fd(const struct sender *sender)
{
	return sender->events.fd;
}

int sender_upload_take(struct sender *sender, const struct sender_upload *upload)
{
	if (sender->uploader)
		return uploader_take(sender->uploader, upload);
	if (upload->fd >= 0) {
		(void)close(upload->fd);
		(void)close(upload->pieces_fd);
	}
	if (upload->content)
		bytes_release(upload->content);
	return -EPERM;
}

bool sender_has_upload_room(struct sender *sender)
{
	return sender->uploader && uploader_has_room(sender->uploader);
}

void sender_stats(struct sender *sender, struct sender_stats *ret_stats)
{
	(void)pthread_mutex_lock(&sender->lock);
	*ret_stats = sender->stats;
	(void)pthread_mutex_unlock(&sender->lock);
	if (sender->uploader)
		uploader_stats(sender->uploader, ret_stats);
}
