/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look-up consists of up to four steps, each of which is a job of a helper:
 *
 *   LOOK   a finder gets facts of the file without opening it. Most files are known by their facts. One message has
 *          up to FINDER_MAX_ITEMS look-ups.
 *   OPEN   a finder opens the file, and gets the facts of the descriptor
 *   READ   a parser reads the file's identity
 *   TEXT   a parser hashes the file's code, if a file with different content has the same build-ID
 *
 * Jobs refer to look-ups by number, because a look-up may be removed before its job is answered.
 */
#include "agent/helper/identifier.h"

#include <limits.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/helper/avoid_list.h"
#include "agent/helper/protocol.h"
#include "common/hash_table.h"
#include "common/vec.h"

/* Most look-ups that are kept, including those that ended less than KEPT_NS ago. */
#define MAX_LOOK_UPS 16384

/* How long a look-up is kept after its end, for other processes that share the mapping and ask for it later. */
#define KEPT_NS (2 * NSEC_PER_SEC)
#define SWEEP_EVERY_NS NSEC_PER_SEC

/* Longer than a look-up takes on a busy host. A disk that has to start may take longer, and is tried again later. */
#define FINDER_TIMEOUT_NS (3 * NSEC_PER_SEC)

/* 512 MiB of code are hashed in 0.1 s from memory, and in some seconds from a disk. */
#define PARSER_TIMEOUT_NS (5 * NSEC_PER_SEC)

/*
 * A device that does not answer twice in a row is left alone. One timeout may be a disk that starts, or a helper that
 * was stopped. At the maximum a server that hangs for days costs a helper three seconds of waiting a minute.
 */
static const struct avoid_list_options bad_devices = {
	.key_size = sizeof(uint64_t),
	.max_keys = 256,
	.free_failures = 1,
	.first_ns = 4 * NSEC_PER_SEC,
	.max_ns = 60 * NSEC_PER_SEC,
};

/*
 * A file that the parser dies of. Something else may have killed the parser, so the file is tried again; a hostile file
 * costs up to PARSER_TIMEOUT_NS each time, and at the maximum an hour passes between two of them.
 */
static const struct avoid_list_options refused_files = {
	.key_size = sizeof(struct file_key),
	.max_keys = 4096,
	.first_ns = 4 * NSEC_PER_SEC,
	.max_ns = 3600 * NSEC_PER_SEC,
};

struct look_up {
	struct identifier *identifier;
	struct mapped_file file; /* the path is owned */
	struct file_facts facts;
	struct file_identity identity;
	int fd;		      /* the file, from OPEN until the end, or -1 */
	bool alone;	      /* its LOOK is the only one in its message */
	bool has_ended;
	bool is_unavailable; /* it ended without an answer, for a reason that may pass */
	uint64_t ended_ns;
	uint32_t number;
	uint32_t executable; /* number of the executable, 0: none */
};

VEC_DEFINE(number_vec, uint32_t);

/* The look-ups of one LOOK message. */
struct batch {
	struct identifier *identifier;
	uint32_t numbers[FINDER_MAX_ITEMS];
	size_t count;
};

struct identifier {
	struct executable_cache *executables;
	struct helper_pool *pool;
	uint64_t swept_ns;
	struct hash_table *look_ups;	  /* uint32_t -> struct look_up * */
	struct avoid_list *bad_devices;	  /* by uint64_t device number */
	struct avoid_list *refused_files; /* by struct file_key */
	struct number_vec asked;	  /* not handed out yet */
	uint32_t last_number;
	size_t n_pending;
	uint64_t now_ns; /* of the last flush */
	identifier_ended ended;
	void *ended_arg;
	struct identifier_stats stats;
	struct helper_message message;
};

int identifier_new(struct executable_cache *executables, struct helper_pool *pool, struct identifier **ret_identifier)
{
	scoped(identifier_freep) struct identifier *identifier = calloc(1, sizeof(*identifier));
	int r;

	if (!identifier)
		return -ENOMEM;
	identifier->executables = executables;
	identifier->pool = pool;
	r = hash_table_new(sizeof(uint32_t), sizeof(struct look_up *), MAX_LOOK_UPS, &identifier->look_ups);
	if (r == 0)
		r = avoid_list_new(&bad_devices, &identifier->bad_devices);
	if (r == 0)
		r = avoid_list_new(&refused_files, &identifier->refused_files);
	if (r < 0)
		return r;
	*ret_identifier = take_ptr(identifier);
	return 0;
}

