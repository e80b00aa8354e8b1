/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/compiled_frames.h"

#include <string.h>

#include "agent/helper/protocol.h"
#include "common/hash_table.h"
#include "common/vec.h"

/* About 100 bytes each. */
#define MAX_KNOWN 32768

/* Each takes 56 bytes. */
#define MAX_WAITING 8192

#define TIMEOUT_NS (3 * NSEC_PER_SEC)

/* As many as there are helpers for this: one may hang while the other works. */
#define MAX_IN_FLIGHT 2

/* Windows after which an unused address is forgotten. */
#define KEEP_WINDOWS 2

struct known_frames {
	struct compiled_frame *functions; /* owned */
	uint32_t n_functions;
	bool is_waiting;
	bool was_read;
	uint64_t read_window, used_window;
};

struct waiting_pc {
	struct compiled_pc pc;
	struct code_source source;
};

VEC_DEFINE(waiting_pc_vec, struct waiting_pc);

struct compiled_frames {
	struct helper_pool *pool;
	struct hash_table *known; /* struct compiled_pc -> struct known_frames */
	struct waiting_pc_vec waiting;
	unsigned int n_in_flight;
	uint64_t window;
	struct helper_message message;
};

struct frames_job {
	struct compiled_frames *frames;
	size_t count;
	struct waiting_pc pcs[READER_MAX_COMPILED_FRAMES];
};

int compiled_frames_new(struct helper_pool *pool, struct compiled_frames **ret_frames)
{
	scoped(compiled_frames_freep) struct compiled_frames *frames = calloc(1, sizeof(*frames));
	int r;

	if (!frames)
		return -ENOMEM;
	frames->pool = pool;
	r = hash_table_new(sizeof(struct compiled_pc), sizeof(struct known_frames), MAX_KNOWN,
			   &frames->known);
	if (r < 0)
		return r;
	*ret_frames = take_ptr(frames);
	return 0;
}

struct compiled_frames *compiled_frames_free(struct compiled_frames *frames)
{
	size_t cursor = 0;
	void *value;

	if (!frames)
		return NULL;
	while (frames->known && hash_table_next(frames->known, &cursor, NULL, &value))
		free(((struct known_frames *)value)->functions);
	(void)hash_table_free(frames->known);
	vec_release(&frames->waiting);
	free(frames);
	return NULL;
}

int compiled_frames_want(struct compiled_frames *frames, const struct compiled_pc *pc,
			 const struct code_source *source, uint64_t window)
{
	const struct waiting_pc waiting = { .pc = *pc, .source = *source };
	struct known_frames *known;
	void *value;
	int r;

	frames->window = window;
	r = hash_table_insert(frames->known, pc, &value);
	if (r == -ENOSPC)
		return 1;
	if (r < 0)
		return r;
	known = value;
	known->used_window = window;
	if (known->is_waiting)
		return 0;
	if (known->was_read && known->read_window == window)
		return 1;
	if (frames->waiting.count >= MAX_WAITING || vec_push(&frames->waiting, waiting) < 0) {
		known->was_read = true;
		known->read_window = window;
		return 1;
	}
	known->is_waiting = true;
	return 0;
}

size_t compiled_frames_get(const struct compiled_frames *frames, const struct compiled_pc *pc,
			   const struct compiled_frame **ret_functions)
{
	const struct known_frames *known = hash_table_find(frames->known, pc);

	if (!known || known->n_functions == 0)
		return 0;
	*ret_functions = known->functions;
	return known->n_functions;
}

static void take_answer(struct compiled_frames *frames, const struct compiled_pc *pc,
			const struct reader_compiled_frames *answer)
{
	struct known_frames *known = hash_table_find(frames->known, pc);
	const size_t count = answer && answer->result > 0 ? (size_t)answer->result : 0;
	struct compiled_frame *functions = NULL;

	if (!known)
		return;
	known->is_waiting = false;
	known->was_read = true;
	known->read_window = frames->window;
	if (count > 0)
		functions = malloc(count * sizeof(*functions));
	free(known->functions);
	known->functions = functions;
	known->n_functions = functions ? (uint32_t)count : 0;
	if (functions)
		memcpy(functions, answer->frames, count * sizeof(*functions));
}

