/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/helper/helper_pool.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/helper/parser_process.h"
#include "agent/helper/protocol.h"
#include "common/backoff.h"
#include "common/clock.h"

#define MAX_QUEUED 4096

/* After this time without a job, the socket of a helper is closed, which ends the helper. */
#define IDLE_NS (30 * NSEC_PER_SEC)

/*
 * Pauses before a failed helper is replaced. With these values, 50 files that each kill a helper
 * take some seconds in total.
 */
#define FIRST_PAUSE_NS (10 * NSEC_PER_MSEC)
#define MAX_PAUSE_NS   (500 * NSEC_PER_MSEC)

/*
 * A parser is replaced long before it reaches its limit of CPU time, because that limit would end
 * it in the middle of a file.
 */
#define PARSER_RETIRES_CPU_NS (PARSER_CPU_S * NSEC_PER_SEC / 2)

struct queued_job {
	struct helper_job job;
	struct queued_job *next;
	size_t n_fds;
	int fds[HELPER_MESSAGE_MAX_FDS];
	size_t size;
	uint8_t bytes[];
};

struct channel {
	enum helper_kind kind;
	uint32_t id;
	int socket;             /* -1: no helper */
	struct queued_job *job; /* NULL: none */
	uint64_t deadline_ns;   /* of the job */
	uint64_t used_ns;       /* when the last job ended */
	uint64_t not_before_ns; /* earliest time to fork a helper */
	struct backoff backoff;
};

struct queue {
	struct queued_job *first, **end;
	size_t count;
};

struct helper_pool {
	struct nursery *nursery;
	bool single_use[HELPER_KINDS];
	int epoll_fd;
	struct channel channels[HELPER_KINDS * HELPER_POOL_MAX_WIDTH];
	size_t n_channels;
	struct queue queues[HELPER_KINDS];
	struct helper_pool_stats stats[HELPER_KINDS];
	struct helper_message message;
};

static void close_fds(int *fds, size_t n_fds)
{
	for (size_t i = 0; i < n_fds; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
}

static void job_free(struct queued_job *job)
{
	if (!job)
		return;
	close_fds(job->fds, job->n_fds);
	free(job);
}

int helper_pool_new(const struct helper_pool_options *options, struct helper_pool **ret_pool)
{
	scoped(helper_pool_freep) struct helper_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return -ENOMEM;
	pool->nursery = options->nursery;
	memcpy(pool->single_use, options->single_use, sizeof(pool->single_use));
	pool->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (pool->epoll_fd < 0)
		return -errno;
	for (size_t kind = 0; kind < HELPER_KINDS; kind++) {
		pool->queues[kind].end = &pool->queues[kind].first;
		for (size_t i = 0;
		     i < MIN(options->width[kind], (unsigned int)HELPER_POOL_MAX_WIDTH); i++) {
			struct channel *channel = &pool->channels[pool->n_channels++];

			channel->kind = (enum helper_kind)kind;
			channel->socket = -1;
			backoff_init(&channel->backoff, FIRST_PAUSE_NS, MAX_PAUSE_NS,
				     pool->n_channels + 1);
		}
	}
	*ret_pool = take_ptr(pool);
	return 0;
}

static void forget_job(struct queued_job *job)
{
	if (job && job->job.forget)
		job->job.forget(job->job.arg);
	job_free(job);
}

static void close_channel(struct channel *channel)
{
	scoped_close(&channel->socket);
	channel->socket = -1;
}

struct helper_pool *helper_pool_free(struct helper_pool *pool)
{
	if (!pool)
		return NULL;
	for (size_t i = 0; i < pool->n_channels; i++) {
		/* A hanging helper does not notice that its socket is closed. */
		if (pool->channels[i].job)
			nursery_kill(pool->nursery, pool->channels[i].id);
		forget_job(pool->channels[i].job);
		close_channel(&pool->channels[i]);
	}
	for (size_t kind = 0; kind < HELPER_KINDS; kind++) {
		while (pool->queues[kind].first) {
			struct queued_job *next = pool->queues[kind].first->next;

			forget_job(pool->queues[kind].first);
			pool->queues[kind].first = next;
		}
	}
	scoped_close(&pool->epoll_fd);
	free(pool);
	return NULL;
}

int helper_pool_submit(struct helper_pool *pool, const struct helper_job *job,
		       struct helper_message *request)
{
	struct queue *queue = &pool->queues[job->kind];
	struct queued_job *queued = NULL;

	if (queue->count < MAX_QUEUED)
		queued = malloc(sizeof(*queued) + request->size);
	if (!queued) {
		helper_message_close(request);
		return queue->count < MAX_QUEUED ? -ENOMEM : -EBUSY;
	}
	*queued =
		(struct queued_job){ .job = *job, .n_fds = request->n_fds, .size = request->size };
	memcpy(queued->fds, request->fds, sizeof(queued->fds));
	memcpy(queued->bytes, request->bytes, request->size);
	request->n_fds = 0;
	*queue->end = queued;
	queue->end = &queued->next;
	queue->count++;
	return 0;
}

static struct queued_job *take_queued(struct queue *queue)
{
	struct queued_job *job = queue->first;

	assert(job && queue->count > 0);
	queue->first = job->next;
	if (!queue->first)
		queue->end = &queue->first;
	queue->count--;
	return job;
}

int helper_pool_fd(const struct helper_pool *pool)
{
	return pool->epoll_fd;
}

uint64_t helper_pool_wakeup_ns(const struct helper_pool *pool)
{
	uint64_t wakeup_ns = UINT64_MAX;

	for (size_t i = 0; i < pool->n_channels; i++) {
		const struct channel *channel = &pool->channels[i];

		if (channel->job)
			wakeup_ns = MIN(wakeup_ns, channel->deadline_ns);
		else if (pool->queues[channel->kind].count > 0)
			wakeup_ns = MIN(wakeup_ns, channel->not_before_ns);
	}
	return wakeup_ns;
}

/* Ends the job of @channel, with the answer in pool->message or with @error. */
static void finish(struct helper_pool *pool, struct channel *channel, int error, uint64_t now_ns)
{
	struct queued_job *job = take_ptr(channel->job);
	struct helper_pool_stats *stats = &pool->stats[channel->kind];

	assert(job);
	channel->used_ns = now_ns;
	stats->jobs++;
	stats->timeouts += error == -ETIMEDOUT;
	stats->deaths += error == -ECONNRESET;
	job->job.done(job->job.arg, error, error == 0 ? &pool->message : NULL);
	job_free(job);
}

static void fail(struct helper_pool *pool, struct channel *channel, int error, uint64_t now_ns)
{
	nursery_kill(pool->nursery, channel->id);
	close_channel(channel);
	channel->not_before_ns = now_ns + backoff_failed(&channel->backoff);
	if (channel->job)
		finish(pool, channel, error, now_ns);
	else
		pool->stats[channel->kind].deaths++;
}

/* Whether a parser has used so much CPU time that it should be replaced. */
static bool should_retire(const struct channel *channel, const struct helper_message *message)
{
	struct parser_answer answer;

	if (channel->kind == HELPER_FINDER || channel->kind == HELPER_TOUCHER ||
	    message->size < sizeof(answer))
		return false;
	memcpy(&answer, message->bytes, sizeof(answer));
	return answer.cpu_ns > PARSER_RETIRES_CPU_NS;
}

static void receive(struct helper_pool *pool, struct channel *channel, uint64_t now_ns)
{
	int r;

	r = helper_receive(channel->socket, &pool->message, MSG_DONTWAIT);
	if (r == -EAGAIN)
		return;
	/* A helper that sends a message without a job is not trusted any more. */
	if (r == 1 && !channel->job) {
		helper_message_close(&pool->message);
		r = -EBADMSG;
	}
	if (r != 1) {
		fail(pool, channel, -ECONNRESET, now_ns);
		return;
	}
	backoff_succeeded(&channel->backoff);
	/*
	 * A helper under a hostile file's control might not end by itself, and might continue to
	 * write to its output file.
	 */
	if (pool->single_use[channel->kind])
		nursery_kill(pool->nursery, channel->id);
	if (pool->single_use[channel->kind] || should_retire(channel, &pool->message))
		close_channel(channel);
	finish(pool, channel, 0, now_ns);
	helper_message_close(&pool->message);
}

static int open_channel(struct helper_pool *pool, struct channel *channel)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = channel };
	int r;

	r = nursery_fork(pool->nursery, channel->kind, &channel->id, &channel->socket);
	if (r < 0)
		return r;
	return epoll_ctl(pool->epoll_fd, EPOLL_CTL_ADD, channel->socket, &event) < 0 ? -errno : 0;
}