static void look_up_free(struct look_up *look_up)
{
	free((char *)look_up->file.path);
	file_identity_release(&look_up->identity);
	scoped_close(&look_up->fd);
	free(look_up);
}

struct identifier *identifier_free(struct identifier *identifier)
{
	size_t cursor = 0;
	void *value;

	if (!identifier)
		return NULL;
	while (identifier->look_ups && hash_table_next(identifier->look_ups, &cursor, NULL, &value))
		look_up_free(*(struct look_up **)value);
	(void)hash_table_free(identifier->look_ups);
	(void)avoid_list_free(identifier->bad_devices);
	(void)avoid_list_free(identifier->refused_files);
	vec_release(&identifier->asked);
	free(identifier);
	return NULL;
}

void identifier_on_end(struct identifier *identifier, identifier_ended function, void *arg)
{
	identifier->ended = function;
	identifier->ended_arg = arg;
}

size_t identifier_n_pending(const struct identifier *identifier)
{
	return identifier->n_pending;
}

void identifier_stats(const struct identifier *identifier, struct identifier_stats *ret_stats)
{
	*ret_stats = identifier->stats;
}

static struct look_up *find(struct identifier *identifier, uint32_t number)
{
	struct look_up **found = hash_table_find(identifier->look_ups, &number);

	return found ? *found : NULL;
}

/* ---- ends ------------------------------------------------------------------------------------------------------ */

/* Ends a look-up. Its executable cannot leave the cache as long as the look-up is kept. */
static void end(struct look_up *look_up, struct executable *executable)
{
	struct identifier *identifier = look_up->identifier;

	look_up->has_ended = true;
	look_up->ended_ns = identifier->now_ns;
	if (executable) {
		executable_ref(executable);
		look_up->executable = executable->number;
	}
	scoped_close(&look_up->fd);
	look_up->fd = -1;
	file_identity_release(&look_up->identity);
	identifier->n_pending--;
	if (identifier->ended)
		identifier->ended(identifier->ended_arg, look_up->file.pid);
}

/* Takes the executable that is known by what the kernel reported of the mapping, if there is one. */
static void end_as_told(struct look_up *look_up)
{
	struct executable *executable = NULL;

	(void)executable_cache_find_told(look_up->identifier->executables, &look_up->file, &executable);
	end(look_up, executable);
}

/* The helper died, ran out of time or was not asked at all: the same look-up may succeed later. */
static void end_unavailable(struct look_up *look_up)
{
	look_up->is_unavailable = true;
	end_as_told(look_up);
}

static void forget(struct identifier *identifier, struct look_up *look_up)
{
	struct executable *executable = executable_cache_by_number(identifier->executables, look_up->executable);

	if (executable)
		executable_unref(identifier->executables, executable);
	look_up_free(look_up);
}

/* Removes look-ups that ended at least @kept_ns ago. */
static void sweep(struct identifier *identifier, uint64_t kept_ns)
{
	size_t cursor = 0;
	void *value;

	while (hash_table_next(identifier->look_ups, &cursor, NULL, &value)) {
		struct look_up *look_up = *(struct look_up **)value;

		if (!look_up->has_ended || look_up->ended_ns + kept_ns > identifier->now_ns)
			continue;
		hash_table_remove_at_cursor(identifier->look_ups, &cursor);
		forget(identifier, look_up);
	}
}

/* ---- devices and files that are left alone --------------------------------------------------------------------- */

/* Device 0: the kernel reported none, or the mapping was found in /proc, and may be of any device. */
static bool is_left_alone(const struct identifier *identifier, uint64_t device)
{
	return device != 0 && avoid_list_has(identifier->bad_devices, &device, identifier->now_ns);
}

