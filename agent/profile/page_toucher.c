/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of pages under a lock; the thread holds the lock but while it touches one.
 */
#include "agent/profile/page_toucher.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>

#include "common/log.h"

/* A burst: each CPU may find some pages between two drains of the ring buffers. */
#define MAX_WAITING 256

/*
 * The page, and those above it: there the callers' frames are, which would be missed one page and one sample after
 * the other. So much of a stack (256 KiB) at once; what is not mapped ends it.
 */
#define TOUCH_PAGES 64
#define PAGE_BYTES  4096

/* A page that takes longer keeps its thread, and nobody else. */
#define FREE_LINGER_S 1

struct page {
	pid_t pid;
	uint64_t address;
};

struct page_toucher {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stopping;
	struct page waiting[MAX_WAITING];
	size_t first, count;
	struct page_toucher_stats stats;
};

/* 0, or the error that says why not. */
static int touch(const struct page *page)
{
	char bytes[TOUCH_PAGES];
	struct iovec local = { .iov_base = bytes, .iov_len = sizeof(bytes) };
	struct iovec remote[TOUCH_PAGES];

	for (size_t i = 0; i < TOUCH_PAGES; i++)
		remote[i] = (struct iovec){
			.iov_base = (void *)(uintptr_t)(page->address + i * PAGE_BYTES), /* of the other process */
			.iov_len = 1,
		};
	return process_vm_readv(page->pid, &local, 1, remote, TOUCH_PAGES, 0) < 0 ? errno : 0;
}

static void account(struct page_toucher_stats *stats, int error)
{
	switch (error) {
	case 0:
		stats->touched++;
		break;
	case EFAULT:
		stats->absent++;
		break;
	case ESRCH:
		stats->gone++;
		break;
	default:
		stats->failed++;
		break;
	}
}

static void *toucher_thread(void *arg)
{
	struct page_toucher *toucher = arg;

	(void)pthread_mutex_lock(&toucher->lock);
	while (!toucher->stopping) {
		struct page page;
		int error;

		if (toucher->count == 0) {
			(void)pthread_cond_wait(&toucher->wake, &toucher->lock);
			continue;
		}
		page = toucher->waiting[toucher->first];
		toucher->first = (toucher->first + 1) % MAX_WAITING;
		toucher->count--;
		(void)pthread_mutex_unlock(&toucher->lock);
		error = touch(&page);
		(void)pthread_mutex_lock(&toucher->lock);
		account(&toucher->stats, error);
	}
	(void)pthread_mutex_unlock(&toucher->lock);
	return NULL;
}

int page_toucher_new(struct page_toucher **ret_toucher)
{
	struct page_toucher *toucher = calloc(1, sizeof(*toucher));
	sigset_t all, old;
	int r;

	if (!toucher)
		return -ENOMEM;
	(void)pthread_mutex_init(&toucher->lock, NULL);
	(void)pthread_cond_init(&toucher->wake, NULL);
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&toucher->thread, NULL, toucher_thread, toucher);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r != 0) {
		free(toucher);
		return -r;
	}
	(void)pthread_setname_np(toucher->thread, "hearth-toucher");
	*ret_toucher = toucher;
	return 0;
}

struct page_toucher *page_toucher_free(struct page_toucher *toucher)
{
	struct timespec deadline;

	if (!toucher)
		return NULL;
	(void)pthread_mutex_lock(&toucher->lock);
	toucher->stopping = true;
	(void)pthread_cond_signal(&toucher->wake);
	(void)pthread_mutex_unlock(&toucher->lock);

	(void)clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += FREE_LINGER_S;
	if (pthread_timedjoin_np(toucher->thread, NULL, &deadline) != 0) {
		log_warn("a page of another process is still being read, leaving it behind");
		(void)pthread_detach(toucher->thread);
		return NULL; /* the thread still uses it */
	}
	(void)pthread_cond_destroy(&toucher->wake);
	(void)pthread_mutex_destroy(&toucher->lock);
	free(toucher);
	return NULL;
}

void page_toucher_add(struct page_toucher *toucher, pid_t pid, uint64_t address)
{
	(void)pthread_mutex_lock(&toucher->lock);
	if (toucher->count == MAX_WAITING) {
		toucher->stats.dropped++;
	} else {
		toucher->waiting[(toucher->first + toucher->count++) % MAX_WAITING] =
			(struct page){ .pid = pid, .address = address };
		(void)pthread_cond_signal(&toucher->wake);
	}
	(void)pthread_mutex_unlock(&toucher->lock);
}

void page_toucher_stats(struct page_toucher *toucher, struct page_toucher_stats *ret_stats)
{
	(void)pthread_mutex_lock(&toucher->lock);
	*ret_stats = toucher->stats;
	(void)pthread_mutex_unlock(&toucher->lock);
}
