/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/publish/copy_unwinder.h"

#include <stdlib.h>
#include <string.h>

#include "agent/sample/copied_stack.h"
#include "bpf/host/host_unwind.h"
#include "common/event_type.h"
#include "common/frame.h"

/* Number of the mapping set, which only the unwinder on the host reads. */
#define LOCAL_SET 1

VEC_DEFINE(chunk_vec, struct abi_mapping_chunk);

struct copy_unwinder {
	const struct abi_config *config;
	struct mapping_publisher *publisher;
	struct unwind_publisher *tables;
	const struct collector *collector;
	struct host_unwind_tables view; /* of tables */
	struct host_unwind_output output;
	uint64_t counters[ABI_COUNTER_COUNT]; /* of all copies */
	/* Mappings of the process of the current copy. */
	struct mapping_set set;
	struct chunk_vec chunks;
	struct abi_mapping_chunk directory;
	/* The result. Frames follow the header, as in a record of the ring buffer. */
	struct abi_sample sample;
	struct abi_frame frames[ABI_MAX_FRAMES];
};

int copy_unwinder_new(const struct copy_unwinder_options *options,
		      struct copy_unwinder **ret_unwinder)
{
	struct copy_unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (!unwinder)
		return -ENOMEM;
	unwinder->config = options->config;
	unwinder->publisher = options->publisher;
	unwinder->tables = options->tables;
	unwinder->collector = options->collector;
	*ret_unwinder = unwinder;
	return 0;
}

struct copy_unwinder *copy_unwinder_free(struct copy_unwinder *unwinder)
{
	if (!unwinder)
		return NULL;
	mapping_set_release(&unwinder->set);
	vec_release(&unwinder->chunks);
	free(unwinder);
	return NULL;
}

#if defined(__aarch64__)
#define host_unwind host_unwind_arm64
#else
#define host_unwind host_unwind_x86
#endif

static int read_copy(void *arg, uint64_t address, void *buffer, size_t size)
{
	return copied_stack_read(arg, address, buffer, size);
}

/* Makes the entry and chunks that the maps would hold for @process. False: it has none. */
static bool describe_mappings(struct copy_unwinder *unwinder, const struct process *process,
			      struct abi_process *ret_entry)
{
	uint32_t n_chunks;

	if (!process->mappings || mapping_set_fill(&unwinder->set, process->mappings) < 0)
		return false;
	n_chunks = mapping_set_n_chunks(&unwinder->set);
	vec_clear(&unwinder->chunks);
	if (n_chunks == 0 || vec_reserve(&unwinder->chunks, n_chunks) < 0)
		return false;
	for (uint32_t i = 0; i < n_chunks; i++)
		mapping_set_chunk(&unwinder->set, LOCAL_SET, i, &unwinder->chunks.items[i]);
	unwinder->chunks.count = n_chunks;
	if (n_chunks > 1)
		mapping_set_chunk(&unwinder->set, LOCAL_SET, ABI_DIRECTORY, &unwinder->directory);
	*ret_entry = (struct abi_process){ .set = LOCAL_SET, .n_chunks = n_chunks };
	return true;
}

/* A process without mappings is unwound too: by frame pointers, with raw pcs as frames. */
static void fill_input(struct copy_unwinder *unwinder, const struct abi_stack_copy *copy,
		       const struct process *process, struct abi_process *entry,
		       struct host_unwind_input *ret_input)
{
	*ret_input = (struct host_unwind_input){
		.config = unwinder->config,
		.registers.pc = copy->pc,
		.read = read_copy,
		.read_argument = (void *)copy,
		.process = {
			.pid = copy->header.pid,
			.tid = copy->header.tid,
			.exec_count = copy->header.exec_count,
			.start_time_ns = copy->header.start_time_ns,
		},
	};
	static_assert(HOST_UNWIND_MAX_REGISTERS == ARRAY_SIZE(copy->general), "one array for both");
	memcpy(ret_input->registers.general, copy->general, sizeof(copy->general));
	if (collector_excludes(unwinder->collector, process, copy->header.event_type) ||
	    !describe_mappings(unwinder, process, entry))
		return;
	/* The mappings are those of the image that was sampled, so the entry must match it. */
	entry->exec_count = copy->header.exec_count;
	entry->start_time_10ms = copy->header.start_time_ns / (10 * NSEC_PER_MSEC);
	ret_input->process.entry = entry;
	ret_input->process.chunks = unwinder->chunks.items;
	ret_input->process.n_chunks = entry->n_chunks;
	ret_input->process.directory = &unwinder->directory;
}