static void strike(struct identifier *identifier, uint64_t device)
{
	identifier->stats.hung++;
	if (device != 0)
		avoid_list_add_failure(identifier->bad_devices, &device, identifier->now_ns);
}

static void refuse_file(struct look_up *look_up)
{
	struct identifier *identifier = look_up->identifier;

	identifier->stats.parser_failed++;
	avoid_list_add_failure(identifier->refused_files, &look_up->facts.key, identifier->now_ns);
}

/* ---- steps ----------------------------------------------------------------------------------------------------- */

/* What jobs carry: the identifier, and which look-up. */
struct step {
	struct identifier *identifier;
	uint32_t number;
};

static int submit(struct look_up *look_up, enum helper_kind kind, helper_done done, struct helper_message *message)
{
	struct step *step = malloc(sizeof(*step));
	const struct helper_job job = {
		.kind = kind,
		.timeout_ns = kind == HELPER_FINDER ? FINDER_TIMEOUT_NS : PARSER_TIMEOUT_NS,
		.done = done,
		.forget = free,
		.arg = step,
	};
	int r;

	if (!step) {
		helper_message_close(message);
		return -ENOMEM;
	}
	*step = (struct step){ .identifier = look_up->identifier, .number = look_up->number };
	r = helper_pool_submit(look_up->identifier->pool, &job, message);
	if (r < 0)
		free(step);
	return r;
}

/* The look-up of a job that is over; NULL when it was forgotten. */
static struct look_up *take_step(void *arg)
{
	struct step step = *(struct step *)arg;

	free(arg);
	return find(step.identifier, step.number);
}

static void parse(struct look_up *look_up, enum parser_operation operation, helper_done done)
{
	struct helper_message *message = &look_up->identifier->message;
	const struct parser_request request = { .operation = operation };

	memcpy(message->bytes, &request, sizeof(request));
	message->size = sizeof(request);
	message->n_fds = 0;
	message->fds[0] = dup(look_up->fd);
	if (message->fds[0] >= 0)
		message->n_fds = 1;
	if (message->n_fds == 0 || submit(look_up, HELPER_PARSER, done, message) < 0)
		end_unavailable(look_up);
}

static void on_text(void *arg, int error, struct helper_message *answer);

/* Into the cache: with the hash of its code, where that was asked for. */
static void learn(struct look_up *look_up, const struct executable_id *text_id)
{
	const struct found_content found = { .file = &look_up->file, .facts = &look_up->facts, .text_id = text_id };
	struct executable *executable = NULL;
	int r;

	r = executable_cache_learn(look_up->identifier->executables, &found, &look_up->identity, &executable);
	if (r == -EAGAIN)
		parse(look_up, PARSER_TEXT, on_text);
	else
		end(look_up, r == 1 ? executable : NULL);
}

static void on_text(void *arg, int error, struct helper_message *answer)
{
	struct look_up *look_up = take_step(arg);
	struct executable_id text_id = {};

	if (!look_up)
		return;
	if (error < 0)
		refuse_file(look_up);
	else
		(void)parser_text_decode(answer, &text_id);
	learn(look_up, &text_id);
}

static void on_identity(void *arg, int error, struct helper_message *answer)
{
	struct look_up *look_up = take_step(arg);

	if (!look_up)
		return;
	if (error < 0) {
		refuse_file(look_up);
		end_unavailable(look_up);
	} else if (parser_identity_decode(answer, &look_up->identity) == 1) {
		avoid_list_forgive(look_up->identifier->refused_files, &look_up->facts.key);
		learn(look_up, NULL);
	} else {
		end(look_up, NULL);
	}
}

/* 1 *ret_facts, 0 the file was not found. */
static int facts_of(const struct helper_message *answer, size_t item, struct file_facts *ret_facts)
{
	struct finder_answer found;

	if (answer->size != sizeof(found))
		return 0;
	memcpy(&found, answer->bytes, sizeof(found));
	if (item >= MIN(found.n_items, (uint32_t)FINDER_MAX_ITEMS) || !found.items[item].is_found)
		return 0;
	*ret_facts = found.items[item].facts;
	return 1;
}

