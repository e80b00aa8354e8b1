/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk is a file of the kernel (a task iterator). Reading it runs the BPF program once for each
 * thread of the host, and returns the records that the program wrote.
 */
#include "agent/event/off_cpu/wait_walker.h"

#include <stdlib.h>
#include "agent/event/off_cpu/walk_thread.h"
#include "common/log.h"

/* Holds the beginning of an incomplete record, and the next bytes of the walk. */
#define BUFFER_BYTES (96 * KIB)

static_assert(2 * (sizeof(struct abi_stack_copy) + ABI_WALKED_STACK_BYTES) < BUFFER_BYTES,
	      "a record that is cut must fit, and the rest of it");

/*
 * The kernel returns the next bytes of a walk within milliseconds. If it does not, it waits for a
 * page of some process. Then the agent closes the window and continues the walk later.
 */
#define WALK_PATIENCE_NS NSEC_PER_SEC

/* The walk in progress. */
struct walk {
	bool reports;
	bool is_late; /* the thread did not return bytes within WALK_PATIENCE_NS */
	uint64_t n_waits;
	size_t n_bytes; /* bytes in the buffer: the beginning of an incomplete record */
	/* error of a record that could not be passed on; the rest of the walk is discarded */
	int error;
};

struct wait_walker {
	struct bpf_programs *programs;
	struct walk_thread *thread;
	struct wait_walker_stats stats;
	struct walk walk;
	uint8_t *buffer;
};

int wait_walker_new(struct bpf_programs *programs, bool keep_capabilities,
		    struct wait_walker **ret_walker)
{
	scoped(wait_walker_freep) struct wait_walker *walker = calloc(1, sizeof(*walker));
	int r;

	if (walker)
		walker->buffer = malloc(BUFFER_BYTES);
	if (!walker || !walker->buffer)
		return log_error_errno(ENOMEM,
				       "cannot make the buffer of walks: %m, not starting; raise "
				       "the memory limit of the service or container");
	walker->programs = programs;
	r = walk_thread_new(keep_capabilities, &walker->thread);
	if (r < 0)
		return log_error_errno(r, "cannot start the thread that reads open waits: %m");
	*ret_walker = take_ptr(walker);
	return 0;
}

struct wait_walker *wait_walker_free(struct wait_walker *walker)
{
	if (!walker)
		return NULL;
	walk_thread_free(walker->thread);
	free(walker->buffer);
	free(walker);
	return NULL;
}

void wait_walker_stats(const struct wait_walker *walker, struct wait_walker_stats *ret_stats)
{
	*ret_stats = walker->stats;
}

int wait_walker_next_record(struct bytes_view *view, const struct abi_sample **ret_sample)
{
	const struct abi_sample *sample = (const struct abi_sample *)view->data;
	size_t size = sizeof(*sample);

	if (view->size < size)
		return 0;
	if (sample->flags & (ABI_SAMPLE_FULL | ABI_SAMPLE_WITH_WAIT))
		return -EBADMSG;
	if (sample->flags & ABI_SAMPLE_COPIED) {
		const struct abi_stack_copy *copy = (const struct abi_stack_copy *)sample;

		size = offsetof(struct abi_stack_copy, stack);
		if (view->size < size)
			return 0;
		if (copy->stack_bytes > ABI_WALKED_STACK_BYTES)
			return -EBADMSG;
		size += copy->stack_bytes;
	}
	if (view->size < size)
		return 0;
	*ret_sample = sample;
	view->data += size;
	view->size -= size;
	return (int)size;
}

/*
 * Passes all complete records of the buffer to @reader, and moves the rest to the buffer's
 * beginning.
 */