/* The pool's copies of the descriptors are closed as soon as the request is in the socket. */
static int send_job(struct helper_pool *pool, struct channel *channel)
{
	struct queued_job *job = channel->job;
	int r;

	memcpy(pool->message.bytes, job->bytes, job->size);
	memcpy(pool->message.fds, job->fds, sizeof(job->fds));
	pool->message.size = job->size;
	pool->message.n_fds = job->n_fds;
	r = helper_send(channel->socket, &pool->message, MSG_DONTWAIT);
	pool->message.n_fds = 0;
	if (r == 0) {
		close_fds(job->fds, job->n_fds);
		job->n_fds = 0;
	}
	return r;
}

static void start(struct helper_pool *pool, struct channel *channel, uint64_t now_ns)
{
	int r = 0;

	channel->job = take_queued(&pool->queues[channel->kind]);
	channel->deadline_ns = now_ns + channel->job->job.timeout_ns;
	/* A second attempt, because an idle helper may have ended since its last job. */
	for (int attempt = 0; attempt < 2; attempt++) {
		if (channel->socket < 0)
			r = open_channel(pool, channel);
		if (r == 0)
			r = send_job(pool, channel);
		if (r == 0)
			return;
		pool->stats[channel->kind].deaths += r == -EPIPE;
		close_channel(channel);
		r = 0;
	}
	fail(pool, channel, -ECONNRESET, now_ns);
}

static void update_channel(struct helper_pool *pool, struct channel *channel, uint64_t now_ns)
{
	if (channel->job && now_ns >= channel->deadline_ns)
		fail(pool, channel, -ETIMEDOUT, now_ns);
	if (!channel->job && pool->queues[channel->kind].count > 0 &&
	    now_ns >= channel->not_before_ns)
		start(pool, channel, now_ns);
	if (!channel->job && channel->socket >= 0 && now_ns >= channel->used_ns + IDLE_NS)
		close_channel(channel);
}

void helper_pool_run(struct helper_pool *pool, uint64_t now_ns)
{
	struct epoll_event events[HELPER_KINDS * HELPER_POOL_MAX_WIDTH];
	int n_events = epoll_wait(pool->epoll_fd, events, ARRAY_SIZE(events), 0);

	(void)nursery_flush(pool->nursery);
	for (int i = 0; i < n_events; i++) {
		struct channel *channel = events[i].data.ptr;

		if (channel->socket >= 0)
			receive(pool, channel, now_ns);
	}
	for (size_t i = 0; i < pool->n_channels; i++)
		update_channel(pool, &pool->channels[i], now_ns);
}

void helper_pool_stats(const struct helper_pool *pool, enum helper_kind kind,
		       struct helper_pool_stats *ret_stats)
{
	*ret_stats = pool->stats[kind];
}
