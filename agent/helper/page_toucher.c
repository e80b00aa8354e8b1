/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting pages are in order of arrival. The waiting pages of the first page's process are
 * submitted together.
 */
#include "agent/helper/page_toucher.h"

#include <string.h>

#include "agent/helper/avoid_list.h"
#include "agent/helper/process_facts.h"
#include "agent/helper/protocol.h"

/* A burst: each CPU may report some pages between two drains of the ring buffers. */
#define MAX_WAITING 256

static_assert(MAX_WAITING <= READER_MAX_PAGES, "all waiting pages may be of one process");

/* A disk that has to spin up takes longer; its pages are loaded nevertheless. */
#define TIMEOUT_NS (3 * NSEC_PER_SEC)

/* As many as there are helpers for this: one may hang while the other works. */
#define MAX_IN_FLIGHT 2

/*
 * For how long a process is avoided after a timeout. Each attempt may cost a helper, so the time
 * grows with each failure.
 */
#define FIRST_AVOIDED_NS (60 * NSEC_PER_SEC)
#define MAX_AVOIDED_NS   (24 * 3600 * NSEC_PER_SEC)
#define MAX_AVOIDED      1024

struct page {
	pid_t pid;
	uint64_t address;
};

struct page_toucher {
	struct helper_pool *pool;
	struct page waiting[MAX_WAITING];
	size_t count;
	unsigned int n_in_flight;
	struct avoid_list *avoided; /* struct process_key */
	uint64_t now_ns;            /* of the last flush */
	struct page_toucher_stats stats;
	struct helper_message message;
};

/* Pages of one process in one job. */
struct touch_job {
	struct page_toucher *toucher;
	struct process_key process;
	size_t count;
};

int page_toucher_new(struct helper_pool *pool, struct page_toucher **ret_toucher)
{
	const struct avoid_list_options avoided = {
		.key_size = sizeof(struct process_key),
		.max_keys = MAX_AVOIDED,
		.first_ns = FIRST_AVOIDED_NS,
		.max_ns = MAX_AVOIDED_NS,
	};
	scoped(page_toucher_freep) struct page_toucher *toucher = calloc(1, sizeof(*toucher));
	int r;

	if (!toucher)
		return -ENOMEM;
	toucher->pool = pool;
	r = avoid_list_new(&avoided, &toucher->avoided);
	if (r < 0)
		return r;
	*ret_toucher = take_ptr(toucher);
	return 0;
}

struct page_toucher *page_toucher_free(struct page_toucher *toucher)
{
	if (!toucher)
		return NULL;
	(void)avoid_list_free(toucher->avoided);
	free(toucher);
	return NULL;
}

void page_toucher_stats(const struct page_toucher *toucher, struct page_toucher_stats *ret_stats)
{
	*ret_stats = toucher->stats;
}

void page_toucher_add(struct page_toucher *toucher, pid_t pid, uint64_t address)
{
	if (toucher->count == MAX_WAITING)
		toucher->stats.dropped++;
	else
		toucher->waiting[toucher->count++] =
			(struct page){ .pid = pid, .address = address };
}

static void account(struct page_toucher_stats *stats, size_t n_pages,
		    const struct helper_message *answer)
{
	struct reader_touched touched;

	if (answer->size != sizeof(touched)) {
		stats->failed += n_pages;
		return;
	}
	memcpy(&touched, answer->bytes, sizeof(touched));
	stats->touched += touched.touched;
	stats->absent += touched.absent;
	stats->gone += touched.gone;
	stats->failed += touched.failed;
}

static void on_touched(void *arg, int error, struct helper_message *answer)
{
	scoped_free struct touch_job *touch_job = arg;
	struct page_toucher *toucher = touch_job->toucher;

	toucher->n_in_flight--;
	if (error == 0) {
		account(&toucher->stats, touch_job->count, answer);
		return;
	}
	toucher->stats.hung += touch_job->count;
	avoid_list_add_failure(toucher->avoided, &touch_job->process, toucher->now_ns);
}

/* Moves the pages of the first page's process into @message. Returns their number. */
static size_t take_first(struct page_toucher *toucher, struct helper_message *message)
{
	struct reader_request request = { .pid = (uint32_t)toucher->waiting[0].pid,
					  .file = READER_PAGES };
	uint64_t *addresses = (uint64_t *)(void *)(message->bytes + sizeof(request));
	size_t n_taken = 0, n_left = 0;

	static_assert(sizeof(request) % sizeof(*addresses) == 0, "addresses are aligned");
	assert(toucher->count > 0);
	for (size_t i = 0; i < toucher->count; i++) {
		if ((uint32_t)toucher->waiting[i].pid == request.pid)
			memcpy(&addresses[n_taken++], &toucher->waiting[i].address,
			       sizeof(*addresses));
		else
			toucher->waiting[n_left++] = toucher->waiting[i];
	}
	toucher->count = n_left;
	memcpy(message->bytes, &request, sizeof(request));
	message->size = sizeof(request) + n_taken * sizeof(*addresses);
	message->n_fds = 0;
	return n_taken;
}

static void send_first(struct page_toucher *toucher)
{
	scoped_free struct touch_job *touch_job = malloc(sizeof(*touch_job));
	const struct helper_job job = {
		.kind = HELPER_TOUCHER,
		.timeout_ns = TIMEOUT_NS,
		.done = on_touched,
		.forget = free,
		.arg = touch_job,
	};
	const struct process_key process = process_key_of(toucher->waiting[0].pid);
	const size_t count = take_first(toucher, &toucher->message);

	if (avoid_list_has(toucher->avoided, &process, toucher->now_ns)) {
		toucher->stats.hung += count;
		return;
	}
	if (touch_job)
		*touch_job = (struct touch_job){ .toucher = toucher,
						 .process = process,
						 .count = count };
	if (!touch_job || helper_pool_submit(toucher->pool, &job, &toucher->message) < 0) {
		toucher->stats.dropped += count;
		return;
	}
	touch_job = NULL;
	toucher->n_in_flight++;
}

void page_toucher_flush(struct page_toucher *toucher, uint64_t now_ns)
{
	toucher->now_ns = now_ns;
	while (toucher->count > 0 && toucher->n_in_flight < MAX_IN_FLIGHT)
		send_first(toucher);
}
