/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread and the caller use one buffer in turn: the thread fills it, the caller empties it, and
 * only then does the thread read again.
 */
#include "agent/event/off_cpu/walk_thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/capabilities.h"
#include "common/clock.h"
#include "common/condition.h"
#include "common/thread.h"

/*
 * The kernel returns this much at once where pages have 4 KiB. Where pages are larger, the next
 * read returns the rest.
 */
#define BUFFER_BYTES (32 * KIB)

enum walk_state {
	WALK_NONE,
	WALK_READING, /* the thread owns the buffer */
	WALK_READ,    /* the thread has filled the buffer; the caller has not received it yet */
	WALK_GIVEN,   /* the caller owns the buffer */
};

struct walk_thread {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool keep_capabilities;
	int fd; /* -1: no walk; set by the caller while the thread does not read */
	/* protected by the lock */
	enum walk_state state;
	bool stopping;
	ssize_t result; /* of the last read(2): bytes or a negative errno */
	uint64_t cpu_ns;
	uint8_t buffer[BUFFER_BYTES];
	/* used by the caller only */
	uint64_t known_cpu_ns;
};

static uint64_t own_cpu_ns(void)
{
	struct timespec time = {};

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * NSEC_PER_SEC + (uint64_t)time.tv_nsec;
}

/*
 * The kernel returns EAGAIN after it has visited many threads without output. The next read
 * continues the walk.
 */
static ssize_t read_some(int fd, uint8_t *buffer)
{
	ssize_t n;

	do
		n = read(fd, buffer, BUFFER_BYTES);
	while (n < 0 && (errno == EINTR || errno == EAGAIN));
	return n < 0 ? -errno : n;
}

static void *run(void *arg)
{
	struct walk_thread *thread = arg;
	ssize_t result;

	if (!thread->keep_capabilities)
		(void)capabilities_limit(0);
	(void)pthread_mutex_lock(&thread->lock);
	while (!thread->stopping) {
		if (thread->state != WALK_READING) {
			(void)pthread_cond_wait(&thread->changed, &thread->lock);
			continue;
		}
		(void)pthread_mutex_unlock(&thread->lock);
		result = read_some(thread->fd, thread->buffer);
		(void)pthread_mutex_lock(&thread->lock);
		thread->result = result;
		thread->cpu_ns = own_cpu_ns();
		thread->state = WALK_READ;
		(void)pthread_cond_broadcast(&thread->changed);
	}
	(void)pthread_mutex_unlock(&thread->lock);
	return NULL;
}

int walk_thread_new(bool keep_capabilities, struct walk_thread **ret_thread)
{
	struct walk_thread *thread = calloc(1, sizeof(*thread));
	int r;

	if (!thread)
		return -ENOMEM;
	thread->keep_capabilities = keep_capabilities;
	thread->fd = -1;
	(void)pthread_mutex_init(&thread->lock, NULL);
	condition_init(&thread->changed);
	r = thread_start("hearth-walk", run, thread, &thread->thread);
	if (r < 0) {
		free(thread);
		return r;
	}
	*ret_thread = thread;
	return 0;
}

struct walk_thread *walk_thread_free(struct walk_thread *thread)
{
	bool is_reading;

	if (!thread)
		return NULL;
	(void)pthread_mutex_lock(&thread->lock);
	thread->stopping = true;
	is_reading = thread->state == WALK_READING;
	(void)pthread_cond_broadcast(&thread->changed);
	(void)pthread_mutex_unlock(&thread->lock);
	if (is_reading) {
		(void)pthread_detach(thread->thread);
		return NULL;
	}
	(void)pthread_join(thread->thread, NULL);
	scoped_close(&thread->fd);
	(void)pthread_cond_destroy(&thread->changed);
	(void)pthread_mutex_destroy(&thread->lock);
	free(thread);
	return NULL;
}

void walk_thread_begin_take(struct walk_thread *thread, int fd)
{
	(void)pthread_mutex_lock(&thread->lock);
	assert(thread->state == WALK_NONE);
	thread->fd = fd;
	thread->state = WALK_READING;
	(void)pthread_cond_broadcast(&thread->changed);
	(void)pthread_mutex_unlock(&thread->lock);
}

bool walk_thread_is_busy(const struct walk_thread *thread)
{
	return thread->fd >= 0;
}

/* Call with the lock held. Returns false if the time is over. */
static bool wait_for_bytes(struct walk_thread *thread, uint64_t patience_ns)
{
	uint64_t deadline_ns = clock_monotonic_ns(&system_clock) + patience_ns;

	while (thread->state == WALK_READING &&
	       condition_wait_until(&thread->changed, &thread->lock, deadline_ns))
		;
	return thread->state != WALK_READING;
}

ssize_t walk_thread_next(struct walk_thread *thread, uint64_t patience_ns,
			 const uint8_t **ret_bytes)
{
	ssize_t result = -EINPROGRESS;

	(void)pthread_mutex_lock(&thread->lock);
	assert(thread->state != WALK_NONE);
	if (thread->state == WALK_GIVEN) {
		thread->state = WALK_READING;
		(void)pthread_cond_broadcast(&thread->changed);
	}
	if (wait_for_bytes(thread, patience_ns)) {
		result = thread->result;
		thread->known_cpu_ns = thread->cpu_ns;
		thread->state = result > 0 ? WALK_GIVEN : WALK_NONE;
	}
	(void)pthread_mutex_unlock(&thread->lock);
	if (result > 0) {
		*ret_bytes = thread->buffer;
	} else if (result != -EINPROGRESS) {
		(void)close(thread->fd);
		thread->fd = -1;
	}
	return result;
}

uint64_t walk_thread_cpu_ns(const struct walk_thread *thread)
{
	return thread->known_cpu_ns;
}
