/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shared by sender.c (the main thread's side), sender_thread.c, sender_storage.c and
 * sender_answer.c.
 */

#include <pthread.h>

#include "agent/upload/event_queue.h"
#include "agent/upload/http_client.h"
#include "agent/upload/sender.h"
#include "agent/upload/spool.h"
#include "agent/upload/uploader.h"
#include "common/backoff.h"
#include "common/limits.h"

struct queued_batch {
	struct queued_batch *next;
	struct spool_key key;
	struct bytes content;
};

/* First in, first out; a batch that was taken may be put back to the front. */
struct batch_queue {
	struct queued_batch *first, *last;
	uint64_t bytes; /* content, and memory of the queue for each batch */
	size_t count;
};

struct sender {
	/* constant after sender_new() */
	char *server; /* for messages */
	char boot_id[64];
	uint64_t memory_max_bytes;
	struct http_client *client;
	struct uploader *uploader; /* NULL: no uploads */
	pthread_t thread;
	bool is_running;

	struct event_queue events;
	bool keep_capabilities;

	/* protected by the lock */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct batch_queue queue; /* newer than everything in the spool */
	struct queued_batch *supplement;
	bool waits_for_supplement;
	uint64_t current_epoch; /* of the newest submitted batch; 0: none yet */
	bool stopping;
	uint64_t stop_deadline_ns; /* CLOCK_MONOTONIC */
	struct sender_stats stats;

	/* used only by the thread */
	struct spool *spool;          /* NULL: memory only */
	struct queued_batch *current; /* the oldest batch, which is sent next */
	bool current_is_spooled;
	bool spool_fails;               /* logged once, until the spool works again */
	unsigned int supplement_rounds; /* for current */
	struct backoff backoff;
	uint64_t retry_at_ns;    /* 0: nothing failed */
	bool away;               /* logged once, until the server is back */
	long away_status;        /* of the logged failure; 0: no answer */
	bool full_was_logged;    /* reset when the server is back */
	bool too_old_was_logged; /* likewise */
	uint64_t token_refusal_logged_ns;
	uint32_t interval_ms; /* last requested by the server */
};

uint64_t sender_now_ns(void);

struct queued_batch *queued_batch_free(struct queued_batch *batch);
void batch_queue_append(struct batch_queue *queue, struct queued_batch *batch);
void batch_queue_prepend(struct batch_queue *queue, struct queued_batch *batch);
struct queued_batch *batch_queue_take_first(struct batch_queue *queue);

/* Counts a batch that will not be delivered, and emits an event for it. */
void sender_report_lost(struct sender *sender, const struct spool_key *key);

/*
 * Emits the same event for definitions that were not delivered. They are not counted: the batch
 * that needs them is tried again, and is counted if it is lost.
 */
void sender_report_undelivered(struct sender *sender, const struct spool_key *key);

/*
 * sender_storage.c. Opens the spool. Without a usable spool batches are kept in memory.
 */
int sender_open_spool(struct sender *sender, const struct sender_options *options);
bool sender_spool_works(const struct sender *sender);
void sender_count_spool(struct sender *sender);

/* Moves `current` to disk, where its key sorts first again. */
void sender_spool_current(struct sender *sender);

/* Moves batches from memory to disk until at most @max_bytes are left, or writing fails. */
void sender_spool_queue(struct sender *sender, uint64_t max_bytes);

/* Limits the memory for batches, even if neither the server nor the disk works. */
void sender_bound_memory(struct sender *sender);
void sender_drop_queue(struct sender *sender);

void *sender_thread(void *argument);

/* Consequence of an answer of the server for the batch. */
enum delivery {
	DELIVERED,
	REFUSED, /* permanently */
	UNKNOWN_NUMBERS,
	TRY_AGAIN,
	CANCELED,
};

/*
 * sender_answer.c. Interprets the answer to a batch, and emits all events in it but the
 * acknowledgement.
 */
enum delivery sender_classify(struct sender *sender, const struct spool_key *key, int r,
			      struct http_answer *http, struct sender_event *ret_unknown);

#include "common/scoped.h"
DEFINE_SCOPED(struct queued_batch *, queued_batch_free);