static void on_opened(void *arg, int error, struct helper_message *answer)
{
	struct look_up *look_up = take_step(arg);
	struct executable *executable = NULL;
	struct identifier *identifier;

	if (!look_up)
		return;
	identifier = look_up->identifier;
	if (error == -ETIMEDOUT)
		strike(identifier, look_up->file.told.device);
	if (error < 0) {
		end_unavailable(look_up);
		return;
	}
	avoid_list_forgive(identifier->bad_devices, &look_up->file.told.device);
	if (answer->n_fds != 1 || facts_of(answer, 0, &look_up->facts) == 0) {
		end_as_told(look_up);
		return;
	}
	look_up->fd = answer->fds[0];
	answer->fds[0] = -1;
	if (executable_cache_find_known(identifier->executables, &look_up->file, &look_up->facts, &executable) == 1) {
		end(look_up, executable);
	} else if (avoid_list_has(identifier->refused_files, &look_up->facts.key, identifier->now_ns)) {
		identifier->stats.refused++;
		end_unavailable(look_up);
	} else {
		parse(look_up, PARSER_IDENTIFY, on_identity);
	}
}

static void begin_request(struct helper_message *message, enum finder_operation operation)
{
	const struct finder_request request = { .operation = operation };

	memcpy(message->bytes, &request, sizeof(request));
	message->size = sizeof(request);
	message->n_fds = 0;
}

static bool add_to_request(struct helper_message *message, const struct look_up *look_up)
{
	const struct finder_item item = {
		.start = look_up->file.start,
		.end = look_up->file.end,
		.told = look_up->file.told,
		.pid = look_up->file.pid,
		.parent_pid = look_up->file.parent_pid,
	};

	return finder_request_add(message, &item, look_up->file.path);
}

static void open_file(struct look_up *look_up)
{
	struct helper_message *message = &look_up->identifier->message;

	begin_request(message, FINDER_OPEN);
	if (!add_to_request(message, look_up) || submit(look_up, HELPER_FINDER, on_opened, message) < 0)
		end_unavailable(look_up);
}

static void on_facts(struct look_up *look_up, const struct helper_message *answer, size_t item)
{
	struct executable *executable = NULL;
	struct file_facts facts;

	avoid_list_forgive(look_up->identifier->bad_devices, &look_up->file.told.device);
	if (facts_of(answer, item, &facts) == 1 &&
	    executable_cache_find_known(look_up->identifier->executables, &look_up->file, &facts, &executable) == 1)
		end(look_up, executable);
	else
		open_file(look_up);
}

/* A LOOK failed. If its message had several look-ups, each is tried again in a message of its own. */
static void look_again(struct look_up *look_up, size_t n_together)
{
	struct identifier *identifier = look_up->identifier;

	if (n_together == 1)
		strike(identifier, look_up->file.told.device);
	look_up->alone = true;
	if (n_together == 1 || vec_push(&identifier->asked, look_up->number) < 0)
		end_unavailable(look_up);
}

static void on_looked(void *arg, int error, struct helper_message *answer)
{
	scoped_free struct batch *batch = arg;

	for (size_t i = 0; i < batch->count; i++) {
		struct look_up *look_up = find(batch->identifier, batch->numbers[i]);

		if (!look_up)
			continue;
		if (error < 0)
			look_again(look_up, batch->count);
		else
			on_facts(look_up, answer, i);
	}
}

/* ---- in -------------------------------------------------------------------------------------------------------- */

static void submit_batch(struct identifier *identifier, struct batch *batch)
{
	const struct helper_job job = {
		.kind = HELPER_FINDER, .timeout_ns = FINDER_TIMEOUT_NS, .done = on_looked, .forget = free, .arg = batch
	};

	if (helper_pool_submit(identifier->pool, &job, &identifier->message) == 0)
		return;
	for (size_t i = 0; i < batch->count; i++)
		end_unavailable(find(identifier, batch->numbers[i]));
	free(batch);
}

/* Whether the kernel reported the file when it was mapped, and no executable is known by that report. */
static bool is_new(struct look_up *look_up)
{
	const struct told_file *told = &look_up->file.told;
	struct executable *executable;

	/* Of files in an overlay the kernel reports neither device nor generation. */
	return told_file_is_told(told) && (told->generation || major(told->device)) &&
	       executable_cache_find_told(look_up->identifier->executables, &look_up->file, &executable) == 0;
}