/* Joins the kernel frames of @copy and the user frames that were unwound. */
static void put_together(struct copy_unwinder *unwinder, const struct abi_stack_copy *copy)
{
	const struct host_unwind_output *output = &unwinder->output;
	struct abi_sample *sample = &unwinder->sample;
	size_t n_kernel_frames = MIN(copy->header.n_kernel_frames, ABI_MAX_KERNEL_FRAMES);
	size_t n_user_frames = MIN(output->header.n_user_frames, ABI_MAX_FRAMES - n_kernel_frames);

	*sample = copy->header;
	sample->flags &= (uint8_t) ~(ABI_SAMPLE_COPIED | ABI_SAMPLE_UNKNOWN);
	sample->flags |= ABI_SAMPLE_FULL | (output->header.flags & ABI_SAMPLE_UNRESOLVED);
	sample->n_kernel_frames = (uint16_t)n_kernel_frames;
	sample->n_user_frames = (uint16_t)n_user_frames;
	sample->cut = output->header.cut;
	/* The fault was the end of the copy, not an absent page. */
	if (sample->cut == STACK_CUT_READ_FAULT)
		sample->cut = STACK_CUT_UNKNOWN;
	/* Without the missing rows, frame pointers may have led to a false end. */
	if (sample->cut == STACK_CUT_NONE && output->n_missing > 0)
		sample->cut = STACK_CUT_NO_ROW;
	memcpy(unwinder->frames, copy->kernel_frames, n_kernel_frames * sizeof(*unwinder->frames));
	memcpy(unwinder->frames + n_kernel_frames, output->frames,
	       n_user_frames * sizeof(*unwinder->frames));
}

static void count_outcome(struct copy_unwinder *unwinder)
{
	uint64_t *counters = unwinder->output.counters;

	counters[ABI_COUNTER_CUT_UNKNOWN] = counters[ABI_COUNTER_CUT_READ_FAULT];
	counters[ABI_COUNTER_CUT_READ_FAULT] = 0;
	counters[ABI_COUNTER_NO_TABLE] = unwinder->output.n_missing;
	for (size_t i = ABI_COUNTER_CUT_DEPTH; i <= ABI_COUNTER_NO_TABLE; i++)
		unwinder->counters[i] += counters[i];
}

const uint64_t *copy_unwinder_counters(const struct copy_unwinder *unwinder)
{
	return unwinder->counters;
}

/*
 * Unwinds until rows are missing, has them loaded, and begins again: unwinding a stack costs a
 * microsecond, and each load brings it further.
 */
static int unwind_with_rows(struct copy_unwinder *unwinder, struct host_unwind_input *input,
			    bool may_wait)
{
	struct host_unwind_output *output = &unwinder->output;

	unwind_publisher_view(unwinder->tables, &unwinder->view);
	input->tables = &unwinder->view;
	for (int n_loads = 0; n_loads <= ABI_MAX_USER_FRAMES; n_loads++) {
		int r = 0;

		host_unwind(input, output);
		if (output->n_missing > 0)
			r = unwind_publisher_load(unwinder->tables, output->missing_executable,
						  output->missing_address);
		if (r == -EINPROGRESS && may_wait)
			return r;
		if (r <= 0)
			break;
	}
	return 0;
}

int copy_unwinder_run(struct copy_unwinder *unwinder, const struct abi_stack_copy *copy,
		      struct process *process, bool may_wait, struct unwound_stack *ret_stack)
{
	struct host_unwind_input input;
	struct abi_process entry;
	int r;

	/* Also for a process that has exited: its mappings are kept for late samples. */
	mapping_publisher_prepare(unwinder->publisher, process);
	fill_input(unwinder, copy, process, &entry, &input);
	r = unwind_with_rows(unwinder, &input, may_wait);
	if (r < 0) {
		ret_stack->waits_for = unwinder->output.missing_executable;
		return r;
	}
	count_outcome(unwinder);
	put_together(unwinder, copy);
	*ret_stack =
		(struct unwound_stack){ .sample = &unwinder->sample, .frames = unwinder->frames };
	return 0;
}

void copy_unwinder_join(struct copy_unwinder *unwinder, const struct collector_stack *began)
{
	struct abi_sample *sample = &unwinder->sample;
	const struct abi_frame *user_frames = unwinder->frames + sample->n_kernel_frames;
	size_t n_kernel_frames = began->n_kernel_frames;
	size_t n_user_frames = sample->n_user_frames;

	if (sample->cut != STACK_CUT_NONE && n_user_frames <= began->n_user_frames) {
		user_frames = began->frames + n_kernel_frames;
		n_user_frames = began->n_user_frames;
		sample->cut = began->cut;
	}
	n_user_frames = MIN(n_user_frames, ABI_MAX_FRAMES - n_kernel_frames);
	memmove(unwinder->frames + n_kernel_frames, user_frames,
		n_user_frames * sizeof(*user_frames));
	memcpy(unwinder->frames, began->frames, n_kernel_frames * sizeof(*began->frames));
	sample->n_kernel_frames = (uint16_t)n_kernel_frames;
	sample->n_user_frames = (uint16_t)n_user_frames;
}
