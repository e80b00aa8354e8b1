/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of jobs, a queue, and a few threads. The table joins requests for the same file in one
 * job. Jobs that a client waits for are first in the queue. A waiting client looks up its job in
 * the table: the download has ended when the job is gone.
 */

#include "symbolizer/debuginfo/upstream/debuginfo_upstream.h"

#include <curl/curl.h>
#include <gnutls/crypto.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/queue.h>

#include "common/clock.h"
#include "common/condition.h"
#include "common/hash_table.h"
#include "common/log.h"
#include "symbolizer/debuginfo/debuginfo_error.h"
#include "symbolizer/debuginfo/debuginfo_fetcher.h"
#include "symbolizer/debuginfo/upstream/upstream_transfer.h"

/* Downloads at a time: there are few servers, and a file may have gigabytes. */
#define N_THREADS 3

/* Further requests are dropped: their callers repeat them. */
#define MAX_JOBS 4096

/* Our name in Via and X-Forwarded-For, which is random for every start. */
#define NAME_SIZE sizeof("hearth-0123456789abcdef")

/* Maximum number of servers that a request may have passed, as in elfutils' debuginfod. */
#define MAX_HOPS 8

/* Zeroed before it is filled, because the table compares keys byte by byte. */
struct job_key {
	struct executable_id id;
	uint8_t kind;
	struct hash128 path;
};

struct job {
	TAILQ_ENTRY(job) queue;
	struct job_key key;
	char *path;
	char via[UPSTREAM_HOPS_SIZE];
	char forwarded_for[UPSTREAM_HOPS_SIZE];
	bool queued;
};

struct debuginfo_upstream {
	struct debuginfo_fetcher fetcher; /* first, because the store passes this address back */
	struct debuginfo_store *store;
	const struct clock *clock;
	struct transfer_settings settings;
	char name[NAME_SIZE];

	pthread_mutex_t lock;
	pthread_cond_t changed;  /* a job was added or removed */
	struct hash_table *jobs; /* struct job_key -> struct job * */
	TAILQ_HEAD(job_queue, job) queue;
	struct upstream_servers servers;

	atomic_bool stopping;
	pthread_t threads[N_THREADS];
	unsigned int n_threads;
	_Atomic uint64_t n_fetched, n_missing, n_refused, n_failed, bytes;
};

static struct job_key job_key_of(const struct debuginfo_key *key)
{
	struct job_key job_key;

	memset(&job_key, 0, sizeof(job_key));
	job_key.id = key->id;
	job_key.kind =
		(uint8_t)(key->kind == DEBUGINFO_KIND_NAMES ? DEBUGINFO_KIND_DEBUGINFO : key->kind);
	job_key.path = hash128_of(key->path, strlen(key->path));
	return job_key;
}

static struct debuginfo_key key_of(const struct job *job)
{
	return (struct debuginfo_key){
		.id = job->key.id,
		.kind = (enum debuginfo_kind)job->key.kind,
		.path = job->path,
	};
}

static struct job *job_free(struct job *job)
{
	free(job->path);
	free(job);
	return NULL;
}

static unsigned int count_hops(const char *header)
{
	unsigned int hops = header && *header ? 1 : 0;

	for (; header && *header; header++)
		hops += *header == ',';
	return hops;
}

/* Returns whether the request has passed this server before, or has passed too many servers. */
static bool is_loop(const struct debuginfo_upstream *upstream, const struct debuginfo_hops *hops)
{
	const char *const headers[] = { hops->via, hops->forwarded_for };

	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		if (headers[i] &&
		    (strstr(headers[i], upstream->name) || count_hops(headers[i]) >= MAX_HOPS ||
		     strlen(headers[i]) + 64 > UPSTREAM_HOPS_SIZE))
			return true;
	return false;
}