/* Submits one message, with as many look-ups from asked[*next] on as fit, and advances *next. */
static void submit_next(struct identifier *identifier, size_t *next)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	begin_request(&identifier->message, FINDER_LOOK);
	while (*next < identifier->asked.count) {
		struct look_up *look_up = find(identifier, identifier->asked.items[*next]);

		if (!look_up || look_up->has_ended) {
			(*next)++;
			continue;
		}
		/* A new file has to be opened anyway: its LOOK is left out. */
		if (batch && batch->count == 0 && !look_up->alone && is_new(look_up) &&
		    !is_left_alone(identifier, look_up->file.told.device)) {
			free(batch);
			(*next)++;
			open_file(look_up);
			return;
		}
		if (batch && batch->count > 0 && is_new(look_up))
			break;
		if (!batch || is_left_alone(identifier, look_up->file.told.device)) {
			identifier->stats.left_alone++;
			end_unavailable(look_up);
			(*next)++;
			continue;
		}
		if ((look_up->alone && batch->count > 0) || !add_to_request(&identifier->message, look_up))
			break;
		batch->numbers[batch->count++] = look_up->number;
		(*next)++;
		if (look_up->alone)
			break;
	}
	if (!batch || batch->count == 0) {
		free(batch);
		return;
	}
	batch->identifier = identifier;
	submit_batch(identifier, batch);
}

void identifier_flush(struct identifier *identifier, uint64_t now_ns)
{
	size_t next = 0;

	identifier->now_ns = now_ns;
	while (next < identifier->asked.count)
		submit_next(identifier, &next);
	vec_clear(&identifier->asked);
}

static int begin(struct identifier *identifier, const struct mapped_file *file, struct look_up **ret_look_up)
{
	struct look_up *look_up;
	void *value;
	int r;

	/* A process may end before it asks for the result, so ended look-ups are removed after a while. */
	if (identifier->now_ns >= identifier->swept_ns + SWEEP_EVERY_NS) {
		identifier->swept_ns = identifier->now_ns;
		sweep(identifier, KEPT_NS);
	}
	if (hash_table_count(identifier->look_ups) >= MAX_LOOK_UPS - 1)
		sweep(identifier, 0);
	look_up = calloc(1, sizeof(*look_up));
	if (!look_up)
		return -ENOMEM;
	look_up->identifier = identifier;
	look_up->fd = -1;
	look_up->file = *file;
	look_up->file.path = strdup(file->path);
	look_up->number = ++identifier->last_number;
	r = look_up->file.path ? vec_push(&identifier->asked, look_up->number) : -ENOMEM;
	if (r == 0)
		r = hash_table_insert(identifier->look_ups, &look_up->number, &value);
	if (r < 0) {
		look_up_free(look_up);
		return r;
	}
	*(struct look_up **)value = look_up;
	*ret_look_up = look_up;
	return 0;
}

int identifier_ask(void *arg, const struct mapped_file *file, uint32_t *number, struct executable **ret_executable)
{
	struct identifier *identifier = arg;
	struct look_up *look_up = *number ? find(identifier, *number) : NULL;
	int r;

	/* A longer path fits no request. Paths from the kernel are shorter. */
	if (!mapped_file_has_path(file) || strlen(file->path) >= PATH_MAX)
		return 0;
	if (!look_up) {
		r = begin(identifier, file, &look_up);
		/* MAX_LOOK_UPS are in progress. */
		if (r < 0)
			return r == -ENOSPC ? 0 : r;
		identifier->stats.looked_up++;
		identifier->n_pending++;
		*number = look_up->number;
	}
	if (!look_up->has_ended)
		return -EINPROGRESS;
	if (look_up->executable == 0)
		return look_up->is_unavailable ? EXECUTABLE_UNAVAILABLE : 0;
	*ret_executable = executable_cache_by_number(identifier->executables, look_up->executable);
	return *ret_executable != NULL;
}
