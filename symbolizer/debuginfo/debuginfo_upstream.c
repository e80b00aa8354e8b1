/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/debuginfo/debuginfo_upstream.h"

#include <curl/curl.h>
#include <gnutls/crypto.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/queue.h>

#include "common/backoff.h"
#include "common/file.h"
#include "common/log.h"
#include "symbolizer/debuginfo/debuginfo_private.h"
#include "symbolizer/debuginfo/upstream_private.h"

/*
 * A table of what is wanted, which is also what makes one transfer of many wishes, a queue in which
 * clients that wait come first, and a few threads. Whoever waits looks at the table: what is no
 * longer in it is decided.
 */

/* Files at a time: the other side is one server, and each may have gigabytes. */
#define N_THREADS 3

/* Wishes beyond that are forgotten; whoever wished will wish again. */
#define MAX_JOBS 4096

#define MAX_SERVERS 16

/* A server that could not be asked is left alone for so long, growing. */
#define REST_FIRST_NS (5 * NSEC_PER_SEC)
#define REST_MAX_NS   (600 * NSEC_PER_SEC)

#define MAX_TOKEN_BYTES 4096

/* Zeroed before it is filled: it is compared byte by byte. */
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

struct resting_server {
	struct upstream_server server;
	struct backoff backoff;
	uint64_t not_before_ns; /* monotonic */
};

struct debuginfo_upstream {
	struct debuginfo_store *store;
	struct transfer_settings settings;
	char name[UPSTREAM_NAME_SIZE];

	pthread_mutex_t lock;
	pthread_cond_t changed;  /* a job came or went */
	struct hash_table *jobs; /* struct job_key -> struct job * */
	TAILQ_HEAD(job_queue, job) queue;
	struct resting_server servers[MAX_SERVERS];
	unsigned int n_servers;

	atomic_bool stopping;
	pthread_t threads[N_THREADS];
	unsigned int n_threads;
	_Atomic uint64_t n_fetched, n_missing, n_refused, n_failed, bytes;
};

int debuginfo_upstream_check_url(const char *url, size_t length,
				 char ret_message[DEBUGINFO_MESSAGE_SIZE])
{
	static const char *const schemes[] = { "http://", "https://" };

	length = MIN(length, strcspn(url, " "));
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t prefix = strlen(schemes[i]);

		if (length > prefix && strncmp(url, schemes[i], prefix) == 0 &&
		    !memchr(url, '"', length) && url[prefix] != '/')
			return 0;
	}
	return debuginfo_fail(ret_message, -EINVAL,
			      "'%.*s' is no address of a debuginfod server; it looks like "
			      "http://HOST:8002, with a file that has a token after a blank if it "
			      "wants one",
			      (int)MIN(length, (size_t)100), url);
}

static int read_token(const char *path, char **ret_authorization, char *message)
{
	scoped(bytes_release) struct bytes token = BYTES_INIT(MAX_TOKEN_BYTES);
	int r;

	r = file_read(path, &token);
	while (r == 0 && token.size > 0 && strchr(" \t\r\n", token.data[token.size - 1]))
		token.size--;
	if (r == 0 &&
	    (token.size == 0 || memchr(token.data, '\n', token.size) ||
	     memchr(token.data, '\r', token.size) || memchr(token.data, '\0', token.size)))
		r = -EINVAL;
	if (r < 0)
		return debuginfo_fail_errno(message, r,
					    "cannot read the token file of an upstream server");
	return asprintf(ret_authorization, "Authorization: Bearer %.*s", (int)token.size,
			(const char *)token.data) < 0
		       ? -ENOMEM
		       : 0;
}

