/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/write_queue.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/condition.h"

struct write_queue {
	struct write_queue_options options;
	pthread_mutex_t lock; /* of all fields below, except @group */
	pthread_cond_t changed;
	struct store_write *first, *last;
	size_t count;
	bool stopping;
	pthread_t thread;
	bool has_thread;

	/* Used by the thread only. */
	struct store_write **group; /* [options.max_writes] */
	size_t in_progress;         /* most batches that were written or waiting lately */
	uint64_t next_start_ns;     /* monotonic: a group that waits starts at the latest then */
};

/* The caller holds the lock. Returns when a group may start. */
static void wait_for_group(struct write_queue *queue)
{
	size_t enough = MIN(queue->in_progress, queue->options.max_writes);

	while (!queue->stopping && queue->count < enough &&
	       condition_wait_until(&queue->changed, &queue->lock, queue->next_start_ns))
		;
}

/* The caller holds the lock. Returns the number of batches in queue->group. */
static size_t take_group(struct write_queue *queue)
{
	size_t count = 0;
	size_t bytes = 0;

	while (queue->first && count < queue->options.max_writes) {
		struct store_write *write = queue->first;

		bytes += arena_used_bytes(write->arena);
		if (count > 0 && bytes > queue->options.max_bytes)
			break;
		queue->group[count++] = write;
		queue->first = write->next;
		queue->count--;
	}
	if (!queue->first)
		queue->last = NULL;
	return count;
}

/* The caller holds the lock. Puts the batches from @first on back, before those that arrived. */
static void return_rest(struct write_queue *queue, size_t first, size_t count)
{
	for (size_t i = count; i > first; i--) {
		struct store_write *write = queue->group[i - 1];

		write->next = queue->first;
		queue->first = write;
		if (!queue->last)
			queue->last = write;
		queue->count++;
	}
}

/* The caller holds the lock, which is released while the engine writes and for complete(). */
static void write_one_group(struct write_queue *queue)
{
	size_t count = take_group(queue);
	size_t n_written;

	(void)pthread_mutex_unlock(&queue->lock);
	n_written = queue->options.write_group(queue->options.arg, queue->group, count);
	assert(n_written > 0 && n_written <= count);

	(void)pthread_mutex_lock(&queue->lock);
	return_rest(queue, n_written, count);
	/* Before complete(), after which the same clients may send their next batches. */
	queue->in_progress =
		MAX(n_written + queue->count, queue->in_progress ? queue->in_progress - 1 : 0);
	queue->next_start_ns = clock_monotonic_ns(&system_clock) + queue->options.spacing_ns;
	(void)pthread_mutex_unlock(&queue->lock);
	for (size_t i = 0; i < n_written; i++)
		queue->group[i]->complete(queue->group[i]);
	(void)pthread_mutex_lock(&queue->lock);
}

static void *run_writer(void *arg)
{
	struct write_queue *queue = arg;

	(void)pthread_mutex_lock(&queue->lock);
	for (;;) {
		while (!queue->first && !queue->stopping)
			(void)pthread_cond_wait(&queue->changed, &queue->lock);
		if (!queue->first)
			break;
		wait_for_group(queue);
		write_one_group(queue);
	}
	(void)pthread_mutex_unlock(&queue->lock);
	return NULL;
}

int write_queue_new(const struct write_queue_options *options, struct write_queue **ret_queue)
{
	scoped(write_queue_freep) struct write_queue *queue = calloc(1, sizeof(*queue));
	int r;

	if (!queue)
		return -ENOMEM;
	assert(options->max_writes > 0);
	queue->options = *options;
	(void)pthread_mutex_init(&queue->lock, NULL);
	condition_init(&queue->changed);
	queue->group = calloc(options->max_writes, sizeof(struct store_write *));
	if (!queue->group)
		return -ENOMEM;
	r = pthread_create(&queue->thread, NULL, run_writer, queue);
	if (r != 0)
		return -r;
	queue->has_thread = true;
	*ret_queue = take_ptr(queue);
	return 0;
}

struct write_queue *write_queue_free(struct write_queue *queue)
{
	if (!queue)
		return NULL;
	if (queue->has_thread) {
		(void)pthread_mutex_lock(&queue->lock);
		queue->stopping = true;
		(void)pthread_cond_signal(&queue->changed);
		(void)pthread_mutex_unlock(&queue->lock);
		(void)pthread_join(queue->thread, NULL);
	}
	free(queue->group);
	(void)pthread_cond_destroy(&queue->changed);
	(void)pthread_mutex_destroy(&queue->lock);
	free(queue);
	return NULL;
}

void write_queue_begin(struct write_queue *queue, struct store_write *write)
{
	write->next = NULL;
	(void)pthread_mutex_lock(&queue->lock);
	if (queue->last)
		queue->last->next = write;
	else
		queue->first = write;
	queue->last = write;
	queue->count++;
	(void)pthread_cond_signal(&queue->changed);
	(void)pthread_mutex_unlock(&queue->lock);
}

struct waiting_write {
	struct store_write write;
	sem_t done;
};

static void wake_caller(struct store_write *write)
{
	(void)sem_post(&container_of(write, struct waiting_write, write)->done);
}

int write_queue_run(struct write_queue *queue, const char *tenant, const struct batch *batch,
		    struct arena *arena, struct store_missing *ret_missing)
{
	struct waiting_write waiting = { .write = { .tenant = tenant,
						    .batch = batch,
						    .arena = arena,
						    .ret_missing = ret_missing,
						    .complete = wake_caller } };

	(void)sem_init(&waiting.done, 0, 0);
	write_queue_begin(queue, &waiting.write);
	while (sem_wait(&waiting.done) < 0 && errno == EINTR)
		;
	(void)sem_destroy(&waiting.done);
	return waiting.write.result;
}
