/* SPDX-License-Identifier: Apache-2.0 */
/* If an answer has no room for all objects of a request, the rest waits again. */
#include "agent/interpreter/code_reader.h"

#include <string.h>

#include "agent/helper/avoid_list.h"
#include "common/hash_table.h"

/* 64 bytes each. A large program has some thousand functions. */
#define MAX_KNOWN 65536

/* Objects that were not used for KEEP_WINDOWS are forgotten when the table is fuller than this. */
#define SWEEP_ABOVE  16384
#define KEEP_WINDOWS 12

/* Each takes 64 bytes. */
#define MAX_WAITING 16384

/* For how long a process is avoided after a timeout, because each attempt may cost a helper. */
#define FIRST_AVOIDED_NS (60 * NSEC_PER_SEC)
#define MAX_AVOIDED_NS   (24 * 3600 * NSEC_PER_SEC)
#define MAX_AVOIDED      1024

struct known_code {
	uint64_t mark;        /* read_code.mark; 0: never read */
	uint64_t read_window; /* in which it was read last */
	uint64_t used_window;
	uint32_t number; /* 0: not known */
	bool is_waiting; /* in the queue, or being read */
	bool is_builtin; /* the content has no name */
};

struct code_reader {
	struct code_objects *objects;
	struct hash_table *known; /* struct code_key -> struct known_code */
	struct code_jobs jobs;
	struct avoid_list *avoided; /* struct process_key */
	uint64_t window;
	uint64_t now_ns; /* of the last flush */
	struct code_reader_stats stats;
};

static void on_read(void *arg, int error, struct helper_message *answer);

int code_reader_new(struct helper_pool *pool, struct code_objects *objects,
		    struct code_reader **ret_reader)
{
	const struct avoid_list_options avoided = {
		.key_size = sizeof(struct process_key),
		.max_keys = MAX_AVOIDED,
		.first_ns = FIRST_AVOIDED_NS,
		.max_ns = MAX_AVOIDED_NS,
	};
	scoped(code_reader_freep) struct code_reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return -ENOMEM;
	reader->jobs = (struct code_jobs){
		.pool = pool,
		.owner = reader,
		.file = READER_CODE,
		.max_waiting = MAX_WAITING,
		.max_per_job = READER_MAX_CODE,
		.done = on_read,
	};
	reader->objects = objects;
	r = hash_table_new(sizeof(struct code_key), sizeof(struct known_code), MAX_KNOWN,
			   &reader->known);
	if (r < 0)
		return r;
	r = avoid_list_new(&avoided, &reader->avoided);
	if (r < 0)
		return r;
	*ret_reader = take_ptr(reader);
	return 0;
}

struct code_reader *code_reader_free(struct code_reader *reader)
{
	if (!reader)
		return NULL;
	(void)hash_table_free(reader->known);
	(void)avoid_list_free(reader->avoided);
	code_jobs_release(&reader->jobs);
	free(reader);
	return NULL;
}

void code_reader_stats(const struct code_reader *reader, struct code_reader_stats *ret_stats)
{
	*ret_stats = reader->stats;
}

/* ---- requests ------------------------------------------------------------------------------ */

/* 0; or the object cannot be queued: it counts as read in this window. */
static int queue(struct code_reader *reader, const struct waiting_code *code,
		 struct known_code *known)
{
	if (code_jobs_add(&reader->jobs, code) < 0) {
		reader->stats.dropped++;
		known->read_window = reader->window;
		known->is_waiting = false;
		return -ENOSPC;
	}
	known->is_waiting = true;
	return 0;
}

int code_reader_want(struct code_reader *reader, const struct code_key *key,
		     const struct code_source *source, uint64_t window)
{
	const struct waiting_code code = { .key = *key, .source = *source };
	struct known_code *known;
	void *value;
	int r;

	reader->window = window;
	r = hash_table_insert(reader->known, key, &value);
	if (r == -ENOSPC) {
		reader->stats.dropped++;
		return 1;
	}
	if (r < 0)
		return r;
	known = value;
	known->used_window = window;
	if (known->is_waiting)
		return 0;
	/* An object that was not used for a while has no number any longer. */
	if (known->number != 0 && !code_objects_get(reader->objects, known->number)) {
		known->number = 0;
		known->mark = 0;
		known->read_window = 0;
	}
	if (known->read_window == window)
		return 1;
	return queue(reader, &code, known) < 0 ? 1 : 0;
}

int code_reader_get(struct code_reader *reader, const struct code_key *key, uint32_t *ret_number)
{
	const struct known_code *known = hash_table_find(reader->known, key);

	if (known && known->is_builtin)
		return CODE_IS_BUILTIN;
	if (!known || known->number == 0 || !code_objects_get(reader->objects, known->number))
		return 0;
	*ret_number = known->number;
	return 1;
}

/* ---- answers ------------------------------------------------------------------------------- */

static char *take_text(const uint8_t **content, size_t size, char *to)
{
	memcpy(to, *content, size);
	to[size] = '\0';
	*content += size;
	return to;
}

/* The language of code objects, by which the server decodes line tables. */
static const char *language_of(uint32_t runtime)
{
	switch (runtime) {
	case INTERPRETER_HOTSPOT:
		return "java";
	case INTERPRETER_V8:
		return "javascript";
	case INTERPRETER_PHP:
		return "php";
	case INTERPRETER_RUBY:
		return "ruby";
	case INTERPRETER_PERL:
		return "perl";
	case INTERPRETER_LUA:
		return "lua";
	default:
		return "python";
	}
}

