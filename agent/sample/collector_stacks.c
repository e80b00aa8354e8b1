/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "agent/sample/collector_internal.h"
#include "common/frame.h"
#include "common/hash.h"

/* Maximum memory for the stacks of one window. The window is closed before it is used up. */
#define WINDOW_ARENA_BYTES (16 * MIB)

static_assert(ABI_MAX_FRAMES <= STACK_MAX_FRAMES, "a stack of the kernel side fits into a batch");

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

int collector_init_stacks(struct collector *collector)
{
	int r;

	r = window_stacks_init(&collector->open);
	if (r < 0)
		return r;
	r = window_stacks_init(&collector->before);
	if (r < 0)
		return r;
	return window_stacks_init(&collector->older);
}

void collector_release_stacks(struct collector *collector)
{
	window_stacks_release(&collector->open);
	window_stacks_release(&collector->before);
	window_stacks_release(&collector->older);
}

uint64_t collector_content_hash(const struct open_stack *stack)
{
	uint64_t hash = hash64_of(stack->frames, stack->n_frames * sizeof(*stack->frames));

	return hash ^ stack->cut ^ stack->process * UINT64_C(0x9e3779b97f4a7c15);
}

/* Finds a stack with these frames in the open window, or adds it. The frames are copied. */
static int open_stack(struct collector *collector, const struct open_stack *from,
		      uint32_t *ret_index)
{
	uint64_t content_hash = collector_content_hash(from);
	struct window_stacks *open = &collector->open;
	struct stack_number *number;
	struct open_stack stack = *from;
	void *value;
	int r;

	stack.content_hash = content_hash;
	stack.n_samples = 0;
	stack.is_duplicate = false;

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
		stack.frames = arena_copy(open->arena, from->frames,
					  from->n_frames * sizeof(*from->frames));
		r = stack.frames ? vec_push(&open->stacks, stack) : -ENOMEM;
	}
	if (r < 0) {
		(void)hash_table_remove(open->by_content, &content_hash);
		return r;
	}
	*ret_index = (uint32_t)open->stacks.count - 1;
	return 0;
}

static bool is_unnamed_code(const struct window_frame *frame)
{
	return frame->kind == FRAME_ANONYMOUS;
}

/* Reports code without an executable to the namer. Returns whether there is any. */
static bool want_names(struct collector *collector, const struct process *process,
		       const struct window_frame *frames, size_t n_frames, uint64_t time_ns)
{
	bool found = false;

	for (size_t i = 0; i < n_frames && collector->namer.want; i++) {
		if (!is_unnamed_code(&frames[i]))
			continue;
		found = true;
		collector->namer.want(collector->namer.arg, process, frames[i].address, time_ns);
	}
	return found;
}

int collector_add_stack(struct collector *collector, struct process *process,
			const struct abi_sample *sample, const struct abi_frame *frames,
			uint32_t *ret_index)
{
	uint8_t cut = sample->cut;
	size_t n_frames = (size_t)sample->n_kernel_frames + sample->n_user_frames;
	struct open_stack stack;
	void *value;
	int r;

	if (n_frames > STACK_MAX_FRAMES)
		return -EBADMSG;
	n_frames = frame_resolver_convert(collector->options.frames, process, sample, frames,
					  collector->scratch, &cut);
	stack = (struct open_stack){
		.cut = cut,
		.n_frames = (uint32_t)n_frames,
		.frames = collector->scratch,
	};
	if (want_names(collector, process, stack.frames, n_frames, sample->time_ns))
		stack.process = process->number;
	r = open_stack(collector, &stack, ret_index);
	if (r < 0)
		return r;
	r = hash_table_insert(collector->open.by_sample_hash, &sample->stack_hash, &value);
	if (r >= 0)
		*(uint32_t *)value = *ret_index;
	return r < 0 ? r : 0;
}

/* The stack with this hash in one of the two windows before, or NULL. */
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
			.executable = frame->object,
			.kind = frame->kind,
		};
		if (frame_kind_is_kernel(frame->kind))
			n_kernel_frames++;
	}
	ret_stack->n_kernel_frames = n_kernel_frames;
	ret_stack->n_user_frames = stack->n_frames - n_kernel_frames;
	ret_stack->cut = stack->cut;
	return true;
}

int collector_stack_by_hash(struct collector *collector, const struct process *process,
			    const struct abi_sample *sample, uint32_t *ret_index)
{
	const uint64_t sample_hash = sample->stack_hash;
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
	/* The name may be known by now. */
	if (old->process != 0)
		(void)want_names(collector, process, old->frames, old->n_frames, sample->time_ns);
	r = open_stack(collector, old, ret_index);
	if (r < 0)
		return r;
	r = hash_table_insert(collector->open.by_sample_hash, &sample_hash, &value);
	if (r < 0)
		return r;
	*(uint32_t *)value = *ret_index;
	return 1;
}