static int hand_over(struct wait_walker *walker, const struct wait_walker_reader *reader)
{
	const struct bpf_record_functions *functions = &reader->functions;
	struct walk *walk = &walker->walk;
	struct bytes_view view = { .data = walker->buffer, .size = walk->n_bytes };
	const struct abi_sample *sample;
	int r;

	r = reader->before_records(reader->arg);
	if (r < 0)
		return r;
	while ((r = wait_walker_next_record(&view, &sample)) > 0) {
		walk->n_waits += sample->value > 0;
		if (sample->flags & ABI_SAMPLE_COPIED)
			r = functions->stack_copy(functions->arg,
						  (const struct abi_stack_copy *)sample);
		else
			r = functions->sample(functions->arg, sample, NULL);
		if (r < 0)
			return r;
	}
	memmove(walker->buffer, view.data, view.size);
	walk->n_bytes = view.size;
	return r;
}

static int take_bytes(struct wait_walker *walker, const uint8_t *bytes, size_t n_bytes,
		      const struct wait_walker_reader *reader)
{
	assert(n_bytes <= BUFFER_BYTES - walker->walk.n_bytes);
	memcpy(walker->buffer + walker->walk.n_bytes, bytes, n_bytes);
	walker->walk.n_bytes += n_bytes;
	return hand_over(walker, reader);
}

static int finish_walk(struct wait_walker *walker)
{
	const struct walk walk = walker->walk;

	walker->walk = (struct walk){};
	if (walk.is_late)
		log_info("the walk over waiting threads continues");
	if (walk.error < 0 || walk.n_bytes)
		return walk.error < 0 ? walk.error : -EBADMSG;
	if (walk.reports)
		walker->stats.open_waits = walk.n_waits;
	return 0;
}

static void note_late(struct wait_walker *walker)
{
	if (walker->walk.is_late)
		return;
	walker->walk.is_late = true;
	walker->stats.late_walks++;
	log_warn("the walk over waiting threads hangs: the kernel waits for a page of a process's "
		 "stack; open waits are reported when it continues");
}

/*
 * Passes the records of the walk to @reader up to its end. -EINPROGRESS: the reading thread hangs.
 */
static int continue_walk(struct wait_walker *walker, const struct wait_walker_reader *reader)
{
	uint64_t patience_ns = walker->walk.is_late ? 0 : WALK_PATIENCE_NS;
	const uint8_t *bytes;
	ssize_t n_read;
	int r;

	for (;;) {
		n_read = walk_thread_next(walker->thread, patience_ns, &bytes);
		walker->stats.walk_cpu_ns = walk_thread_cpu_ns(walker->thread);
		if (n_read == 0)
			return finish_walk(walker);
		if (n_read == -EINPROGRESS)
			note_late(walker);
		else if (n_read < 0)
			walker->walk = (struct walk){};
		if (n_read < 0)
			return (int)n_read;
		r = walker->walk.error < 0 ? 0 : take_bytes(walker, bytes, (size_t)n_read, reader);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			walker->walk.error = r;
		patience_ns = WALK_PATIENCE_NS;
	}
}

/*
 * The records have the format of the ring buffer and follow one another; a copied stack is followed
 * by the next record directly after its stack_bytes.
 */
static int open_walk(struct bpf_programs *programs, bool reports)
{
	bool is_fast = bpf_programs_fd(programs, WAIT_WALK_PROGRAM) < 0;

	__atomic_store_n(&bpf_programs_control(programs)->walk_reports, reports, __ATOMIC_RELAXED);
	return bpf_programs_open_iterator(programs,
					  is_fast ? WAIT_WALK_PROGRAM_FAST : WAIT_WALK_PROGRAM);
}

int wait_walker_walk(struct wait_walker *walker, bool reports,
		     const struct wait_walker_reader *reader)
{
	int r = 0;

	if (walk_thread_is_busy(walker->thread))
		r = continue_walk(walker, reader);
	if (r == 0) {
		int fd = open_walk(walker->programs, reports);

		if (fd < 0)
			return fd;
		walk_thread_begin_take(walker->thread, fd);
		walker->walk.reports = reports;
		r = continue_walk(walker, reader);
	}
	return r == -EINPROGRESS ? 0 : r;
}
