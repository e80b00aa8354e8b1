/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each thread takes the next file from the list and has its own connection. The caller's thread
 * prints the progress, if stderr is a terminal.
 */

#include "symbolizer/cli/upload/upload_pool.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "common/clock.h"
#include "common/json_writer.h"
#include "common/log.h"
#include "symbolizer/cli/print/number_format.h"
#include "symbolizer/cli/print/printable.h"

#define PROGRESS_INTERVAL_NS (200 * NSEC_PER_MSEC)

#define MAX_AT_A_TIME 32

struct pool {
	const struct upload_list *list;
	struct upload_settings settings;
	bool json;
	bool shows_progress;
	_Atomic size_t next;
	_Atomic uint64_t n_sent;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int n_running;
	size_t n_finished;
	struct upload_totals totals;
};

struct worker {
	struct pool *pool;
	struct client *client;
	pthread_t thread;
};

static void print_json(const char *path, const struct upload_result *result)
{
	scoped_bytes struct bytes line = BYTES_INIT(MIB);
	struct json_writer json;

	json_writer_init(&json, &line);
	json_object_begin(&json);
	json_key_text(&json, "file", path);
	json_key_text(&json, "build_id", result->id);
	json_key_text(&json, "outcome", upload_outcome_name(result->outcome));
	json_key_text(&json, "message", result->message);
	json_key_uint(&json, "size_bytes", result->size_bytes);
	json_object_end(&json);
	(void)bytes_append_byte(&line, '\n');
	(void)fwrite(line.data, 1, line.size, stdout);
}

static void print_text(const struct upload_item *item, const struct upload_result *result)
{
	scoped_bytes struct bytes message = BYTES_INIT(MIB);
	char size[NUMBER_TEXT_SIZE];

	(void)printable_append(&message, result->message, -1);
	(void)bytes_append_byte(&message, '\0');
	format_bytes(result->size_bytes, size);
	switch (result->outcome) {
	case UPLOAD_DONE:
		(void)printf("uploaded '%s' (%s, build-ID %s)\n", item->path, size, result->id);
		break;
	case UPLOAD_NOT_NEEDED:
		(void)printf("'%s' (build-ID %s) was not needed: %s\n", item->path, result->id,
			     (const char *)message.data);
		break;
	case UPLOAD_SKIPPED:
		/* Files of other kinds in a folder are expected: print nothing. */
		if (item->is_named)
			(void)fprintf(stderr, "skipped '%s': %s\n", item->path,
				      (const char *)message.data);
		break;
	default:
		log_error("'%s' was not uploaded: %s", item->path, (const char *)message.data);
	}
}

static void clear_progress(const struct pool *pool)
{
	if (pool->shows_progress)
		(void)fprintf(stderr, "\r\033[K");
}

static void report(struct pool *pool, const struct upload_item *item,
		   const struct upload_result *result)
{
	(void)pthread_mutex_lock(&pool->lock);
	pool->totals.n_files[result->outcome]++;
	if (result->outcome == UPLOAD_DONE)
		pool->totals.bytes_done += result->size_bytes;
	pool->n_finished++;
	clear_progress(pool);
	if (pool->json)
		print_json(item->path, result);
	else
		print_text(item, result);
	(void)fflush(stdout);
	(void)pthread_mutex_unlock(&pool->lock);
}

static void *run(void *arg)
{
	struct worker *worker = arg;
	struct pool *pool = worker->pool;
	size_t next;

	while ((next = atomic_fetch_add(&pool->next, 1)) < pool->list->count) {
		struct upload_result result;

		upload_file(worker->client, &pool->settings, pool->list->items[next].path, &result);
		report(pool, &pool->list->items[next], &result);
	}
	(void)pthread_mutex_lock(&pool->lock);
	pool->n_running--;
	(void)pthread_cond_signal(&pool->changed);
	(void)pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static void show_progress(const struct pool *pool, uint64_t started_ns)
{
	uint64_t sent = atomic_load(&pool->n_sent);
	uint64_t ms = (clock_monotonic_ns(&system_clock) - started_ns) / NSEC_PER_MSEC;
	char total[NUMBER_TEXT_SIZE], rate[NUMBER_TEXT_SIZE];

	format_bytes(sent, total);
	format_bytes(sent * 1000 / MAX(ms, UINT64_C(1)), rate);
	(void)fprintf(stderr, "\r\033[K%zu of %zu files, %s sent, %s/s", pool->n_finished,
		      pool->list->count, total, rate);
	(void)fflush(stderr);
}

static void wait_for_all(struct pool *pool)
{
	uint64_t started_ns = clock_monotonic_ns(&system_clock);

	(void)pthread_mutex_lock(&pool->lock);
	while (pool->n_running > 0) {
		struct timespec until;

		if (pool->shows_progress)
			show_progress(pool, started_ns);
		(void)clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += (long)PROGRESS_INTERVAL_NS;
		if (until.tv_nsec >= (long)NSEC_PER_SEC) {
			until.tv_nsec -= (long)NSEC_PER_SEC;
			until.tv_sec++;
		}
		(void)pthread_cond_timedwait(&pool->changed, &pool->lock, &until);
	}
	clear_progress(pool);
	(void)pthread_mutex_unlock(&pool->lock);
}

/* Returns the number of threads started. */
static unsigned int start_workers(struct pool *pool, const struct connection_options *connection,
				  struct worker *workers, unsigned int wanted)
{
	unsigned int count = 0;

	while (count < wanted) {
		struct worker *worker = &workers[count];
		int error;

		*worker = (struct worker){ .pool = pool };
		if (client_new(connection, &worker->client) < 0)
			break;
		(void)pthread_mutex_lock(&pool->lock);
		pool->n_running++;
		(void)pthread_mutex_unlock(&pool->lock);
		error = pthread_create(&worker->thread, NULL, run, worker);
		if (error != 0) {
			/* Threads that run already upload all files. */
			(void)log_error_errno(error, "cannot start thread %u of %u for uploads: %m",
					      count + 1, wanted);
			(void)pthread_mutex_lock(&pool->lock);
			pool->n_running--;
			(void)pthread_mutex_unlock(&pool->lock);
			(void)client_free(worker->client);
			break;
		}
		count++;
	}
	return count;
}

int upload_all(const struct connection_options *connection, const struct upload_settings *settings,
	       const struct upload_list *list, unsigned int n_at_a_time,
	       struct upload_totals *ret_totals)
{
	struct worker workers[MAX_AT_A_TIME];
	struct pool pool = {
		.list = list,
		.settings = *settings,
		.json = connection->json,
		.shows_progress = isatty(STDERR_FILENO) != 0,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	unsigned int wanted = MIN(MAX(n_at_a_time, 1u), (unsigned int)MAX_AT_A_TIME);
	unsigned int count;

	pool.settings.n_sent = &pool.n_sent;
	if (wanted > list->count)
		wanted = (unsigned int)list->count;
	count = start_workers(&pool, connection, workers, wanted);
	wait_for_all(&pool);
	for (unsigned int i = 0; i < count; i++) {
		(void)pthread_join(workers[i].thread, NULL);
		(void)client_free(workers[i].client);
	}
	*ret_totals = pool.totals;
	return count > 0 || list->count == 0 ? 0 : -EIO;
}
