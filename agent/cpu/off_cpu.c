/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk is a file of the kernel (a task iterator). Reading it runs the BPF program once for each
 * thread of the host, and returns the records that the program wrote.
 */
#include "agent/cpu/off_cpu.h"

#include <stdlib.h>
#include "agent/cpu/walk_thread.h"
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

struct off_cpu {
	struct bpf_programs *programs;
	struct walk_thread *thread;
	struct off_cpu_stats stats;
	struct walk walk;
	uint8_t *buffer;
};

int off_cpu_start(struct bpf_programs *programs, bool keep_capabilities,
		  struct off_cpu **ret_off_cpu)
{
	scoped(off_cpu_freep) struct off_cpu *off_cpu = calloc(1, sizeof(*off_cpu));
	int r;

	if (off_cpu)
		off_cpu->buffer = malloc(BUFFER_BYTES);
	if (!off_cpu || !off_cpu->buffer)
		return log_error_errno(ENOMEM,
				       "cannot make the buffer of walks: %m, not starting; raise "
				       "the memory limit of the service or container");
	off_cpu->programs = programs;
	r = walk_thread_new(keep_capabilities, &off_cpu->thread);
	if (r < 0)
		return log_error_errno(r, "cannot start the thread that reads open waits: %m");
	r = bpf_programs_attach_off_cpu(programs);
	if (r < 0)
		return r;
	*ret_off_cpu = take_ptr(off_cpu);
	return 0;
}

struct off_cpu *off_cpu_free(struct off_cpu *off_cpu)
{
	if (!off_cpu)
		return NULL;
	walk_thread_free(off_cpu->thread);
	free(off_cpu->buffer);
	free(off_cpu);
	return NULL;
}

void off_cpu_stats(const struct off_cpu *off_cpu, struct off_cpu_stats *ret_stats)
{
	*ret_stats = off_cpu->stats;
}

int off_cpu_next_record(struct bytes_view *view, const struct abi_sample **ret_sample)
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
static int hand_over(struct off_cpu *off_cpu, const struct off_cpu_reader *reader)
{
	const struct bpf_record_functions *functions = &reader->functions;
	struct walk *walk = &off_cpu->walk;
	struct bytes_view view = { .data = off_cpu->buffer, .size = walk->n_bytes };
	const struct abi_sample *sample;
	int r;

	r = reader->before_records(functions->arg);
	if (r < 0)
		return r;
	while ((r = off_cpu_next_record(&view, &sample)) > 0) {
		walk->n_waits += sample->value > 0;
		if (sample->flags & ABI_SAMPLE_COPIED)
			r = functions->stack_copy(functions->arg,
						  (const struct abi_stack_copy *)sample);
		else
			r = functions->sample(functions->arg, sample, NULL);
		if (r < 0)
			return r;
	}
	memmove(off_cpu->buffer, view.data, view.size);
	walk->n_bytes = view.size;
	return r;
}

static int take_bytes(struct off_cpu *off_cpu, const uint8_t *bytes, size_t n_bytes,
		      const struct off_cpu_reader *reader)
{
	assert(n_bytes <= BUFFER_BYTES - off_cpu->walk.n_bytes);
	memcpy(off_cpu->buffer + off_cpu->walk.n_bytes, bytes, n_bytes);
	off_cpu->walk.n_bytes += n_bytes;
	return hand_over(off_cpu, reader);
}

static int finish_walk(struct off_cpu *off_cpu)
{
	const struct walk walk = off_cpu->walk;

	off_cpu->walk = (struct walk){};
	if (walk.is_late)
		log_info("the walk over waiting threads continues");
	if (walk.error < 0 || walk.n_bytes)
		return walk.error < 0 ? walk.error : -EBADMSG;
	if (walk.reports)
		off_cpu->stats.open_waits = walk.n_waits;
	return 0;
}

static void note_late(struct off_cpu *off_cpu)
{
	if (off_cpu->walk.is_late)
		return;
	off_cpu->walk.is_late = true;
	off_cpu->stats.late_walks++;
	log_warn("the walk over waiting threads hangs: the kernel waits for a page of a process's "
		 "stack; open waits are reported when it continues");
}

/*
 * Passes the records of the walk to @reader up to its end. -EINPROGRESS: the reading thread hangs.
 */
static int continue_walk(struct off_cpu *off_cpu, const struct off_cpu_reader *reader)
{
	uint64_t patience_ns = off_cpu->walk.is_late ? 0 : WALK_PATIENCE_NS;
	const uint8_t *bytes;
	ssize_t n_read;
	int r;

	for (;;) {
		n_read = walk_thread_next(off_cpu->thread, patience_ns, &bytes);
		off_cpu->stats.walk_cpu_ns = walk_thread_cpu_ns(off_cpu->thread);
		if (n_read == 0)
			return finish_walk(off_cpu);
		if (n_read == -EINPROGRESS)
			note_late(off_cpu);
		else if (n_read < 0)
			off_cpu->walk = (struct walk){};
		if (n_read < 0)
			return (int)n_read;
		r = off_cpu->walk.error < 0 ? 0
					    : take_bytes(off_cpu, bytes, (size_t)n_read, reader);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			off_cpu->walk.error = r;
		patience_ns = WALK_PATIENCE_NS;
	}
}

int off_cpu_walk(struct off_cpu *off_cpu, bool reports, const struct off_cpu_reader *reader)
{
	int r = 0;

	if (walk_thread_is_busy(off_cpu->thread))
		r = continue_walk(off_cpu, reader);
	if (r == 0) {
		int fd = bpf_programs_open_walk(off_cpu->programs, reports);

		if (fd < 0)
			return fd;
		walk_thread_begin_take(off_cpu->thread, fd);
		off_cpu->walk.reports = reports;
		r = continue_walk(off_cpu, reader);
	}
	return r == -EINPROGRESS ? 0 : r;
}