static void on_read(void *arg, int error, struct helper_message *message)
{
	scoped_free struct frames_job *job = arg;

	job->frames->n_in_flight--;
	for (size_t i = 0; i < job->count; i++) {
		const struct compiled_pc *pc = &job->pcs[i].pc;
		struct reader_compiled_frames answer;
		bool is_read = error == 0 && reader_compiled_frames_get(message, i, &answer) &&
			       answer.item.code == pc->code.address &&
			       answer.item.pc_offset == pc->pc_offset;

		take_answer(job->frames, pc, is_read ? &answer : NULL);
	}
}

static bool is_same_process(const struct waiting_pc *a, const struct waiting_pc *b)
{
	return a->pc.code.pid == b->pc.code.pid &&
	       a->pc.code.start_time_ns == b->pc.code.start_time_ns &&
	       a->source.runtime == b->source.runtime && a->source.version == b->source.version &&
	       a->source.layout == b->source.layout;
}

/* Moves waiting addresses of the first one's process to @job. There must be one. */
static void take_first(struct compiled_frames *frames, struct frames_job *job)
{
	struct waiting_pc_vec *waiting = &frames->waiting;
	const struct waiting_pc first = waiting->items[0];
	size_t n_left = 0;

	for (size_t i = 0; i < waiting->count; i++) {
		if (job->count < READER_MAX_COMPILED_FRAMES &&
		    is_same_process(&waiting->items[i], &first))
			job->pcs[job->count++] = waiting->items[i];
		else
			waiting->items[n_left++] = waiting->items[i];
	}
	waiting->count = n_left;
}

static void write_request(struct helper_message *message, const struct frames_job *job)
{
	const struct reader_request request = { .pid = job->pcs[0].pc.code.pid,
						.file = READER_COMPILED_FRAMES };
	const struct code_source *source = &job->pcs[0].source;
	struct reader_compiled_request compiled = {
		.runtime = source->runtime,
		.version = source->version,
		.count = (uint32_t)job->count,
	};

	if (source->layout)
		compiled.layout = *source->layout;
	memcpy(message->bytes, &request, sizeof(request));
	memcpy(message->bytes + sizeof(request), &compiled, sizeof(compiled));
	message->size = sizeof(request) + sizeof(compiled);
	message->n_fds = 0;
	for (size_t i = 0; i < job->count; i++) {
		const struct reader_compiled_item item = {
			.code = job->pcs[i].pc.code.address,
			.pc_offset = job->pcs[i].pc.pc_offset,
		};

		memcpy(message->bytes + message->size, &item, sizeof(item));
		message->size += sizeof(item);
	}
}

/* False: there is no memory for a job. */
static bool send_first(struct compiled_frames *frames)
{
	struct frames_job *job = calloc(1, sizeof(*job));
	const struct helper_job helper_job = {
		.kind = HELPER_TOUCHER,
		.timeout_ns = TIMEOUT_NS,
		.done = on_read,
		.forget = free,
		.arg = job,
	};

	if (!job)
		return false;
	job->frames = frames;
	take_first(frames, job);
	write_request(&frames->message, job);
	if (helper_pool_submit(frames->pool, &helper_job, &frames->message) == 0) {
		frames->n_in_flight++;
		return true;
	}
	for (size_t i = 0; i < job->count; i++)
		take_answer(frames, &job->pcs[i].pc, NULL);
	free(job);
	return true;
}

void compiled_frames_flush(struct compiled_frames *frames)
{
	while (frames->waiting.count > 0 && frames->n_in_flight < MAX_IN_FLIGHT)
		if (!send_first(frames))
			return;
}

void compiled_frames_begin_window(struct compiled_frames *frames, uint64_t window)
{
	size_t cursor = 0;
	void *value;

	while (hash_table_next(frames->known, &cursor, NULL, &value)) {
		struct known_frames *known = value;

		if (known->is_waiting || known->used_window + KEEP_WINDOWS >= window)
			continue;
		free(known->functions);
		hash_table_remove_at_cursor(frames->known, &cursor);
	}
}
