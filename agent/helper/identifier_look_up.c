/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look-up consists of up to four steps. Each step is a job of a helper:
 *
 *   LOOK   a finder gets facts of the file without opening it. They are enough to recognise most
 *          files. One message has up to FINDER_MAX_ITEMS look-ups.
 *   OPEN   a finder opens the file and gets the facts of the descriptor
 *   READ   a parser reads the file's identity
 *   TEXT   a parser hashes the file's code, if a file with different content has the same build-ID
 *
 * Jobs refer to look-ups by number, because a look-up may be removed before its job is answered.
 */
#include "agent/helper/identifier_look_up.h"

#include <string.h>
#include <unistd.h>

struct look_up *look_up_find(struct identifier *identifier, uint32_t number)
{
	struct look_up **found = hash_table_find(identifier->look_ups, &number);

	return found ? *found : NULL;
}

void look_up_free(struct look_up *look_up)
{
	free((char *)look_up->file.path);
	file_identity_release(&look_up->identity);
	scoped_close(&look_up->fd);
	free(look_up);
}

/* ---- ends ---------------------------------------------------------------------------------- */

/* Ends a look-up. It keeps a reference, so its executable stays in the cache as long as it does. */
static void end(struct look_up *look_up, struct executable *executable)
{
	struct identifier *identifier = look_up->identifier;

	assert(!look_up->has_ended && identifier->n_pending > 0);
	look_up->has_ended = true;
	look_up->ended_ns = identifier->now_ns;
	if (executable) {
		executable_ref(executable);
		look_up->executable = executable->number;
		file_watch_learned(identifier->watch, &look_up->file.reported,
				   look_up->watch_ticket, executable->number);
	}
	scoped_close(&look_up->fd);
	look_up->fd = -1;
	file_identity_release(&look_up->identity);
	identifier->n_pending--;
	if (identifier->ended)
		identifier->ended(identifier->ended_arg, look_up->file.pid);
}

/*
 * Ends a look-up with the executable that LOOK found, or that is known for the kernel's report of
 * the mapping. For a copy that was not compared, the report is not enough.
 */
static void end_by_report(struct look_up *look_up)
{
	struct executable_cache *executables = look_up->identifier->executables;
	struct executable *executable =
		executable_cache_by_number(executables, look_up->known_by_facts);

	if (!executable && !look_up->file.is_copy)
		(void)executable_cache_find_reported(executables, &look_up->file, &executable);
	end(look_up, executable);
}

void look_up_end_unavailable(struct look_up *look_up)
{
	look_up->is_unavailable = true;
	end_by_report(look_up);
}

/* ---- devices and files that are avoided ---------------------------------------------------- */

/* Device 0: the kernel reported none, or the mapping was read from /proc. */
bool look_up_is_avoided(const struct look_up *look_up)
{
	const struct identifier *identifier = look_up->identifier;
	uint64_t device = look_up->file.reported.device;

	return device != 0 && avoid_list_has(identifier->bad_devices, &device, identifier->now_ns);
}

static void add_timeout(struct identifier *identifier, uint64_t device)
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

/* ---- steps --------------------------------------------------------------------------------- */

/* Argument of a job: its look-up. */
struct step {
	struct identifier *identifier;
	uint32_t number;
};

static int submit(struct look_up *look_up, enum helper_kind kind, helper_done done,
		  struct helper_message *message)
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

/* The look-up of a job that has ended. NULL: the look-up was removed. Frees @arg. */
static struct look_up *take_step(void *arg)
{
	struct step step = *(struct step *)arg;

	free(arg);
	return look_up_find(step.identifier, step.number);
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
		look_up_end_unavailable(look_up);
}

static void on_text(void *arg, int error, struct helper_message *answer);

/* Adds the file to the cache. @text_id: hash of its code, NULL: not computed. */
static void learn(struct look_up *look_up, const struct executable_id *text_id)
{
	const struct found_content found = { .file = &look_up->file,
					     .facts = &look_up->facts,
					     .text_id = text_id };
	struct executable *executable = NULL;
	int r;

	r = executable_cache_learn(look_up->identifier->executables, &found, &look_up->identity,
				   &executable);
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
		look_up_end_unavailable(look_up);
	} else if (parser_identity_decode(answer, &look_up->identity) == 1) {
		avoid_list_forgive(look_up->identifier->refused_files, &look_up->facts.key);
		learn(look_up, NULL);
	} else {
		end(look_up, NULL);
	}
}

