/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One look-up of a process: opens its files, reads each to its end, and asks for names. Each step
 * is a job of a helper; its answer begins the next step.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/jit/jit_names_private.h"

/*
 * Bytes that are read of the files of one process, and of all, at once and in each second. Reading
 * costs some milliseconds of CPU time for a MiB. V8 writes 20 MB in a minute while a large program
 * starts, and little afterwards.
 */
#define PROCESS_BURST_BYTES ((int64_t)(32 * MIB))
#define PROCESS_BYTES_PER_S (2 * MIB)
#define TOTAL_BURST_BYTES   ((int64_t)(64 * MIB))
#define TOTAL_BYTES_PER_S   (8 * MIB)

/* Most ranges of all files: 6 MiB. */
#define MAX_RANGES ((size_t)(256 * KIB))

struct job {
	struct jit_names *names;
	uint32_t number; /* of the process */
};

/* A file, or a process whose files could not be opened. */
struct failure_id {
	uint64_t device, inode;
};

/* In place of a device, for a process. */
#define NO_DEVICE UINT64_MAX

static void next_file(struct jit_process *process);
static void name_file(struct jit_process *process);

static void finish(struct jit_process *process)
{
	process->step = JIT_IDLE;
	process->names->n_busy--;
	process->names->stats.limited += process->is_limited;
}

/* Submits the request in names->message. False: it could not be submitted. */
static bool submit(struct jit_process *process, enum helper_kind kind, uint64_t timeout_ns,
		   helper_done done)
{
	struct jit_names *names = process->names;
	struct job *job = malloc(sizeof(*job));

	if (!job) {
		helper_message_close(&names->message);
		return false;
	}
	*job = (struct job){ .names = names, .number = process->number };
	if (helper_pool_submit(names->options.pool,
			       &(struct helper_job){ .kind = kind,
						     .timeout_ns = timeout_ns,
						     .done = done,
						     .forget = free,
						     .arg = job },
			       &names->message) == 0)
		return true;
	free(job);
	return false;
}

/* The process of a job that has ended; frees @arg. */
static struct jit_process *process_of(void *arg)
{
	struct job *job = arg;
	struct jit_process *process = jit_names_process(job->names, job->number);

	/* A process with a look-up is not removed. */
	assert(process);
	free(job);
	return process;
}

static uint64_t now_ns(const struct jit_process *process)
{
	return clock_monotonic_ns(process->names->options.clock);
}

static bool has_failed(struct jit_process *process, struct failure_id id)
{
	return avoid_list_has(process->names->avoided, &id, now_ns(process));
}

static void note_failure(struct jit_process *process, struct failure_id id)
{
	process->names->stats.failed++;
	avoid_list_add_failure(process->names->avoided, &id, now_ns(process));
}

static struct failure_id id_of(const struct jit_file *file)
{
	return (struct failure_id){ file->device, file->inode };
}

static struct failure_id id_of_process(const struct jit_process *process)
{
	return (struct failure_id){ NO_DEVICE, process->number };
}

static bool is_avoided(struct jit_process *process, const struct jit_file *file)
{
	return has_failed(process, id_of(file));
}

/* ---- open ---------------------------------------------------------------------------------- */

static void take_file(struct jit_file *file, int fd, const struct jit_file_facts *facts)
{
	if (fd < 0)
		return; /* the process has ended: what is open is read */
	if (file->fd < 0 || file->device != facts->device || file->inode != facts->inode)
		jit_file_clear(file);
	scoped_close(&file->fd);
	file->fd = fd;
	file->device = facts->device;
	file->inode = facts->inode;
}

static void read_files(struct jit_process *process)
{
	process->step = JIT_READING;
	process->format = 0;
	next_file(process);
}

static void on_opened(void *arg, int error, struct helper_message *answer)
{
	struct jit_process *process = process_of(arg);
	struct jit_finder_answer opened;
	int fds[JIT_FORMATS];

	if (error == 0 && jit_finder_answer_decode(answer, &opened, fds)) {
		for (size_t i = 0; i < JIT_FORMATS; i++) {
			take_file(&process->files[i], fds[i], &opened.files[i]);
			process->names->stats.refused += opened.files[i].is_refused != 0;
		}
	} else {
		/* Its root may be in a file system that does not answer. */
		note_failure(process, id_of_process(process));
	}
	read_files(process);
}

void jit_look_up(struct jit_process *process)
{
	if (process->step != JIT_IDLE)
		return;
	process->is_limited = false;
	process->lacks_names = false;
	process->step = JIT_OPENING;
	process->names->n_busy++;
	if (has_failed(process, id_of_process(process)))
		read_files(process);
	else if (!jit_finder_request_make(&process->source, &process->names->message) ||
		 !submit(process, HELPER_FINDER, FINDER_TIMEOUT_NS, on_opened))
		finish(process);
}

/* ---- read ---------------------------------------------------------------------------------- */

static void refill(struct jit_allowance *allowance, int64_t burst, uint64_t per_s, uint64_t time_ns)
{
	uint64_t passed_ns = MIN(time_ns - allowance->refilled_ns, 3600 * NSEC_PER_SEC);

	if (allowance->refilled_ns == 0)
		allowance->bytes = burst;
	else
		allowance->bytes =
			MIN(burst, allowance->bytes +
					   (int64_t)(passed_ns / NSEC_PER_MSEC * (per_s / 1000)));
	allowance->refilled_ns = time_ns;
}

