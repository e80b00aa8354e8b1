/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples in. A stack comes in full once per window and by its hash afterwards, so the work per
 * sample is three hash lookups and one row.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/sample/collector_internal.h"
#include "bpf/abi/mapping.h"
#include "common/frame.h"
#include "common/hash.h"

/* Frames of one window: 16 bytes each. Above it the window is closed early. */
#define WINDOW_ARENA_BYTES (16 * MIB)
#define WINDOW_FULL_BYTES  (8 * MIB)

/* 32 bytes each; 512 CPUs at 99 Hz for 5 s. */
#define WINDOW_FULL_ROWS (256 * 1024)

/* Definitions handed out by one close. */
#define CLOSE_ARENA_BYTES (64 * MIB)

/* Time that one row of a wait may cover. */
#define WAIT_PIECE_NS NSEC_PER_SEC

/* A wait that began hours ago is an error of the clock; the server takes rows of the last hour. */
#define MAX_WAIT_PIECES 3600

static_assert(ABI_MAX_FRAMES <= STACK_MAX_FRAMES, "what the kernel side sends must fit the wire");

static int window_stacks_init(struct window_stacks *stacks)
{
	int r;

	r = arena_new(WINDOW_ARENA_BYTES, &stacks->arena);
	if (r < 0)
		return r;
	r = hash_table_new(sizeof(uint64_t), sizeof(uint32_t), 0, &stacks->by_sample_hash);
	if (r < 0)
		return r;
	return hash_table_new(sizeof(uint64_t), sizeof(uint32_t), 0, &stacks->by_content);
}

static void window_stacks_release(struct window_stacks *stacks)
{
	stacks->arena = arena_free(stacks->arena);
	stacks->by_sample_hash = hash_table_free(stacks->by_sample_hash);
	stacks->by_content = hash_table_free(stacks->by_content);
	vec_release(&stacks->stacks);
}

int collector_new(const struct collector_options *options, struct collector **ret_collector)
{
	scoped(collector_freep) struct collector *collector = calloc(1, sizeof(*collector));
	int r;

	if (!collector)
		return -ENOMEM;
	collector->options = *options;
	collector->window = 1;
	r = definitions_init(&collector->definitions);
	if (r == 0)
		r = wait_shares_init(&collector->wait_shares);
	if (r == 0)
		r = window_stacks_init(&collector->open);
	if (r == 0)
		r = window_stacks_init(&collector->before);
	if (r == 0)
		r = window_stacks_init(&collector->older);
	if (r == 0)
		r = hash_table_new(sizeof(uint32_t), sizeof(struct process *), 0,
				   &collector->processes);
	if (r == 0)
		r = hash_table_new(sizeof(struct process_stack), 0, 0, &collector->process_stacks);
	if (r == 0)
		r = hash_table_new(sizeof(uint64_t), 0, 0, &collector->named_frames);
	if (r == 0)
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
	window_stacks_release(&collector->open);
	window_stacks_release(&collector->before);
	window_stacks_release(&collector->older);
	vec_release(&collector->rows);
	wait_shares_release(&collector->wait_shares);
	hash_table_free(collector->processes);
	hash_table_free(collector->process_stacks);
	hash_table_free(collector->named_frames);
	arena_free(collector->close_arena);
	free(collector);
	return NULL;
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

static uint64_t content_hash_of(const struct window_frame *frames, size_t n_frames, uint8_t cut)
{
	return hash64_of(frames, n_frames * sizeof(*frames)) ^ cut;
}

/* Finds or adds a stack with these frames in the open window. */
static int open_stack(struct collector *collector, const struct window_frame *frames,
		      size_t n_frames, uint8_t cut, uint32_t *ret_index)
{
	uint64_t content_hash = content_hash_of(frames, n_frames, cut);
	struct window_stacks *open = &collector->open;
	struct stack_number *number;
	struct open_stack stack = { .content_hash = content_hash,
				    .cut = cut,
				    .n_frames = (uint32_t)n_frames };
	void *value;
	int r;

	r = hash_table_insert(open->by_content, &content_hash, &value);
	if (r < 0)
		return r;
	if (r == 0) {
		*ret_index = *(uint32_t *)value;
		return 0;
	}
	*(uint32_t *)value = (uint32_t)open->stacks.count;
	r = definitions_stack(&collector->definitions, content_hash, collector->window, &number);
	if (r == 0) {
		stack.number = number->number;
		stack.frames = arena_copy(open->arena, frames, n_frames * sizeof(*frames));
		r = stack.frames ? vec_push(&open->stacks, stack) : -ENOMEM;
	}
	if (r < 0) {
		(void)hash_table_remove(open->by_content, &content_hash);
		return r;
	}
	*ret_index = (uint32_t)open->stacks.count - 1;
	return 0;
}

/* The stack of a sample that carried its frames. */
static int full_stack(struct collector *collector, struct process *process,
		      const struct abi_sample *sample, const struct abi_frame *frames,
		      uint32_t *ret_index)
{
	uint8_t cut = sample->cut;
	size_t n_frames = (size_t)sample->n_kernel_frames + sample->n_user_frames;
	void *value;
	int r;

	if (n_frames > STACK_MAX_FRAMES)
		return -EBADMSG;
	n_frames = frame_resolver_convert(collector->options.frames, process, sample, frames,
					  collector->scratch, &cut);
	r = open_stack(collector, collector->scratch, n_frames, cut, ret_index);
	if (r < 0)
		return r;
	r = hash_table_insert(collector->open.by_sample_hash, &sample->stack_hash, &value);
	if (r >= 0)
		*(uint32_t *)value = *ret_index;
	return r < 0 ? r : 0;
}

/* The stack of that hash in an earlier window, or NULL. */
static const struct open_stack *find_earlier(const struct collector *collector,
					     uint64_t sample_hash)
{
	const struct window_stacks *windows[] = { &collector->before, &collector->older };

	for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
		const uint32_t *index = hash_table_find(windows[i]->by_sample_hash, &sample_hash);

		if (index)
			return &windows[i]->stacks.items[*index];
	}
	return NULL;
}