/* 1: *ret_facts; 0: the file was not found. */
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
	/* The timeout of a copy may be caused by the memory instead of the file. */
	if (error == -ETIMEDOUT && !look_up->file.is_copy)
		add_timeout(identifier, look_up->file.reported.device);
	if (error == 0)
		avoid_list_forgive(identifier->bad_devices, &look_up->file.reported.device);
	/* The process may still be copying, so the copy is compared again later. */
	if (error < 0 || (look_up->file.is_copy && answer->n_fds != 1)) {
		look_up_end_unavailable(look_up);
		return;
	}
	if (answer->n_fds != 1 || facts_of(answer, 0, &look_up->facts) == 0) {
		end_by_report(look_up);
		return;
	}
	look_up->fd = answer->fds[0];
	answer->fds[0] = -1;
	if (identifier->watch && !look_up->file.is_copy)
		look_up->watch_ticket = file_watch_add(identifier->watch, &look_up->file.reported,
						       look_up->fd, &look_up->facts);
	if (executable_cache_find_known(identifier->executables, &look_up->file, &look_up->facts,
					&executable) == 1) {
		end(look_up, executable);
	} else if (avoid_list_has(identifier->refused_files, &look_up->facts.key,
				  identifier->now_ns)) {
		identifier->stats.refused++;
		look_up_end_unavailable(look_up);
	} else {
		parse(look_up, PARSER_IDENTIFY, on_identity);
	}
}

bool look_up_add_to_request(struct helper_message *message, const struct look_up *look_up)
{
	const struct finder_item item = {
		.start = look_up->file.start,
		.end = look_up->file.end,
		.reported = look_up->file.reported,
		.pid = look_up->file.pid,
		.parent_pid = look_up->file.parent_pid,
		.is_copy = look_up->file.is_copy,
		.file_offset = look_up->file.file_offset,
	};

	return finder_request_add(message, &item, look_up->file.path);
}

void look_up_open(struct look_up *look_up)
{
	struct helper_message *message = &look_up->identifier->message;

	finder_request_begin(message, FINDER_OPEN);
	if (!look_up_add_to_request(message, look_up) ||
	    submit(look_up, HELPER_FINDER, on_opened, message) < 0)
		look_up_end_unavailable(look_up);
}

static bool is_to_be_watched(const struct look_up *look_up)
{
	struct file_watch *watch = look_up->identifier->watch;

	return watch && file_watch_lacks(watch, &look_up->file.reported);
}

static void on_facts(struct look_up *look_up, const struct helper_message *answer, size_t item)
{
	struct executable *executable = NULL;
	struct file_facts facts;

	avoid_list_forgive(look_up->identifier->bad_devices, &look_up->file.reported.device);
	if (facts_of(answer, item, &facts) == 1 &&
	    executable_cache_find_known(look_up->identifier->executables, &look_up->file, &facts,
					&executable) == 1)
		look_up->known_by_facts = executable->number;
	/* The executable is known, but a file has to be opened once before it can be watched. */
	if (executable && !is_to_be_watched(look_up))
		end(look_up, executable);
	else
		look_up_open(look_up);
}

/*
 * Handles the failure of a LOOK. If its message had several look-ups, each is tried again in a
 * separate message.
 */
static void retry_look(struct look_up *look_up, size_t n_together)
{
	struct identifier *identifier = look_up->identifier;

	if (n_together == 1)
		add_timeout(identifier, look_up->file.reported.device);
	look_up->is_single = true;
	if (n_together == 1 || vec_push(&identifier->queued, look_up->number) < 0)
		look_up_end_unavailable(look_up);
}

void look_up_on_answer(void *arg, int error, struct helper_message *answer)
{
	scoped_free struct batch *batch = arg;

	for (size_t i = 0; i < batch->count; i++) {
		struct look_up *look_up = look_up_find(batch->identifier, batch->numbers[i]);

		if (!look_up)
			continue;
		if (error < 0)
			retry_look(look_up, batch->count);
		else
			on_facts(look_up, answer, i);
	}
}
