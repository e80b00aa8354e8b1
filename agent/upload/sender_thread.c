/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rule keeps the order of batches: `current` is older than the spool, and the spool is older
 * than the queue. Batches are moved only from the front of the queue to the end of the spool (when
 * memory is full or the server is away), and from `current` back to the spool, where its key sorts
 * first.
 */
#include "agent/upload/sender_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/capabilities.h"
#include "common/condition.h"
#include "common/log.h"

/* Enough for a busy server; a dead connection must be noticed after this time. */
#define REQUEST_TIMEOUT_NS (60 * NSEC_PER_SEC)

#define MAX_ANSWER_BYTES MIB

/* How long a batch waits for definitions from the main thread. */
#define SUPPLEMENT_TIMEOUT_NS (10 * NSEC_PER_SEC)

/* After this many supplements, a server that still misses definitions will never have them. */
#define MAX_SUPPLEMENT_ROUNDS 3

/* Pause after a failed allocation. */
#define NO_MEMORY_PAUSE_NS NSEC_PER_SEC

/* After the first try and one retry the server counts as away, and batches are moved to disk. */
#define FAILURES_BEFORE_SPOOLING 2

static void lock(struct sender *sender)
{
	(void)pthread_mutex_lock(&sender->lock);
}

static void unlock(struct sender *sender)
{
	(void)pthread_mutex_unlock(&sender->lock);
}

static bool stop_is_due(struct sender *sender)
{
	bool due;

	lock(sender);
	due = sender->stopping && sender_now_ns() >= sender->stop_deadline_ns;
	unlock(sender);
	return due;
}

static bool watch_request(void *argument)
{
	struct sender *sender = argument;

	sender_bound_memory(sender);
	return !stop_is_due(sender);
}

/* Makes the oldest batch `current`. False: there is none. */
static bool take_next(struct sender *sender)
{
	struct queued_batch *batch;
	int r;

	if (sender->current)
		return true;
	sender->supplement_rounds = 0;
	sender->current_is_spooled = false;
	if (sender->spool && spool_count(sender->spool) > 0) {
		batch = calloc(1, sizeof(*batch));
		if (!batch) {
			sender->retry_at_ns = sender_now_ns() + NO_MEMORY_PAUSE_NS;
			return false;
		}
		batch->content = BYTES_INIT(BATCH_MAX_COMPRESSED_BYTES);
		r = spool_first(sender->spool, &batch->key, &batch->content);
		if (r == 1) {
			sender->current = batch;
			sender->current_is_spooled = true;
			return true;
		}
		(void)queued_batch_free(batch);
		sender_count_spool(sender);
		if (r < 0) {
			sender->retry_at_ns = sender_now_ns() + NO_MEMORY_PAUSE_NS;
			return false;
		}
	}
	lock(sender);
	sender->current = batch_queue_take_first(&sender->queue);
	unlock(sender);
	return sender->current;
}

static void emit_acknowledged(struct sender *sender, const struct spool_key *key)
{
	struct sender_event event = {
		.type = SENDER_ACKNOWLEDGED,
		.epoch = key->epoch,
		.sequence = key->sequence,
	};

	(void)event_queue_push_take(&sender->events, &event);
}

/* Releases `current`, which was delivered or never will be. */
static void finish_current(struct sender *sender, bool delivered)
{
	if (sender->current_is_spooled) {
		spool_remove_first(sender->spool);
		sender_count_spool(sender);
	}
	if (delivered)
		emit_acknowledged(sender, &sender->current->key);
	else
		sender_report_lost(sender, &sender->current->key);
	sender->current = queued_batch_free(sender->current);
	sender->current_is_spooled = false;
}

static size_t count_waiting(struct sender *sender)
{
	size_t count = sender->spool ? spool_count(sender->spool) : 0;

	if (sender->current && !sender->current_is_spooled)
		count++;
	lock(sender);
	count += sender->queue.count;
	unlock(sender);
	return count;
}

/* Called when the server has answered a batch, whether or not it accepted it. */
static void note_reachable(struct sender *sender)
{
	if (sender->away)
		log_info("server '%s' is reachable again, delivering %zu waiting batches",
			 sender->server, count_waiting(sender));
	sender->away = false;
	sender->full_was_logged = false;
	sender->too_old_was_logged = false;
	sender->retry_at_ns = 0;
	backoff_succeeded(&sender->backoff);
	lock(sender);
	sender->stats.server_reachable = true;
	unlock(sender);
}