bool collector_knows_stack(const struct collector *collector, uint64_t sample_hash)
{
	return hash_table_find(collector->open.by_sample_hash, &sample_hash) ||
	       find_earlier(collector, sample_hash);
}

bool collector_find_stack(const struct collector *collector, uint64_t sample_hash,
			  struct collector_stack *ret_stack)
{
	const uint32_t *index = hash_table_find(collector->open.by_sample_hash, &sample_hash);
	const struct open_stack *stack = index ? &collector->open.stacks.items[*index]
					       : find_earlier(collector, sample_hash);
	size_t n_kernel_frames = 0;

	if (!stack)
		return false;
	for (size_t i = 0; i < stack->n_frames; i++) {
		const struct window_frame *frame = &stack->frames[i];

		ret_stack->frames[i] = (struct abi_frame){
			.address = frame->address,
			.executable = frame->executable,
			.kind = frame->kind,
		};
		if (frame->kind == FRAME_KERNEL || frame->kind == FRAME_KERNEL_NAMED)
			n_kernel_frames++;
	}
	ret_stack->n_kernel_frames = n_kernel_frames;
	ret_stack->n_user_frames = stack->n_frames - n_kernel_frames;
	ret_stack->cut = stack->cut;
	return true;
}

/* 1 found; 0: the hash is known in no window. */
static int stack_by_hash(struct collector *collector, uint64_t sample_hash, uint32_t *ret_index)
{
	const uint32_t *index = hash_table_find(collector->open.by_sample_hash, &sample_hash);
	const struct open_stack *old;
	void *value;
	int r;

	if (index) {
		*ret_index = *index;
		return 1;
	}
	old = find_earlier(collector, sample_hash);
	if (!old)
		return 0;
	r = open_stack(collector, old->frames, old->n_frames, old->cut, ret_index);
	if (r < 0)
		return r;
	r = hash_table_insert(collector->open.by_sample_hash, &sample_hash, &value);
	if (r < 0)
		return r;
	*(uint32_t *)value = *ret_index;
	return 1;
}

/* Where the process maps the executables of the stack from, once per process, stack and window. */
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

		if (frame->kind == FRAME_KERNEL_NAMED) {
			r = hash_table_insert(collector->named_frames, &frame->address, NULL);
			if (r < 0)
				return r;
		}
		if (frame->kind == FRAME_KERNEL || frame->kind == FRAME_KERNEL_NAMED ||
		    frame->executable == 0 || frame->executable == last)
			continue;
		last = frame->executable;
		r = process_table_note_path(process, frame->executable);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Number of the sample's stack; 0 when it is only counted. */