/* Writes the header's value as received, with our name appended. */
static void write_hops(char text[UPSTREAM_HOPS_SIZE], const char *before, const char *prefix,
		       const char *name)
{
	(void)snprintf(text, UPSTREAM_HOPS_SIZE, "%s%s%s%s", before ? before : "",
		       before && *before ? ", " : "", prefix, name);
}

static int add_job(struct debuginfo_upstream *upstream, const struct debuginfo_key *key,
		   const struct debuginfo_hops *hops)
{
	struct job *job = calloc(1, sizeof(*job));
	void *slot = NULL;
	int r = -ENOMEM;

	if (job)
		job->path = strdup(key->path);
	if (job && job->path) {
		job->key = job_key_of(key);
		r = hash_table_insert(upstream->jobs, &job->key, &slot);
	}
	if (r < 0) {
		if (job)
			(void)job_free(job);
		return r;
	}
	*(struct job **)slot = job;
	write_hops(job->via, hops ? hops->via : NULL, "1.1 ", upstream->name);
	write_hops(job->forwarded_for, hops ? hops->forwarded_for : NULL, "_", upstream->name);
	job->queued = true;
	/* If the request has hops, a client waits for it, so it is the next job. Executables that
	 * agents run can wait. */
	if (hops)
		TAILQ_INSERT_HEAD(&upstream->queue, job, queue);
	else
		TAILQ_INSERT_TAIL(&upstream->queue, job, queue);
	(void)pthread_cond_broadcast(&upstream->changed);
	return 0;
}

static void move_to_front(struct debuginfo_upstream *upstream, struct job *job)
{
	if (!job->queued)
		return;
	TAILQ_REMOVE(&upstream->queue, job, queue);
	TAILQ_INSERT_HEAD(&upstream->queue, job, queue);
}

/* The caller holds the lock. */
static struct job *find_job(const struct debuginfo_upstream *upstream, const struct job_key *key)
{
	struct job **slot = hash_table_find(upstream->jobs, key);

	return slot ? *slot : NULL;
}

enum debuginfo_upstream_answer debuginfo_upstream_want(struct debuginfo_upstream *upstream,
						       const struct debuginfo_key *key,
						       const struct debuginfo_hops *hops)
{
	struct debuginfo_key wanted = *key;
	struct job_key job_key = job_key_of(key);
	struct job *job;
	int r = 0;

	wanted.kind = (enum debuginfo_kind)job_key.kind;
	/* Other servers know GNU build-IDs only. */
	if (key->id.kind != EXECUTABLE_ID_GNU || atomic_load(&upstream->stopping) ||
	    (hops && is_loop(upstream, hops)) ||
	    negative_cache_contains(upstream->store, &wanted) != 0)
		return UPSTREAM_HAS_NOTHING;
	(void)pthread_mutex_lock(&upstream->lock);
	job = find_job(upstream, &job_key);
	if (job && hops)
		move_to_front(upstream, job);
	else if (!job)
		r = add_job(upstream, &wanted, hops);
	(void)pthread_mutex_unlock(&upstream->lock);
	return r < 0 ? UPSTREAM_HAS_NOTHING : UPSTREAM_IS_ASKED;
}

void debuginfo_upstream_wait(struct debuginfo_upstream *upstream, const struct debuginfo_key *key,
			     uint64_t patience_ns)
{
	uint64_t deadline_ns = clock_monotonic_ns(&system_clock) + patience_ns;
	struct job_key job_key = job_key_of(key);

	(void)pthread_mutex_lock(&upstream->lock);
	while (find_job(upstream, &job_key) && !atomic_load(&upstream->stopping) &&
	       condition_wait_until(&upstream->changed, &upstream->lock, deadline_ns))
		;
	(void)pthread_mutex_unlock(&upstream->lock);
}

/* ---- threads -------------------------------------------------------------------------------- */