/* Whether a piece of the file may be read now. */
static bool may_read(struct jit_process *process)
{
	struct jit_names *names = process->names;
	uint64_t time_ns = now_ns(process);

	refill(&process->allowance, PROCESS_BURST_BYTES, PROCESS_BYTES_PER_S, time_ns);
	refill(&names->allowance, TOTAL_BURST_BYTES, TOTAL_BYTES_PER_S, time_ns);
	return process->allowance.bytes > 0 && names->allowance.bytes > 0 &&
	       jit_names_n_ranges(names) < MAX_RANGES;
}

/* Adds a descriptor of the file to the request. */
static bool add_file(struct helper_message *message, const struct jit_file *file)
{
	message->fds[0] = dup(file->fd);
	message->n_fds = message->fds[0] >= 0;
	return message->n_fds == 1;
}

static void take_piece(struct jit_process *process, struct jit_file *file,
		       const struct jit_read_answer *answer)
{
	struct jit_names *names = process->names;
	uint64_t from = answer->restarted ? 0 : file->position.offset;
	uint64_t to = MAX(from, answer->next.offset);
	/* The bytes of code in a jitdump are skipped, not read. */
	uint64_t read = MIN(to - from, (uint64_t)JIT_PIECE_BYTES);
	uint64_t n_dropped = file->ranges.n_dropped;

	if (answer->restarted)
		jit_file_clear(file);
	file->position = answer->next;
	process->allowance.bytes -= (int64_t)read;
	names->allowance.bytes -= (int64_t)read;
	names->stats.bytes_read += read;
	(void)jit_ranges_add(&file->ranges, &names->codes);
	names->stats.dropped += file->ranges.n_dropped - n_dropped;
}

static bool read_piece(struct jit_process *process);

static void on_read(void *arg, int error, struct helper_message *answer)
{
	struct jit_process *process = process_of(arg);
	struct jit_file *file = &process->files[process->format];
	struct jit_read_answer read = {};
	uint64_t before = file->position.offset;
	int r = error;

	if (r == 0)
		r = jit_read_answer_decode(answer, &read, &process->names->codes);
	if (r < 0) {
		note_failure(process, id_of(file));
	} else {
		take_piece(process, file, &read);
		if (!read.at_end && (read.restarted || read.next.offset > before) &&
		    read_piece(process))
			return;
	}
	process->format++;
	next_file(process);
}

/* Submits the reading of the next piece. False: it must not be read, or could not be submitted. */
static bool read_piece(struct jit_process *process)
{
	struct helper_message *message = &process->names->message;
	struct jit_file *file = &process->files[process->format];
	const struct jit_read_request request = {
		.operation = PARSER_JIT_READ,
		.format = (uint32_t)process->format,
		.from = file->position,
	};

	if (!may_read(process)) {
		process->is_limited = true;
		return false;
	}
	memcpy(message->bytes, &request, sizeof(request));
	message->size = sizeof(request);
	return add_file(message, file) &&
	       submit(process, HELPER_PARSER, PARSER_TIMEOUT_NS, on_read);
}

/* Reads the next file that is open; after the last one, asks for names. */
static void next_file(struct jit_process *process)
{
	for (; process->format < JIT_FORMATS; process->format++) {
		struct jit_file *file = &process->files[process->format];

		if (file->fd >= 0 && !is_avoided(process, file) && read_piece(process))
			return;
	}
	for (size_t i = 0; i < JIT_FORMATS; i++) {
		struct jit_ranges *ranges = &process->files[i].ranges;
		uint64_t n_dropped = ranges->n_dropped;

		(void)jit_ranges_commit(ranges);
		process->names->stats.dropped += ranges->n_dropped - n_dropped;
	}
	process->step = JIT_NAMING;
	process->format = 0;
	name_file(process);
}

/* ---- names --------------------------------------------------------------------------------- */

static void on_named(void *arg, int error, struct helper_message *answer)
{
	struct jit_process *process = process_of(arg);
	struct jit_file *file = &process->files[process->format];
	int n_names = error == 0 ? jit_file_take_names(process, file, answer) : error;

	jit_file_forget_asked(process, file);
	if (n_names < 0)
		note_failure(process, id_of(file));
	/* An answer holds a part of the names. */
	if (n_names <= 0)
		process->format++;
	name_file(process);
}

static bool ask_names(struct jit_process *process, struct jit_file *file)
{
	struct helper_message *message = &process->names->message;
	const struct jit_names_request request = {
		.operation = PARSER_JIT_NAMES,
		.format = (uint32_t)process->format,
		.n_wanted = (uint32_t)process->n_asked,
	};

	memcpy(message->bytes, &request, sizeof(request));
	message->size = sizeof(request);
	for (size_t i = 0; i < process->n_asked; i++) {
		const struct jit_wanted wanted = jit_wanted_of(process->asked[i]);

		memcpy(message->bytes + message->size, &wanted, sizeof(wanted));
		message->size += sizeof(wanted);
	}
	return add_file(message, file) &&
	       submit(process, HELPER_PARSER, PARSER_TIMEOUT_NS, on_named);
}

/* Asks for the names of the next file that lacks some. */
static void name_file(struct jit_process *process)
{
	for (; process->format < JIT_FORMATS; process->format++) {
		struct jit_file *file = &process->files[process->format];

		if (file->fd < 0 || is_avoided(process, file))
			continue;
		jit_file_ask(process, file);
		if (process->n_asked == 0)
			continue;
		if (ask_names(process, file))
			return;
		jit_file_forget_asked(process, file);
	}
	finish(process);
}
