/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs are a queue of cache entries, processed in order of arrival. An entry with a job is not
 * evicted.
 */

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "common/log.h"
#include "symbolizer/symbols/cache/symbol_cache_private.h"

void compile_queue_add(struct symbol_cache *cache, struct cache_entry *entry)
{
	if (entry->job != JOB_NONE)
		return;
	entry->job = JOB_WAITS;
	entry->job_since_ns = symbol_cache_now_ns();
	entry->next_job = NULL;
	*(cache->last_job ? &cache->last_job->next_job : &cache->first_job) = entry;
	cache->last_job = entry;
	cache->n_pending++;
	(void)pthread_cond_signal(&cache->wanted);
}

static struct cache_entry *take_job(struct symbol_cache *cache)
{
	struct cache_entry *entry = cache->first_job;

	cache->first_job = entry->next_job;
	if (!cache->first_job)
		cache->last_job = NULL;
	entry->next_job = NULL;
	entry->job = JOB_RUNS;
	return entry;
}

struct job_result {
	int r; /* of table_compile(), or an error of opening the table */
	struct compiled_table made;
	struct open_table *table;
};

static void run_job(struct symbol_cache *cache, const struct executable_id *id,
		    const struct stored_table *before, struct job_result *ret_result)
{
	struct job_result *result = ret_result;
	char id_text[EXECUTABLE_ID_TEXT_SIZE];
	int r;

	*result = (struct job_result){};
	result->r = table_compile(&cache->compiler, id, before, &result->made);
	if (result->r > 0 && result->made.row.outcome == HELPER_MADE_TABLE) {
		r = open_table_from_flat(cache->files, &result->made.row.hash, &result->made.flat,
					 &result->table);
		result->r = r < 0 ? r : result->r;
	}
	if (result->r < 0 && result->r != -ECANCELED) {
		executable_id_format(id, id_text);
		log_warn_errno(result->r,
			       "cannot make the symbol table of '%s' now, trying again when it is "
			       "next used: %m",
			       id_text);
	}
}

/* Stores the result of a job in its entry. The caller holds the lock. */
static void install(struct symbol_cache *cache, struct cache_entry *entry,
		    const struct job_result *result, uint64_t generation)
{
	entry->job = JOB_NONE;
	cache->n_pending--;
	if (entry->forgotten) {
		open_table_release(result->table);
		(void)table_database_remove(cache->compiler.database, &entry->id);
		symbol_cache_reset(cache, entry);
		return;
	}
	entry->checked_at = generation;
	entry->checked_wall_ns = clock_wall_ns(cache->compiler.clock);
	entry->check_again = result->r < 0;
	if (result->r < 0) {
		entry->state = TABLE_FAILED;
		(void)snprintf(entry->row.why, sizeof(entry->row.why), "temporary error: %s",
			       strerror(-result->r));
		return;
	}
	/* The debuginfo was removed meanwhile. */
	if (result->r == 0) {
		entry->state = entry->table ? TABLE_READY : TABLE_NONE;
		return;
	}
	entry->row = result->made.row;
	entry->state = entry->row.outcome == HELPER_MADE_TABLE ? TABLE_READY : TABLE_FAILED;
	if (result->table)
		symbol_cache_set_table(cache, entry, result->table);
}

static void *work(void *arg)
{
	struct symbol_cache *cache = arg;

	(void)pthread_mutex_lock(&cache->lock);
	for (;;) {
		struct cache_entry *entry;
		struct stored_table before;
		struct job_result result;
		uint64_t generation;

		while (!cache->stopping && !cache->first_job)
			(void)pthread_cond_wait(&cache->wanted, &cache->lock);
		if (cache->stopping)
			break;
		entry = take_job(cache);
		before = entry->row;
		(void)pthread_mutex_unlock(&cache->lock);
		/* Read before the files are opened: a later upload makes the entry stale. */
		generation = debuginfo_generation(cache->compiler.debuginfo);
		run_job(cache, &entry->id, &before, &result);
		(void)pthread_mutex_lock(&cache->lock);
		install(cache, entry, &result, generation);
		(void)pthread_cond_broadcast(&cache->changed);
	}
	(void)pthread_mutex_unlock(&cache->lock);
	return NULL;
}

int compile_queue_start(struct symbol_cache *cache)
{
	cache->compiler.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (cache->compiler.stop_fd < 0)
		return -errno;
	while (cache->n_threads < MAX_JOBS) {
		int error = pthread_create(&cache->threads[cache->n_threads], NULL, work, cache);

		if (error != 0)
			return -error;
		cache->n_threads++;
	}
	return 0;
}

void compile_queue_stop(struct symbol_cache *cache)
{
	if (cache->compiler.stop_fd < 0)
		return;
	(void)eventfd_write(cache->compiler.stop_fd, 1);
	(void)pthread_mutex_lock(&cache->lock);
	cache->stopping = true;
	(void)pthread_cond_broadcast(&cache->wanted);
	(void)pthread_mutex_unlock(&cache->lock);
	while (cache->n_threads > 0)
		(void)pthread_join(cache->threads[--cache->n_threads], NULL);
	scoped_close(&cache->compiler.stop_fd);
	cache->compiler.stop_fd = -1;
}