/* The number of the content. 0: there are too many code objects, or memory is short. */
static uint32_t number_of(struct code_reader *reader, uint32_t runtime,
			  const struct read_code *code, const uint8_t *content)
{
	char function[CODE_NAME_BYTES + 1], qualified_name[CODE_NAME_BYTES + 1];
	char file[CODE_FILE_BYTES + 1];
	struct code_content object = { .language = language_of(runtime),
				       .first_line = code->first_line };
	uint32_t number;

	object.function = take_text(&content, code->function_bytes, function);
	object.qualified_name = take_text(&content, code->qualified_name_bytes, qualified_name);
	object.file = take_text(&content, code->file_bytes, file);
	object.line_table = (struct bytes_view){ .data = content, .size = code->line_table_bytes };
	if (strcmp(function, qualified_name) == 0)
		object.qualified_name = NULL;
	return code_objects_find(reader->objects, &object, &number) == 1 ? number : 0;
}

static void count_failure(struct code_reader_stats *stats, int error)
{
	if (error == -ESRCH)
		stats->gone++;
	else
		stats->failed++;
}

static void take_answer(struct code_reader *reader, const struct waiting_code *code,
			const struct reader_code *answer, const uint8_t *content)
{
	struct known_code *known = hash_table_find(reader->known, &code->key);

	if (!known)
		return;
	known->is_waiting = false;
	known->read_window = reader->window;
	if (answer->result == 0) {
		reader->stats.unchanged++;
		return;
	}
	known->number = 0;
	known->mark = 0;
	known->is_builtin = answer->result == 1 && answer->code.function_bytes == 0;
	if (answer->result < 0) {
		count_failure(&reader->stats, answer->result);
		return;
	}
	reader->stats.read++;
	if (known->is_builtin)
		return;
	known->number = number_of(reader, code->source.runtime, &answer->code, content);
	known->mark = answer->code.mark;
}

/* Marks objects of a job that were not read: they have no names in this window. */
static void give_up(struct code_reader *reader, const struct code_job *job, size_t first)
{
	for (size_t i = first; i < job->count; i++) {
		struct known_code *known = hash_table_find(reader->known, &job->codes[i].key);

		if (!known)
			continue;
		known->is_waiting = false;
		known->read_window = reader->window;
	}
}

/* Lets objects wait again that did not fit into the answer. */
static void queue_rest(struct code_reader *reader, const struct code_job *job, size_t first)
{
	for (size_t i = first; i < job->count; i++) {
		struct known_code *known = hash_table_find(reader->known, &job->codes[i].key);

		if (known)
			(void)queue(reader, &job->codes[i], known);
	}
}

static void on_read(void *arg, int error, struct helper_message *answer)
{
	scoped_free struct code_job *job = arg;
	struct code_reader *reader = job->owner;
	struct reader_code code;
	const uint8_t *content;
	size_t offset = 0, n_read = 0;

	reader->jobs.n_in_flight--;
	if (error < 0) {
		reader->stats.hung += job->count;
		avoid_list_add_failure(reader->avoided, &job->process, reader->now_ns);
		give_up(reader, job, 0);
		return;
	}
	while (n_read < job->count && reader_code_next(answer, &offset, &code, &content) &&
	       code.address == job->codes[n_read].key.address)
		take_answer(reader, &job->codes[n_read++], &code, content);
	if (n_read > 0) {
		queue_rest(reader, job, n_read);
		return;
	}
	reader->stats.failed += job->count;
	give_up(reader, job, 0);
}

/* ---- jobs ---------------------------------------------------------------------------------- */

static void send(struct code_reader *reader, struct code_job *job)
{
	struct reader_code_item items[READER_MAX_CODE];

	static_assert(sizeof(struct reader_request) + sizeof(struct reader_code_request) +
				      sizeof(items) <=
			      HELPER_MESSAGE_MAX_BYTES,
		      "a request is one message");
	for (size_t i = 0; i < job->count; i++) {
		const struct known_code *known = hash_table_find(reader->known, &job->codes[i].key);

		items[i] = (struct reader_code_item){
			.address = job->codes[i].key.address,
			.known_mark = known && known->number ? known->mark : 0,
			.caller = job->codes[i].source.caller,
			.caller_position = job->codes[i].source.caller_position,
		};
	}
	job->process = process_key_of((pid_t)job->codes[0].key.pid);
	if (avoid_list_has(reader->avoided, &job->process, reader->now_ns))
		reader->stats.hung += job->count;
	else if (code_jobs_submit(&reader->jobs, job, items, sizeof(items[0])) == 0)
		return;
	else
		reader->stats.dropped += job->count;
	give_up(reader, job, 0);
	free(job);
}

void code_reader_flush(struct code_reader *reader, uint64_t now_ns)
{
	struct code_job *job;

	reader->now_ns = now_ns;
	while ((job = code_jobs_next(&reader->jobs)))
		send(reader, job);
}

void code_reader_begin_window(struct code_reader *reader, uint64_t window)
{
	size_t cursor = 0;
	void *value;

	if (hash_table_count(reader->known) <= SWEEP_ABOVE)
		return;
	while (hash_table_next(reader->known, &cursor, NULL, &value)) {
		const struct known_code *known = value;

		if (!known->is_waiting && known->used_window + KEEP_WINDOWS < window)
			hash_table_remove_at_cursor(reader->known, &cursor);
	}
}