/* "URL" or "URL TOKEN_FILE". */
static int add_server(struct debuginfo_upstream *upstream, const char *text, size_t length,
		      char *message)
{
	struct resting_server *place = &upstream->servers[upstream->n_servers];
	size_t url_length = MIN(length, strcspn(text, " "));
	int r;

	if (upstream->n_servers == MAX_SERVERS)
		return debuginfo_fail(message, -EINVAL, "more than %d upstream servers",
				      MAX_SERVERS);
	r = debuginfo_upstream_check_url(text, length, message);
	if (r < 0)
		return r;
	if (url_length < length) {
		scoped_free char *path = strndup(text + url_length + 1, length - url_length - 1);

		r = path ? read_token(path, &place->server.authorization, message) : -ENOMEM;
		if (r < 0)
			return r;
	}
	while (url_length > 0 && text[url_length - 1] == '/')
		url_length--;
	place->server.url = strndup(text, url_length);
	if (!place->server.url)
		return -ENOMEM;
	backoff_init(&place->backoff, REST_FIRST_NS, REST_MAX_NS, hash_seed() | 1);
	upstream->n_servers++;
	return 0;
}

static int add_servers(struct debuginfo_upstream *upstream, const char *list, char *message)
{
	while (*list) {
		size_t length = strcspn(list, "\n");
		int r = add_server(upstream, list, length, message);

		if (r < 0)
			return r;
		list += length;
		list += *list == '\n';
	}
	return 0;
}

/* ---- who is asked for what ------------------------------------------------------------------ */

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

/* We were asked before on the way of this request, or it has come far enough. */
static bool goes_in_circles(const struct debuginfo_upstream *upstream,
			    const struct debuginfo_hops *hops)
{
	const char *const headers[] = { hops->via, hops->forwarded_for };

	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		if (headers[i] && (strstr(headers[i], upstream->name) ||
				   count_hops(headers[i]) >= UPSTREAM_MAX_HOPS ||
				   strlen(headers[i]) + 64 > UPSTREAM_HOPS_SIZE))
			return true;
	return false;
}

/* What came, and ourselves. */
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
	void *place = NULL;
	int r = -ENOMEM;

	if (job)
		job->path = strdup(key->path);
	if (job && job->path) {
		job->key = job_key_of(key);
		r = hash_table_insert(upstream->jobs, &job->key, &place);
	}
	if (r < 0) {
		if (job)
			(void)job_free(job);
		return r;
	}
	*(struct job **)place = job;
	write_hops(job->via, hops ? hops->via : NULL, "1.1 ", upstream->name);
	write_hops(job->forwarded_for, hops ? hops->forwarded_for : NULL, "_", upstream->name);
	job->queued = true;
	/* A client waits; what agents ran may come later. */
	if (hops)
		TAILQ_INSERT_HEAD(&upstream->queue, job, queue);
	else
		TAILQ_INSERT_TAIL(&upstream->queue, job, queue);
	(void)pthread_cond_broadcast(&upstream->changed);
	return 0;
}

static void hurry(struct debuginfo_upstream *upstream, struct job *job)
{
	if (!job->queued)
		return;
	TAILQ_REMOVE(&upstream->queue, job, queue);
	TAILQ_INSERT_HEAD(&upstream->queue, job, queue);
}

/* With the lock. */
static struct job *find_job(const struct debuginfo_upstream *upstream, const struct job_key *key)
{
	struct job **place = hash_table_find(upstream->jobs, key);

	return place ? *place : NULL;
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
	/* Other identities are our own invention. */
	if (key->id.kind != EXECUTABLE_ID_GNU || atomic_load(&upstream->stopping) ||
	    (hops && goes_in_circles(upstream, hops)) ||
	    upstream_is_missing(upstream->store, &wanted) != 0)
		return UPSTREAM_HAS_NOTHING;
	(void)pthread_mutex_lock(&upstream->lock);
	job = find_job(upstream, &job_key);
	if (job && hops)
		hurry(upstream, job);
	else if (!job)
		r = add_job(upstream, &wanted, hops);
	(void)pthread_mutex_unlock(&upstream->lock);
	return r < 0 ? UPSTREAM_HAS_NOTHING : UPSTREAM_IS_ASKED;
}

static struct timespec deadline_after(uint64_t patience_ns)
{
	struct timespec deadline;
	uint64_t ns;

