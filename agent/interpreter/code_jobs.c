/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/code_jobs.h"

#include <string.h>

#define TIMEOUT_NS (3 * NSEC_PER_SEC)

/* As many as there are helpers for this: one may hang while the other works. */
#define MAX_IN_FLIGHT 2

void code_jobs_release(struct code_jobs *jobs)
{
	vec_release(&jobs->waiting);
}

int code_jobs_add(struct code_jobs *jobs, const struct waiting_code *code)
{
	return jobs->waiting.count < jobs->max_waiting ? vec_push(&jobs->waiting, *code) : -ENOSPC;
}

static bool is_same_process(const struct waiting_code *a, const struct waiting_code *b)
{
	return a->key.pid == b->key.pid && a->key.start_time_ns == b->key.start_time_ns &&
	       a->key.exec_count == b->key.exec_count && a->source.runtime == b->source.runtime &&
	       a->source.version == b->source.version && a->source.layout == b->source.layout;
}

struct code_job *code_jobs_next(struct code_jobs *jobs)
{
	struct waiting_vec *waiting = &jobs->waiting;
	struct waiting_code first;
	struct code_job *job;
	size_t n_left = 0;

	if (waiting->count == 0 || jobs->n_in_flight >= MAX_IN_FLIGHT)
		return NULL;
	job = malloc(sizeof(*job) + jobs->max_per_job * sizeof(job->codes[0]));
	if (!job)
		return NULL;
	*job = (struct code_job){ .owner = jobs->owner };
	first = waiting->items[0];
	for (size_t i = 0; i < waiting->count; i++) {
		if (job->count < jobs->max_per_job && is_same_process(&waiting->items[i], &first))
			job->codes[job->count++] = waiting->items[i];
		else
			waiting->items[n_left++] = waiting->items[i];
	}
	waiting->count = n_left;
	return job;
}

int code_jobs_submit(struct code_jobs *jobs, struct code_job *job, const void *items,
		     size_t item_size)
{
	const struct waiting_code *first = &job->codes[0];
	const struct helper_job helper_job = {
		.kind = HELPER_TOUCHER,
		.timeout_ns = TIMEOUT_NS,
		.done = jobs->done,
		.forget = free,
		.arg = job,
	};
	struct reader_code_request request = {
		.runtime = first->source.runtime,
		.version = first->source.version,
		.count = (uint32_t)job->count,
	};
	int r;

	if (first->source.layout)
		request.layout = *first->source.layout;
	reader_request_write(&jobs->message, first->key.pid, jobs->file, &request, sizeof(request));
	assert(jobs->message.size + job->count * item_size <= sizeof(jobs->message.bytes));
	memcpy(jobs->message.bytes + jobs->message.size, items, job->count * item_size);
	jobs->message.size += job->count * item_size;
	r = helper_pool_submit(jobs->pool, &helper_job, &jobs->message);
	if (r == 0)
		jobs->n_in_flight++;
	return r;
}
