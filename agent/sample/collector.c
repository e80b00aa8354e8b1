/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds samples to the open window. The frames of a stack arrive once per window, and afterwards
 * only its hash (collector_stacks.c). So the work per sample is three hash look-ups and one row.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/sample/collector_internal.h"
#include "bpf/abi/mapping.h"
#include "common/frame.h"

/* A window is closed early when its frames, of 16 bytes each, use this much memory. */
#define WINDOW_FULL_BYTES (8 * MIB)

/* 32 bytes each. 256 Ki rows are enough for 512 CPUs at 99 Hz for 5 s. */
#define WINDOW_FULL_ROWS (256 * 1024)

/* Memory for the definitions of one closed window. */
#define CLOSE_ARENA_BYTES (64 * MIB)

int collector_new(const struct collector_options *options, struct collector **ret_collector)
{
	scoped(collector_freep) struct collector *collector = calloc(1, sizeof(*collector));
	int r;

	if (!collector)
		return -ENOMEM;
	collector->options = *options;
	collector->window = 1;
	r = definitions_init(&collector->definitions);
	if (r < 0)
		return r;
	r = collector_init_stacks(collector);
	if (r < 0)
		return r;
	r = hash_table_new(sizeof(uint32_t), sizeof(struct process *), 0, &collector->processes);
	if (r < 0)
		return r;
	r = hash_table_new(sizeof(struct process_stack), 0, 0, &collector->process_stacks);
	if (r < 0)
		return r;
	r = arena_new(CLOSE_ARENA_BYTES, &collector->close_arena);
	if (r < 0)
		return r;
	*ret_collector = take_ptr(collector);
	return 0;
}

struct collector *collector_free(struct collector *collector)
{
	if (!collector)
		return NULL;
	definitions_release(&collector->definitions);
	collector_release_stacks(collector);
	vec_release(&collector->rows);
	hash_table_free(collector->processes);
	hash_table_free(collector->process_stacks);
	arena_free(collector->close_arena);
	free(collector);
	return NULL;
}

void collector_set_code_namer(struct collector *collector, const struct code_namer *namer)
{
	collector->namer = *namer;
}

struct definitions *collector_definitions(struct collector *collector)
{
	return &collector->definitions;
}

void collector_stats(const struct collector *collector, struct collector_stats *ret_stats)
{
	*ret_stats = collector->stats;
	ret_stats->numbers_evicted = collector->definitions.n_evicted;
}

uint64_t collector_window(const struct collector *collector)
{
	return collector->window;
}

bool collector_is_full(const struct collector *collector)
{
	return collector->rows.count >= WINDOW_FULL_ROWS ||
	       arena_used_bytes(collector->open.arena) >= WINDOW_FULL_BYTES;
}

