/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk is a file made by the kernel for it (a task iterator): reading runs the program on one thread after the other
 * and gives what it wrote, whole records, as much as fits into the kernel's buffer of 32 KiB at a time.
 */
#include "agent/profile/off_cpu.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"

/* More than the kernel gives at once, so that it is not us who cut a record. */
#define BUFFER_BYTES (96 * KIB)

static_assert(2 * sizeof(struct abi_stack_copy) < BUFFER_BYTES, "a record that is cut must fit, and the rest of it");

struct off_cpu {
	struct bpf_programs *programs;
	struct off_cpu_stats stats;
	uint8_t *buffer;
};

int off_cpu_start(struct bpf_programs *programs, struct off_cpu **ret_off_cpu)
{
	scoped(off_cpu_freep) struct off_cpu *off_cpu = calloc(1, sizeof(*off_cpu));
	int r;

	if (!off_cpu)
		return -ENOMEM;
	off_cpu->programs = programs;
	off_cpu->buffer = malloc(BUFFER_BYTES);
	if (!off_cpu->buffer)
		return -ENOMEM;
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
	if (sample->flags & (ABI_SAMPLE_FULL | ABI_SAMPLE_STANDS))
		return -EBADMSG;
	if (sample->flags & ABI_SAMPLE_COPIED) {
		const struct abi_stack_copy *copy = (const struct abi_stack_copy *)sample;

		size = offsetof(struct abi_stack_copy, stack);
		if (view->size < size)
			return 0;
		if (copy->stack_bytes > sizeof(copy->stack))
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

/* All whole records of the buffer; what is left goes to its beginning. */
static int hand_over(struct off_cpu *off_cpu, const struct off_cpu_reader *reader, size_t *n_bytes,
		     uint64_t *n_waits)
{
	const struct bpf_record_functions *functions = &reader->functions;
	struct bytes_view view = { .data = off_cpu->buffer, .size = *n_bytes };
	const struct abi_sample *sample;
	int r;

	r = reader->before_records(functions->arg);
	if (r < 0)
		return r;
	while ((r = off_cpu_next_record(&view, &sample)) > 0) {
		*n_waits += sample->value > 0;
		if (sample->flags & ABI_SAMPLE_COPIED)
			r = functions->stack_copy(functions->arg, (const struct abi_stack_copy *)sample);
		else
			r = functions->sample(functions->arg, sample, NULL);
		if (r < 0)
			return r;
	}
	memmove(off_cpu->buffer, view.data, view.size);
	*n_bytes = view.size;
	return r;
}

static uint64_t own_cpu_ns(void)
{
	struct timespec time = {};

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * NSEC_PER_SEC + (uint64_t)time.tv_nsec;
}

static int read_walk(struct off_cpu *off_cpu, int fd, const struct off_cpu_reader *reader, uint64_t *n_waits)
{
	size_t n_bytes = 0;

	for (;;) {
		uint64_t began_ns = own_cpu_ns();
		ssize_t n_read = read(fd, off_cpu->buffer + n_bytes, BUFFER_BYTES - n_bytes);
		int r;

		off_cpu->stats.walk_cpu_ns += own_cpu_ns() - began_ns;
		if (n_read < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n_read < 0)
			return -errno;
		if (n_read == 0)
			return n_bytes ? -EBADMSG : 0;
		n_bytes += (size_t)n_read;
		r = hand_over(off_cpu, reader, &n_bytes, n_waits);
		if (r < 0)
			return r;
	}
}

int off_cpu_walk(struct off_cpu *off_cpu, bool reports, const struct off_cpu_reader *reader)
{
	scoped_fd int fd = bpf_programs_open_walk(off_cpu->programs, reports);
	uint64_t n_waits = 0;
	int r;

	if (fd < 0)
		return fd;
	r = read_walk(off_cpu, fd, reader, &n_waits);
	if (reports)
		off_cpu->stats.open_waits = n_waits;
	return r;
}
