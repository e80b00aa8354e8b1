/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/compiled_frames.h"

#include <string.h>

#include "common/hash_table.h"

/* About 100 bytes each. */
#define MAX_KNOWN 32768

/* Each takes 64 bytes. */
#define MAX_WAITING 8192

/* Windows after which an unused address is forgotten. */
#define KEEP_WINDOWS 2

struct known_frames {
	struct compiled_frame *functions; /* owned */
	uint32_t n_functions;
	bool is_waiting;
	bool was_read;
	uint64_t read_window, used_window;
};

struct compiled_frames {
	struct hash_table *known; /* struct compiled_pc -> struct known_frames */
	struct code_jobs jobs;
	uint64_t window;
};

static void on_read(void *arg, int error, struct helper_message *message);

int compiled_frames_new(struct helper_pool *pool, struct compiled_frames **ret_frames)
{
	scoped(compiled_frames_freep) struct compiled_frames *frames = calloc(1, sizeof(*frames));
	int r;

	if (!frames)
		return -ENOMEM;
	frames->jobs = (struct code_jobs){
		.pool = pool,
		.owner = frames,
		.file = READER_COMPILED_FRAMES,
		.max_waiting = MAX_WAITING,
		.max_per_job = READER_MAX_COMPILED_FRAMES,
		.done = on_read,
	};
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
	code_jobs_release(&frames->jobs);
	free(frames);
	return NULL;
}

int compiled_frames_want(struct compiled_frames *frames, const struct compiled_pc *pc,
			 const struct code_source *source, uint64_t window)
{
	const struct waiting_code waiting = {
		.key = pc->code,
		.source = *source,
		.pc_offset = pc->pc_offset,
	};
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
	if (code_jobs_add(&frames->jobs, &waiting) < 0) {
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

static void take_answer(struct compiled_frames *frames, const struct waiting_code *code,
			const struct reader_compiled_frames *answer)
{
	const struct compiled_pc pc = { .code = code->key, .pc_offset = code->pc_offset };
	struct known_frames *known = hash_table_find(frames->known, &pc);
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
	scoped_free struct code_job *job = arg;
	struct compiled_frames *frames = job->owner;

	frames->jobs.n_in_flight--;
	for (size_t i = 0; i < job->count; i++) {
		const struct waiting_code *code = &job->codes[i];
		struct reader_compiled_frames answer;
		bool is_read = error == 0 && reader_compiled_frames_get(message, i, &answer) &&
			       answer.item.code == code->key.address &&
			       answer.item.pc_offset == code->pc_offset;

		take_answer(frames, code, is_read ? &answer : NULL);
	}
}

static void send(struct compiled_frames *frames, struct code_job *job)
{
	struct reader_compiled_item items[READER_MAX_COMPILED_FRAMES];

	for (size_t i = 0; i < job->count; i++)
		items[i] = (struct reader_compiled_item){
			.code = job->codes[i].key.address,
			.pc_offset = job->codes[i].pc_offset,
		};
	if (code_jobs_submit(&frames->jobs, job, items, sizeof(items[0])) == 0)
		return;
	for (size_t i = 0; i < job->count; i++)
		take_answer(frames, &job->codes[i], NULL);
	free(job);
}

void compiled_frames_flush(struct compiled_frames *frames)
{
	struct code_job *job;

	while ((job = code_jobs_next(&frames->jobs)))
		send(frames, job);
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