/* Notes the paths of the stack's executables, once per process, stack and window. */
static int note_paths(struct collector *collector, struct process *process,
		      const struct open_stack *stack)
{
	struct process_stack key = { .process = process->number, .stack = stack->number };
	uint32_t last = 0;
	int r;

	r = hash_table_insert(collector->process_stacks, &key, NULL);
	if (r <= 0)
		return r;
	for (uint32_t i = 0; i < stack->n_frames; i++) {
		const struct window_frame *frame = &stack->frames[i];

		if (frame->object & FRAME_CODE_OBJECT) {
			code_objects_use(frame_resolver_code_objects(collector->options.frames),
					 frame->object & ~FRAME_CODE_OBJECT);
			continue;
		}
		if (frame_kind_is_kernel(frame->kind) || frame->object == 0 ||
		    frame->object == last)
			continue;
		last = frame->object;
		r = process_table_note_path(process, frame->object);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Finds the number of the sample's stack. 0: the sample is counted without a stack. */
static int stack_of(struct collector *collector, struct process *process,
		    const struct abi_sample *sample, const struct abi_frame *frames,
		    uint32_t *ret_number)
{
	struct open_stack *stack;
	uint32_t index;
	int r;

	*ret_number = 0;
	if (sample->flags & ABI_SAMPLE_WITHOUT_STACK ||
	    sample->n_kernel_frames + sample->n_user_frames == 0)
		return 0;
	if (sample->flags & ABI_SAMPLE_FULL) {
		r = collector_add_stack(collector, process, sample, frames, &index);
	} else {
		r = collector_stack_by_hash(collector, process, sample, &index);
		if (r == 0) {
			collector->stats.stacks_lost++;
			return 0;
		}
	}
	if (r < 0) {
		collector->stats.stacks_dropped++;
		return r == -ENOMEM ? 0 : r;
	}
	/*
	 * The kernel side had not received yet that this process is excluded. The stack is added
	 * nevertheless, because other samples may refer to it.
	 */
	if (collector_excludes(collector, process, sample->event_type))
		return 0;
	stack = &collector->open.stacks.items[index];
	stack->n_samples++;
	*ret_number = stack->n_frames > 0 ? stack->number : 0;
	return note_paths(collector, process, stack);
}

struct event_fold *collector_fold(struct collector *collector, enum event_type type)
{
	assert(type < EVENT_TYPE_END);
	return &collector->folds[type];
}

bool collector_excludes(const struct collector *collector, const struct process *process,
			unsigned int type)
{
	assert(type < EVENT_TYPE_END);
	return (process->excluded & collector->folds[type].excluded_flag) != 0;
}

int collector_series(struct collector *collector, const struct folded_sample *sample,
		     enum event_type type, uint32_t *ret_number)
{
	const struct abi_sample *header = sample->header;
	const struct event_fold *fold = &collector->folds[type];
	struct series_key key = {
		.process = sample->process->number,
		.tid = header->tid,
		.cpu = fold->keep_cpus_apart ? (int32_t)header->cpu : -1,
		.type = type,
		.period_ns = fold->period_ns,
	};
	struct series_number *series;
	int r;

	static_assert(sizeof(key.thread_name) == sizeof(header->comm), "both hold a comm");
	memcpy(key.thread_name, header->comm, strnlen(header->comm, sizeof(header->comm) - 1));
	r = definitions_series(&collector->definitions, &key, collector->window, &series);
	if (r < 0)
		return r;
	*ret_number = series->number;
	return 0;
}

static int find_image(struct collector *collector, const struct abi_sample *sample,
		      struct process **ret_process)
{
	char comm[ABI_COMM_SIZE + 1] = "";
	struct process *process;
	int r;

	memcpy(comm, sample->process_comm,
	       strnlen(sample->process_comm, sizeof(sample->process_comm)));
	r = process_table_find(
		collector->options.processes, sample->pid, sample->parent_pid,
		sample->start_time_ns, comm,
		sample->flags & ABI_SAMPLE_KERNEL_THREAD && sample->pid == sample->tid, &process);
	if (r < 0)
		return r;
	r = process_table_check_execs(collector->options.processes, process,
				      (uint16_t)(sample->exec_count / ABI_EXEC_STEP),
				      sample->time_ns, comm, &process);
	if (r < 0)
		return r;
	collector->stats.execs_missed += (uint64_t)r;
	*ret_process =
		process_table_image_at(collector->options.processes, process, sample->time_ns);
	return 0;
}

int collector_image(struct collector *collector, const struct abi_sample *sample,
		    struct process **ret_process)
{
	int r = find_image(collector, sample, ret_process);

	if (r == 0)
		(*ret_process)->last_window = collector->window;
	return r;
}

int collector_process(struct collector *collector, const struct abi_sample *sample,
		      struct process **ret_process)
{
	struct process *process;
	int r;

	r = find_image(collector, sample, &process);
	if (r < 0)
		return r;
	r = process_table_note_cgroups(collector->options.processes, process, sample->cgroups,
				       sample->time_ns);
	if (r < 0)
		return r;
	if (!process->details_read || process->last_window != collector->window)
		process_table_read_details(collector->options.processes, process);
	process->last_window = collector->window;
	/* The image and its exec count are those at the time of the sample. */
	process->exec_count = sample->exec_count;
	if (sample->flags & ABI_SAMPLE_UNKNOWN) {
		r = process_table_want_publish(collector->options.processes, process);
		if (r < 0)
			return r;
	}
	*ret_process = process;
	return 0;
}

int collector_add_row(struct collector *collector, const struct window_row *row, size_t *ret_index)
{
	if (ret_index)
		*ret_index = collector->rows.count;
	return vec_push(&collector->rows, *row);
}

int collector_add(struct collector *collector, const struct abi_sample *sample,
		  const struct abi_frame *frames)
{
	const struct event_fold *fold = collector_fold(collector, sample->event_type);
	struct folded_sample folded = {
		.header = sample,
		.payload = frames,
		.row = { .slot = sample->time_ns / SLOT_NS, .value = sample->value },
	};
	struct process *process;
	void *value;
	int r;

	r = collector_process(collector, sample, &process);
	if (r < 0)
		return r;
	if (process->excluded & fold->excluded_flag && !fold->counts_excluded)
		return 0;
	r = stack_of(collector, process, sample, frames, &folded.row.stack);
	if (r < 0 || sample->flags & ABI_SAMPLE_DEFINITION)
		return r;
	folded.process = process;
	r = collector_series(collector, &folded, sample->event_type, &folded.row.series);
	if (r < 0)
		return r;
	r = hash_table_insert(collector->processes, &process->number, &value);
	if (r < 0)
		return r;
	*(struct process **)value = process;
	collector->stats.samples++;
	return fold->add ? fold->add(fold->arg, collector, &folded)
			 : vec_push(&collector->rows, folded.row);
}

static void forget_sendings(void *arg, uint64_t *first_sent_sequence, bool all)
{
	const struct collector *collector = arg;

	if (all || *first_sent_sequence > collector->definitions.acknowledged_sequence)
		*first_sent_sequence = 0;
}

static int forget_process(void *arg, struct process *process)
{
	forget_sendings(arg, &process->first_sent_sequence, false);
	return 0;
}

static int forget_process_all(void *arg, struct process *process)
{
	forget_sendings(arg, &process->first_sent_sequence, true);
	return 0;
}

void collector_forget(struct collector *collector, bool all)
{
	definitions_forget(&collector->definitions, all);
	(void)process_table_each(collector->options.processes,
				 all ? forget_process_all : forget_process, collector);
	executable_cache_forget_sendings(collector->options.executables,
					 all ? 0 : collector->definitions.acknowledged_sequence);
	code_objects_forget_sendings(frame_resolver_code_objects(collector->options.frames),
				     all ? 0 : collector->definitions.acknowledged_sequence);
}