static void note_success(struct sender *sender, const struct queued_batch *batch)
{
	lock(sender);
	sender->stats.batches_sent++;
	sender->stats.bytes_sent += batch->content.size;
	unlock(sender);
}

/* @status 0: the server did not answer. Logged again when it answers, but still takes no batch: the
 * cause is another one then. */
static void note_failure(struct sender *sender, long status, const char *message)
{
	if (!sender->away || (status != 0 && sender->away_status == 0)) {
		sender->away_status = status;
		log_warn("cannot deliver to server '%s', keeping batches %s: %s", sender->server,
			 sender_spool_works(sender) ? "in the spool" : "in memory", message);
	}
	sender->away = true;
	sender->retry_at_ns = sender_now_ns() + backoff_failed(&sender->backoff);
	lock(sender);
	sender->stats.server_reachable = false;
	sender->stats.send_errors++;
	unlock(sender);
	if (sender->spool && sender->backoff.failures >= FAILURES_BEFORE_SPOOLING) {
		sender_spool_current(sender);
		sender_spool_queue(sender, 0);
	}
}

#define CLOCK_HEADER_SIZE 192

static uint64_t read_clock(clockid_t id)
{
	struct timespec now;

	(void)clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/* docs/wire-format.md describes the header. */
static void format_clocks(const struct sender *sender, char ret_header[CLOCK_HEADER_SIZE])
{
	const uint64_t wall_ns = read_clock(CLOCK_REALTIME);
	const uint64_t monotonic_ns = read_clock(CLOCK_MONOTONIC);
	const uint64_t boottime_ns = read_clock(CLOCK_BOOTTIME);

	(void)snprintf(ret_header, CLOCK_HEADER_SIZE,
		       "X-Hearth-Clock: %" PRIu64 " %" PRIu64 " %" PRIu64 " %s", wall_ns,
		       monotonic_ns, boottime_ns, sender->boot_id);
}

static enum delivery post(struct sender *sender, const struct queued_batch *batch,
			  struct sender_event *ret_unknown)
{
	struct http_answer answer = { .body = BYTES_INIT(MAX_ANSWER_BYTES) };
	char clocks[CLOCK_HEADER_SIZE];
	const struct http_request request = {
		.path = "/v1/ingest",
		.content_type = "application/x-protobuf",
		.header = clocks,
		.body = bytes_view_of(&batch->content),
		.timeout_ns = REQUEST_TIMEOUT_NS,
		.watch = watch_request,
		.argument = sender,
	};
	enum delivery delivery;
	int r;

	format_clocks(sender, clocks);
	r = http_client_request(sender->client, &request, &answer);
	delivery = sender_classify(sender, &batch->key, r, &answer, ret_unknown);
	if (delivery == DELIVERED)
		note_success(sender, batch);
	if (delivery == TRY_AGAIN)
		note_failure(sender, answer.status,
			     *answer.message ? answer.message : strerror(-r));
	else if (delivery != CANCELED)
		note_reachable(sender);
	bytes_release(&answer.body);
	return delivery;
}

/* Requests definitions from the main thread. NULL: no answer in time, or the sender is stopping. */
static struct queued_batch *wait_for_supplement(struct sender *sender, struct sender_event *unknown)
{
	uint64_t deadline = sender_now_ns() + SUPPLEMENT_TIMEOUT_NS;
	struct queued_batch *supplement;

	lock(sender);
	sender->waits_for_supplement = true;
	unlock(sender);
	(void)event_queue_push_take(&sender->events, unknown);
	lock(sender);
	while (!sender->supplement && !sender->stopping && sender_now_ns() < deadline)
		(void)condition_wait_until(&sender->wake, &sender->lock, deadline);
	supplement = sender->supplement;
	sender->supplement = NULL;
	sender->waits_for_supplement = false;
	unlock(sender);
	return supplement;
}

/* 1: delivered; 0: not delivered, may be tried later; negative errno: refused. */
static int deliver_supplement(struct sender *sender, const struct queued_batch *supplement)
{
	struct sender_event still_unknown = {};
	enum delivery delivery = post(sender, supplement, &still_unknown);

	sender_event_release(&still_unknown);
	if (delivery == DELIVERED) {
		emit_acknowledged(sender, &supplement->key);
		return 1;
	}
	sender_report_undelivered(sender, &supplement->key);
	return delivery == TRY_AGAIN || delivery == CANCELED ? 0 : -EBADMSG;
}

/* True if the agent cannot give the definitions: from an earlier run, or tried too often. */
static bool cannot_be_supplemented(struct sender *sender)
{
	bool of_this_run;

	lock(sender);
	of_this_run = sender->current->key.epoch == sender->current_epoch;
	unlock(sender);
	return !of_this_run || sender->supplement_rounds == MAX_SUPPLEMENT_ROUNDS;
}

/* Takes @unknown. Afterwards `current` is either released or tried again. */
static void supply_definitions(struct sender *sender, struct sender_event *unknown)
{
	scoped(queued_batch_freep) struct queued_batch *supplement = NULL;
	bool stopping;

	if (cannot_be_supplemented(sender)) {
		log_warn("the server lacks definitions of batch %" PRIu64
			 " that the agent does not have any more, dropping it",
			 sender->current->key.sequence);
		sender_event_release(unknown);
		finish_current(sender, false);
		return;
	}
	supplement = wait_for_supplement(sender, unknown);
	lock(sender);
	stopping = sender->stopping;
	unlock(sender);
	/*
	 * If the sender is stopping, the main thread waits for this thread and answers no more. The
	 * batch is spooled for the next run.
	 */
	if (!supplement && stopping)
		sender->retry_at_ns = UINT64_MAX;
	else if (!supplement || deliver_supplement(sender, supplement) != 0)
		sender->supplement_rounds++;
}

static void deliver_current(struct sender *sender)
{
	struct sender_event unknown = {};

	switch (post(sender, sender->current, &unknown)) {
	case DELIVERED:
		finish_current(sender, true);
		break;
	case REFUSED:
		finish_current(sender, false);
		break;
	case UNKNOWN_NUMBERS:
		supply_definitions(sender, &unknown);
		break;
	case TRY_AGAIN:
		/* The server that answers next may be another one, and lack other definitions. */
		sender->supplement_rounds = 0;
		break;
	case CANCELED:
		break;
	}
}

/* The lock must be held. Whether there is something to send, now or after the pause. */
static bool has_work(const struct sender *sender)
{
	return sender->current || sender->queue.first ||
	       (sender->spool && spool_count(sender->spool) > 0);
}

/* The lock must be held. Whether nothing more is to be tried before the thread ends. */
static bool is_finished(const struct sender *sender)
{
	if (!sender->stopping)
		return false;
	if (!has_work(sender) || sender_now_ns() >= sender->stop_deadline_ns)
		return true;
	/* If the server is away, batches are left on disk instead of delaying the end. */
	return sender->retry_at_ns != 0 && sender_spool_works(sender);
}

static bool has_too_much(const struct sender *sender)
{
	if (sender->queue.bytes > sender->memory_max_bytes)
		return sender_spool_works(sender) || sender->queue.count > 1;
	return (sender->queue.first && sender_spool_works(sender) &&
		sender->backoff.failures >= FAILURES_BEFORE_SPOOLING);
}

/* False: the thread has to end. */
static bool wait_for_work(struct sender *sender)
{
	lock(sender);
	while (!is_finished(sender)) {
		uint64_t until = UINT64_MAX;

		if (has_too_much(sender)) {
			bool away = sender->backoff.failures >= FAILURES_BEFORE_SPOOLING;

			unlock(sender);
			if (away && sender_spool_works(sender))
				sender_spool_queue(sender, 0);
			sender_bound_memory(sender);
			lock(sender);
			continue;
		}
		if (has_work(sender) && sender->retry_at_ns <= sender_now_ns()) {
			unlock(sender);
			return true;
		}
		if (has_work(sender))
			until = sender->retry_at_ns;
		if (sender->stopping)
			until = MIN(until, sender->stop_deadline_ns);
		(void)condition_wait_until(&sender->wake, &sender->lock, until);
	}
	unlock(sender);
	return false;
}

/* Spools what it can at the end of the thread. The other batches are lost. */
static void spool_the_rest(struct sender *sender)
{
	size_t lost;

	if (sender->spool) {
		sender_spool_current(sender);
		sender_spool_queue(sender, 0);
	}
	lost = sender->queue.count + (sender->current && !sender->current_is_spooled);
	if (lost > 0)
		log_warn("%zu batches could neither be delivered nor spooled, they are lost", lost);
	sender_drop_queue(sender);
	if (sender->current && !sender->current_is_spooled)
		sender_report_lost(sender, &sender->current->key);
	sender->current = queued_batch_free(sender->current);
}

void *sender_thread(void *argument)
{
	struct sender *sender = argument;

	if (!sender->keep_capabilities)
		(void)capabilities_limit(0);
	while (wait_for_work(sender))
		if (take_next(sender))
			deliver_current(sender);
	spool_the_rest(sender);
	return NULL;
}