static int stack_of(struct collector *collector, struct process *process,
		    const struct abi_sample *sample, const struct abi_frame *frames,
		    uint32_t *ret_number)
{
	const struct open_stack *stack;
	uint32_t index;
	int r;

	*ret_number = 0;
	if (sample->flags & ABI_SAMPLE_WITHOUT_STACK ||
	    sample->n_kernel_frames + sample->n_user_frames == 0)
		return 0;
	if (sample->flags & ABI_SAMPLE_FULL) {
		r = full_stack(collector, process, sample, frames, &index);
	} else {
		r = stack_by_hash(collector, sample->stack_hash, &index);
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
	 * The kernel side did not know that it is left out. The stack was read all the same: others
	 * may refer to it.
	 */
	if (sample->event_type == EVENT_ON_CPU && process->without_stacks)
		return 0;
	stack = &collector->open.stacks.items[index];
	*ret_number = stack->n_frames > 0 ? stack->number : 0;
	return note_paths(collector, process, stack);
}

static bool keeps_cpus_apart(const struct collector *collector, const struct abi_sample *sample)
{
	return sample->event_type == EVENT_OFF_CPU ? collector->options.keep_wait_cpus_apart
						   : collector->options.keep_cpus_apart;
}

void collector_set_period(struct collector *collector, uint64_t period_ns)
{
	collector->options.on_cpu_period_ns = period_ns;
}

static int series_of(struct collector *collector, const struct process *process,
		     const struct abi_sample *sample, uint32_t type, uint32_t *ret_number)
{
	struct series_key key = {
		.process = process->number,
		.tid = sample->tid,
		.cpu = keeps_cpus_apart(collector, sample) ? (int32_t)sample->cpu : -1,
		.type = type,
		.period_ns = type == EVENT_ON_CPU ? collector->options.on_cpu_period_ns : 0,
	};
	struct series_number *series;
	int r;

	static_assert(sizeof(key.thread_name) == sizeof(sample->comm), "both hold a comm");
	memcpy(key.thread_name, sample->comm, strnlen(sample->comm, sizeof(sample->comm) - 1));
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
	/* The image is that of the sample's time, and so is the count. */
	process->exec_count = sample->exec_count;
	if (sample->flags & ABI_SAMPLE_UNKNOWN) {
		r = process_table_want_publish(collector->options.processes, process);
		if (r < 0)
			return r;
	}
	*ret_process = process;
	return 0;
}

/* The pieces of a wait, from its end backwards, each in the slot of its last nanosecond. */
static int add_wait_rows(struct collector *collector, const struct process *process,
			 const struct abi_sample *sample, const struct abi_wait *wait,
			 struct window_row row)
{
	struct wait_owner owner = { .process = process->number,
				    .tid = sample->tid,
				    .site = wait ? wait->site : 0 };
	uint64_t left_ns = MIN(sample->value, MAX_WAIT_PIECES * WAIT_PIECE_NS);
	uint64_t end_ns = sample->time_ns;
	uint32_t site = 0;
	int r = 0;

	if (wait)
		r = wait_shares_add_time(&collector->wait_shares, &owner, wait, &site);
	while (left_ns > 0 && r == 0) {
		row.value = MIN(left_ns, WAIT_PIECE_NS);
		row.slot = (end_ns - 1) / SLOT_NS;
		r = vec_push(&collector->rows, row);
		if (r == 0 && wait)
			r = wait_shares_add_row(&collector->wait_shares, site, wait,
						collector->rows.count - 1, row.value);
		end_ns -= row.value;
		left_ns -= row.value;
	}
	return r;
}

/*
 * The part of waits that was no waiting stands beside them, on the same stack: @row is of the wait.
 */
static int add_queued_row(struct collector *collector, const struct process *process,
			  const struct abi_sample *sample, struct window_row row)
{
	int r;

	if (sample->queued_us == 0)
		return 0;
	r = series_of(collector, process, sample, EVENT_RUN_QUEUE, &row.series);
	if (r < 0)
		return r;
	row.value = sample->queued_us * NSEC_PER_USEC;
	row.slot = (sample->time_ns - 1) / SLOT_NS;
	return vec_push(&collector->rows, row);
}

int collector_add(struct collector *collector, const struct abi_sample *sample,
		  const struct abi_frame *frames)
{
	struct window_row row = { .slot = sample->time_ns / SLOT_NS, .value = sample->value };
	struct process *process;
	void *value;
	int r;

	r = collector_process(collector, sample, &process);
	if (r < 0)
		return r;
	if (sample->event_type == EVENT_OFF_CPU && process->without_waits)
		return 0;
	r = stack_of(collector, process, sample, frames, &row.stack);
	if (r < 0 || sample->flags & ABI_SAMPLE_DEFINITION)
		return r;
	r = series_of(collector, process, sample, sample->event_type, &row.series);
	if (r < 0)
		return r;
	r = hash_table_insert(collector->processes, &process->number, &value);
	if (r < 0)
		return r;
	*(struct process **)value = process;
	collector->stats.samples++;
	if (sample->event_type != EVENT_OFF_CPU)
		return vec_push(&collector->rows, row);
	r = add_queued_row(collector, process, sample, row);
	if (r < 0)
		return r;
	return add_wait_rows(
		collector, process, sample,
		sample->flags & ABI_SAMPLE_STANDS ? (const struct abi_wait *)frames : NULL, row);
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
}
