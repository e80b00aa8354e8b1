/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Group commit: a queue of batches in front of one writer thread.
 *
 * The thread takes the waiting batches as a group, lets the engine write them with one commit, and
 * completes each of them. While a group is written, the next one collects. The thread also delays
 * a group, so that groups have more batches and the disk has fewer synchronous writes:
 *
 *   - A group starts at the latest write_queue_options.spacing_ns after the end of the one before.
 *     On an idle server this time is over, and a batch is written at once.
 *   - A group starts earlier when as many batches wait as there were in progress lately. With few
 *     clients that each wait for their answer, no further batch would arrive.
 */

#include "symbolizer/store/store.h"

/* One batch in the queue. The caller keeps it, and all that it refers to, until complete(). */
struct store_write {
	const char *tenant;
	const struct batch *batch;
	struct arena *arena; /* of ret_missing; has the decoded batch too */
	struct store_missing *ret_missing;

	/* Called once, by the writer thread, which must not wait in it. @result is final then. */
	void (*complete)(struct store_write *write);

	int result; /* of store_write(), set by the engine */
	struct store_write *next;
};

struct write_queue_options {
	size_t max_writes; /* of one group */
	size_t max_bytes;  /* of the arenas of one group; a larger batch is a group alone */
	uint64_t spacing_ns;

	/*
	 * Writes the first batches of the group and sets their results. Returns their number, at
	 * least 1; the others are in the next group again.
	 */
	size_t (*write_group)(void *arg, struct store_write *const *writes, size_t count);
	void *arg;
};

struct write_queue;

int write_queue_new(const struct write_queue_options *options, struct write_queue **ret_queue);

/* Completes all batches, and then ends the thread. No write may begin any more. */
struct write_queue *write_queue_free(struct write_queue *queue);

/* Puts @write into the queue. Thread-safe. */
void write_queue_begin(struct write_queue *queue, struct store_write *write);

/* Writes a batch as store_write() does: waits for its completion, and returns its result. */
int write_queue_run(struct write_queue *queue, const char *tenant, const struct batch *batch,
		    struct arena *arena, struct store_missing *ret_missing);

DEFINE_SCOPED(struct write_queue *, write_queue_free);