	(void)clock_gettime(CLOCK_MONOTONIC, &deadline);
	ns = (uint64_t)deadline.tv_nsec + patience_ns;
	deadline.tv_sec += (time_t)(ns / NSEC_PER_SEC);
	deadline.tv_nsec = (long)(ns % NSEC_PER_SEC);
	return deadline;
}

void debuginfo_upstream_wait(struct debuginfo_upstream *upstream, const struct debuginfo_key *key,
			     uint64_t patience_ns)
{
	struct timespec deadline = deadline_after(patience_ns);
	struct job_key job_key = job_key_of(key);
	int r = 0;

	(void)pthread_mutex_lock(&upstream->lock);
	while (r == 0 && find_job(upstream, &job_key) && !atomic_load(&upstream->stopping))
		r = pthread_cond_timedwait(&upstream->changed, &upstream->lock, &deadline);
	(void)pthread_mutex_unlock(&upstream->lock);
}

/* ---- the threads ---------------------------------------------------------------------------- */

static bool may_be_asked(struct debuginfo_upstream *upstream, unsigned int server)
{
	uint64_t now = clock_monotonic_ns(upstream->store->clock);
	bool may;

	(void)pthread_mutex_lock(&upstream->lock);
	may = upstream->servers[server].not_before_ns <= now;
	(void)pthread_mutex_unlock(&upstream->lock);
	return may;
}

static void note_health(struct debuginfo_upstream *upstream, unsigned int number, bool failed)
{
	uint64_t now = clock_monotonic_ns(upstream->store->clock);
	struct resting_server *server = &upstream->servers[number];

	(void)pthread_mutex_lock(&upstream->lock);
	if (failed)
		server->not_before_ns = now + backoff_failed(&server->backoff);
	else
		backoff_succeeded(&server->backoff);
	(void)pthread_mutex_unlock(&upstream->lock);
}

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

	for (unsigned int i = 0; i < upstream->n_servers; i++) {
		enum transfer_outcome outcome = TRANSFER_FAILED;
		uint64_t bytes = 0;

		if (may_be_asked(upstream, i)) {
			outcome = transfer_run(transfer, &upstream->servers[i].server, &wanted,
					       &bytes);
			note_health(upstream, i, outcome == TRANSFER_FAILED);
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
		upstream_note_missing(upstream->store, &key, outcome == TRANSFER_FAILED);
	atomic_fetch_add(counters[outcome], 1);
}

/* The next one, or NULL at the end. */
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
		log_error_errno(r, "cannot fetch from upstream servers: %m");
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
	pthread_condattr_t monotonic;
	uint8_t random[8];
	char hex[2 * sizeof(random) + 1];
	int r;

	TAILQ_INIT(&upstream->queue);
	(void)pthread_mutex_init(&upstream->lock, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&upstream->changed, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
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
	upstream->store = store;
	upstream->settings = (struct transfer_settings){
		.store = store,
		.timeout_ns = options->timeout_ns,
		.max_bytes = options->max_bytes,
		.stopping = &upstream->stopping,
	};
	r = prepare(upstream);
	if (r == 0)
		r = add_servers(upstream, options->urls, ret_message);
	if (r == 0)
		r = start_threads(upstream);
	if (r < 0)
		return ret_message[0] ? r
				      : debuginfo_fail_errno(ret_message, r,
							     "cannot ask upstream servers");
	atomic_store(&store->upstream, upstream);
	*ret_upstream = take_ptr(upstream);
	return 0;
}

void debuginfo_upstream_stop(struct debuginfo_upstream *upstream)
{
	if (!upstream || atomic_exchange(&upstream->stopping, true))
		return;
	atomic_store(&upstream->store->upstream, NULL);
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
	void *place;

	if (!upstream)
		return NULL;
	debuginfo_upstream_stop(upstream);
	while (upstream->jobs && hash_table_next(upstream->jobs, &cursor, NULL, &place))
		(void)job_free(*(struct job **)place);
	(void)hash_table_free(upstream->jobs);
	for (unsigned int i = 0; i < upstream->n_servers; i++) {
		free(upstream->servers[i].server.url);
		free(upstream->servers[i].server.authorization);
	}
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
