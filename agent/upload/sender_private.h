/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What sender.c (the main thread's side) and sender_thread.c share.
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

/* First in, first out; the front may be put back. */
struct batch_queue {
	struct queued_batch *first, *last;
	uint64_t bytes; /* with what a batch costs beside its content */
	size_t count;
};

struct sender {
	/* Fixed after sender_new(). */
	char *server; /* for messages */
	uint64_t memory_max_bytes;
	struct http_client *client;
	struct uploader *uploader; /* NULL: no uploads */
	pthread_t thread;
	bool is_running;

	struct event_queue events;
	bool keep_capabilities;

	/* Under the lock. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct batch_queue queue; /* newer than everything in the spool */
	struct queued_batch *supplement;
	bool waits_for_supplement;
	uint64_t current_epoch; /* of the newest batch submitted; 0 none yet */
	bool stopping;
	uint64_t stop_deadline_ns; /* CLOCK_MONOTONIC */
	struct sender_stats stats;

	/* The thread's own. */
	struct spool *spool;          /* NULL: memory only */
	struct queued_batch *current; /* older than everything else; its turn comes first */
	bool current_is_spooled;
	bool spool_fails;               /* said once, until it works again */
	unsigned int supplement_rounds; /* for current */
	struct backoff backoff;
	uint64_t retry_at_ns; /* 0: nothing failed */
	bool away;            /* said once, until the server is back */
	bool full_was_said;   /* likewise */
	uint64_t token_refusal_said_ns;
	uint32_t interval_ms; /* last asked for by the server */
};

uint64_t sender_now_ns(void);

struct queued_batch *queued_batch_free(struct queued_batch *batch);
void batch_queue_append(struct batch_queue *queue, struct queued_batch *batch);
void batch_queue_prepend(struct batch_queue *queue, struct queued_batch *batch);
struct queued_batch *batch_queue_take_first(struct batch_queue *queue);

/* Counts and reports a batch that nobody will get. */
void sender_report_lost(struct sender *sender, const struct spool_key *key);

/*
 * sender_storage.c. Opens the spool; without one the sender goes on in memory.
 */
int sender_open_spool(struct sender *sender, const struct sender_options *options);
bool sender_spool_works(const struct sender *sender);
void sender_count_spool(struct sender *sender);

/* Moves `current` to disk, where it is the first again. */
void sender_spool_current(struct sender *sender);

/* Moves batches from memory to disk until at most @max_bytes are left there, or the disk fails. */
void sender_spool_queue(struct sender *sender, uint64_t max_bytes);

/* Bounds the memory, whatever the server and the disk do. */
void sender_bound_memory(struct sender *sender);
void sender_drop_queue(struct sender *sender);

void *sender_thread(void *argument);

/* What one answer of the server means for the batch. */
enum delivery {
	DELIVERED,
	REFUSED, /* for good */
	UNKNOWN_NUMBERS,
	TRY_AGAIN,
	CANCELED,
};

/*
 * sender_answer.c: reads the answer to a batch, and emits the events that it holds besides the
 * acknowledgement.
 */
enum delivery sender_judge(struct sender *sender, const struct spool_key *key, int r,
			   struct http_answer *http, struct sender_event *ret_unknown);

#include "common/scoped.h"
DEFINE_SCOPED(struct queued_batch *, queued_batch_free);