static enum transfer_outcome ask_servers(struct debuginfo_upstream *upstream,
					 struct transfer *transfer, const struct job *job)
{
	const struct transfer_job wanted = {
		.id = job->key.id,
		.kind = (enum debuginfo_kind)job->key.kind,
		.path = job->path,
		.via = job->via,
		.forwarded_for = job->forwarded_for,
	};
	enum transfer_outcome worst = TRANSFER_MISSING;

	for (unsigned int i = 0; i < upstream->servers.count; i++) {
		enum transfer_outcome outcome = TRANSFER_FAILED;
		uint64_t bytes = 0;

		if (upstream_server_is_due(&upstream->servers, i,
					   clock_monotonic_ns(upstream->clock))) {
			outcome = transfer_run(transfer, &upstream->servers.items[i], &wanted,
					       &bytes);
			upstream_server_asked(&upstream->servers, i,
					      clock_monotonic_ns(upstream->clock),
					      outcome == TRANSFER_FAILED);
			atomic_fetch_add(&upstream->bytes, bytes);
		}
		if (outcome == TRANSFER_STORED)
			return outcome;
		worst = MAX(worst, outcome);
	}
	return worst;
}

static void work_on(struct debuginfo_upstream *upstream, struct transfer *transfer,
		    const struct job *job)
{
	const struct debuginfo_key key = key_of(job);
	_Atomic uint64_t *const counters[] = {
		[TRANSFER_STORED] = &upstream->n_fetched,
		[TRANSFER_MISSING] = &upstream->n_missing,
		[TRANSFER_REFUSED] = &upstream->n_refused,
		[TRANSFER_FAILED] = &upstream->n_failed,
	};
	enum transfer_outcome outcome = ask_servers(upstream, transfer, job);

	if (outcome != TRANSFER_STORED && !atomic_load(&upstream->stopping))
		negative_cache_add(upstream->store, &key, outcome == TRANSFER_FAILED);
	atomic_fetch_add(counters[outcome], 1);
}

/* Waits for a job. NULL: upstream is stopping. */
static struct job *take_job(struct debuginfo_upstream *upstream)
{
	struct job *job = NULL;

	(void)pthread_mutex_lock(&upstream->lock);
	while (!atomic_load(&upstream->stopping) && !(job = TAILQ_FIRST(&upstream->queue)))
		(void)pthread_cond_wait(&upstream->changed, &upstream->lock);
	if (atomic_load(&upstream->stopping))
		job = NULL;
	if (job) {
		TAILQ_REMOVE(&upstream->queue, job, queue);
		job->queued = false;
	}
	(void)pthread_mutex_unlock(&upstream->lock);
	return job;
}

static void *run(void *arg)
{
	struct debuginfo_upstream *upstream = arg;
	scoped(transfer_freep) struct transfer *transfer = NULL;
	struct job *job;
	int r;

	r = transfer_new(&upstream->settings, &transfer);
	if (r < 0) {
		log_error_errno(
			r, "cannot set up libcurl, nothing is fetched from upstream servers: %m");
		return NULL;
	}
	while ((job = take_job(upstream))) {
		work_on(upstream, transfer, job);
		(void)pthread_mutex_lock(&upstream->lock);
		(void)hash_table_remove(upstream->jobs, &job->key);
		(void)pthread_cond_broadcast(&upstream->changed);
		(void)pthread_mutex_unlock(&upstream->lock);
		(void)job_free(job);
	}
	return NULL;
}

/* ---- start and stop ------------------------------------------------------------------------- */

static int prepare(struct debuginfo_upstream *upstream)
{
	uint8_t random[8];
	char hex[2 * sizeof(random) + 1];
	int r;

	TAILQ_INIT(&upstream->queue);
	(void)pthread_mutex_init(&upstream->lock, NULL);
	condition_init(&upstream->changed);
	r = hash_table_new(sizeof(struct job_key), sizeof(struct job *), MAX_JOBS, &upstream->jobs);
	if (r < 0)
		return r;
	if (gnutls_rnd(GNUTLS_RND_NONCE, random, sizeof(random)) < 0 ||
	    curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return -EIO;
	hex_encode(random, sizeof(random), hex);
	(void)snprintf(upstream->name, sizeof(upstream->name), "hearth-%s", hex);
	return 0;
}

static int start_threads(struct debuginfo_upstream *upstream)
{
	for (unsigned int i = 0; i < N_THREADS; i++) {
		int error = pthread_create(&upstream->threads[i], NULL, run, upstream);

		if (error != 0)
			return -error;
		upstream->n_threads++;
	}
	return 0;
}

/* The store requests a file for which no client waits. */
static void fetch(struct debuginfo_fetcher *fetcher, const struct debuginfo_key *key)
{
	(void)debuginfo_upstream_want((struct debuginfo_upstream *)fetcher, key, NULL);
}

int debuginfo_upstream_new(struct debuginfo_store *store,
			   const struct debuginfo_upstream_options *options,
			   struct debuginfo_upstream **ret_upstream,
			   char ret_message[DEBUGINFO_MESSAGE_SIZE])
{
	scoped(debuginfo_upstream_freep) struct debuginfo_upstream *upstream =
		calloc(1, sizeof(*upstream));
	int r;

	ret_message[0] = '\0';
	if (!upstream)
		return debuginfo_fail_errno(ret_message, -ENOMEM, "cannot ask upstream servers");
	upstream->fetcher.fetch = fetch;
	upstream->store = store;
	upstream->clock = debuginfo_clock(store);
	upstream->settings = (struct transfer_settings){
		.store = store,
		.timeout_ns = options->timeout_ns,
		.max_bytes = options->max_bytes,
		.stopping = &upstream->stopping,
	};
	r = prepare(upstream);
	if (r == 0)
		r = upstream_servers_init(&upstream->servers, options->urls, ret_message);
	if (r == 0)
		r = start_threads(upstream);
	if (r < 0)
		return ret_message[0] ? r
				      : debuginfo_fail_errno(ret_message, r,
							     "cannot ask upstream servers");
	debuginfo_set_fetcher(store, &upstream->fetcher);
	*ret_upstream = take_ptr(upstream);
	return 0;
}

void debuginfo_upstream_stop(struct debuginfo_upstream *upstream)
{
	if (!upstream || atomic_exchange(&upstream->stopping, true))
		return;
	debuginfo_set_fetcher(upstream->store, NULL);
	(void)pthread_mutex_lock(&upstream->lock);
	(void)pthread_cond_broadcast(&upstream->changed);
	(void)pthread_mutex_unlock(&upstream->lock);
	for (unsigned int i = 0; i < upstream->n_threads; i++)
		(void)pthread_join(upstream->threads[i], NULL);
	upstream->n_threads = 0;
}

struct debuginfo_upstream *debuginfo_upstream_free(struct debuginfo_upstream *upstream)
{
	size_t cursor = 0;
	void *slot;

	if (!upstream)
		return NULL;
	debuginfo_upstream_stop(upstream);
	while (upstream->jobs && hash_table_next(upstream->jobs, &cursor, NULL, &slot))
		(void)job_free(*(struct job **)slot);
	(void)hash_table_free(upstream->jobs);
	upstream_servers_release(&upstream->servers);
	(void)pthread_cond_destroy(&upstream->changed);
	(void)pthread_mutex_destroy(&upstream->lock);
	free(upstream);
	return NULL;
}

struct debuginfo_upstream_counts debuginfo_upstream_counts(struct debuginfo_upstream *upstream)
{
	return (struct debuginfo_upstream_counts){
		.n_fetched = atomic_load(&upstream->n_fetched),
		.n_missing = atomic_load(&upstream->n_missing),
		.n_refused = atomic_load(&upstream->n_refused),
		.n_failed = atomic_load(&upstream->n_failed),
		.bytes = atomic_load(&upstream->bytes),
	};
}
