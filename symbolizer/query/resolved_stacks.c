/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items are sorted by stack, so that each stack is loaded once and its frames are added to the
 * frame table once, however many groups share it.
 */

#include "symbolizer/query/resolved_stacks.h"

#include <stdio.h>
#include <string.h>

#include "symbolizer/flame/label.h"
#include "symbolizer/query/unresolved.h"
#include "symbolizer/symbols/table/symbol_layout.h"

static int number_frames(struct resolved_stacks *stacks)
{
	size_t n_frames = 0;
	int r;

	stacks->first_frame =
		arena_alloc_array(stacks->arena, stacks->set.count, sizeof(*stacks->first_frame));
	if (!stacks->first_frame)
		return -ENOMEM;
	for (size_t i = 0; i < stacks->set.count; i++) {
		stacks->first_frame[i] = n_frames;
		n_frames += stacks->set.stacks[i].n_frames;
	}
	stacks->frame_of =
		arena_alloc_array(stacks->arena, n_frames + 1, sizeof(*stacks->frame_of));
	if (!stacks->frame_of)
		return -ENOMEM;

	for (size_t i = 0; i < stacks->set.count; i++) {
		const struct store_stack *stack = &stacks->set.stacks[i];

		if (cancel_is_requested(stacks->view->cancel))
			return -ECANCELED;
		for (uint32_t k = 0; k < stack->n_frames; k++) {
			r = frame_table_add(&stacks->frames, &stack->frames[k],
					    &stacks->frame_of[stacks->first_frame[i] + k]);
			if (r < 0)
				return r;
		}
	}
	stacks->stats->n_stacks += stacks->set.count;
	stacks->stats->n_frames += stacks->frames.n_frames;
	return 0;
}

static bool stack_shows_path(const struct frame_labels *labels, const uint32_t *frames,
			     uint32_t n_frames)
{
	for (uint32_t i = 0; i < n_frames; i++)
		if (frame_shows_path(labels, frames[i]))
			return true;
	return false;
}

static int want_paths(struct frame_labels *labels, const struct store_process *process,
		      const uint32_t *frames, uint32_t n_frames)
{
	int r = 0;

	for (uint32_t i = 0; i < n_frames && r == 0; i++)
		if (frame_needs_path(labels, process, frames[i]))
			r = frame_labels_want(labels, process, frames[i]);
	return r;
}

/* Reads the paths that labels need, of all items together. */
static int read_paths(struct resolved_stacks *stacks, const struct store_sum *items, size_t n_items)
{
	struct frame_labels *labels = &stacks->labels;
	size_t next_stack = 0;
	bool shows_path = false;

	for (size_t i = 0; i < n_items; i++) {
		const struct store_process *process =
			stacks->groups->groups[items[i].group].process;
		const bool new_stack = i == 0 || items[i].stack != items[i - 1].stack;
		const size_t stack = new_stack ? next_stack++ : next_stack - 1;
		const uint32_t *frames = stacks->frame_of + stacks->first_frame[stack];
		const uint32_t n_frames = stacks->set.stacks[stack].n_frames;
		int r;

		if (cancel_is_requested(stacks->view->cancel))
			return -ECANCELED;
		if (new_stack)
			shows_path = stack_shows_path(labels, frames, n_frames);
		/* Most stacks have names in all frames, and need no path. */
		if (!shows_path && process->main_executable != 0)
			continue;
		r = want_paths(labels, process, frames, n_frames);
		if (r < 0)
			return r;
	}
	return file_paths_read(&labels->paths, stacks->view, stacks->arena);
}

static int resolve_frames(struct resolved_stacks *stacks)
{
	const struct frame_names names = {
		.view = stacks->view,
		.resolver = stacks->resolver,
		.clock = stacks->clock,
		.arena = stacks->arena,
		.patience_ns = PROFILE_PATIENCE_NS,
		.no_inlines = stacks->no_inlines,
	};
	uint64_t start_ns = clock_monotonic_ns(stacks->clock);
	int r;

	r = frame_table_resolve(&stacks->frames, &names);
	if (r < 0)
		return r;
	stacks->stats->n_tables_pending += stacks->frames.n_pending;
	stacks->stats->resolve_ns += clock_monotonic_ns(stacks->clock) - start_ns;
	return 0;
}

int resolved_stacks_load(struct resolved_stacks *stacks, struct store_sum *items, size_t n_items)
{
	const struct stack_set_source source = {
		.view = stacks->view,
		.arena = stacks->arena,
	};
	uint64_t start_ns;
	int r;

	r = stack_set_load(&source, items, n_items, &stacks->set);
	if (r < 0)
		return r;
	r = frame_table_init(&stacks->frames);
	if (r < 0)
		return r;
	stacks->frames.budget = stacks->view->memory;
	r = number_frames(stacks);
	if (r == 0)
		r = resolve_frames(stacks);
	if (r < 0)
		return r;

	start_ns = clock_monotonic_ns(stacks->clock);
	r = frame_labels_init(&stacks->labels, stacks->tree, &stacks->frames);
	if (r < 0)
		return r;
	stacks->labels.function_starts = stacks->function_starts;
	r = read_paths(stacks, items, n_items);
	stacks->stats->merge_ns += clock_monotonic_ns(stacks->clock) - start_ns;
	return r;
}

void resolved_stacks_release(struct resolved_stacks *stacks)
{
	frame_labels_release(&stacks->labels);
	frame_table_release(&stacks->frames);
	vec_release(&stacks->path);
}

static int push_marker(struct resolved_stacks *stacks, const char *text)
{
	struct resolved_frame frame = {
		.frame = RESOLVED_NO_FRAME,
		.function = FRAME_NO_FUNCTION,
		.type = label_type(text),
	};
	int r;

	r = tree_intern_label(stacks->tree, text, strlen(text), &frame.label);
	return r < 0 ? r : vec_push(&stacks->path, frame);
}

/* Writes the label and the type of a function. This is the innermost step of a query. */
static inline int name_function(struct resolved_stacks *stacks, const struct store_process *process,
				const struct frame_of_stack *of, struct resolved_frame *frame)
{
	frame->frame = of->index;
	frame->function = of->function;
	frame->inlined = false;
	return frame_label(&stacks->labels, process, of, &frame->label, &frame->type);
}

/* Appends the functions of a frame, the innermost inlined one first. */
static int push_frame(struct resolved_stacks *stacks, const struct store_process *process,
		      uint32_t index, bool outermost)
{
	const struct frame_function *functions = stacks->frames.functions.items;
	struct frame_of_stack frame = { .index = index, .outermost = outermost };
	struct resolved_frame_vec *path = &stacks->path;
	uint32_t function = stacks->frames.frames[index].function;
	struct resolved_frame *first, *next;
	int r = 0;

	if (path->capacity - path->count < SYMBOL_CHAIN_MAX) {
		r = vec_reserve(path, SYMBOL_CHAIN_MAX);
		if (r < 0)
			return r;
	}
	first = next = &path->items[path->count];
	for (; function != FRAME_NO_FUNCTION && r == 0; function = functions[function].caller) {
		/* A function without a name (only the source line is known) is not shown. */
		if (!functions[function].name || next - first == SYMBOL_CHAIN_MAX)
			continue;
		if (next > first)
			next[-1].inlined = true;
		frame.function = function;
		r = name_function(stacks, process, &frame, next++);
	}
	if (next == first) {
		frame.function = FRAME_NO_FUNCTION;
		r = name_function(stacks, process, &frame, next++);
	}
	path->count += (size_t)(next - first);
	return r;
}

/* Appends the kernel frames. Keeps the outermost max_kernel_stack_depth functions of them. */
static int push_kernel_frames(struct resolved_stacks *stacks, const struct store_process *process,
			      const uint32_t *frames, uint32_t n_frames)
{
	struct resolved_frame_vec *path = &stacks->path;
	size_t max = (size_t)stacks->max_kernel_stack_depth;
	int r;

	if (stacks->max_kernel_stack_depth == 0)
		return 0;
	for (uint32_t i = 0; i < n_frames; i++) {
		if (!stacks->frames.frames[frames[i]].kernel)
			continue;
		r = push_frame(stacks, process, frames[i], false);
		if (r < 0)
			return r;
	}
	if (stacks->max_kernel_stack_depth > 0 && path->count > max) {
		memmove(path->items, path->items + path->count - max, max * sizeof(*path->items));
		path->count = max;
	}
	return 0;
}

/* True if a truncated stack gets a frame "[truncated: ...]" instead of the missing outermost ones.
 * Without it, its frames would appear beside those of complete stacks at the top of the tree. */
static bool shows_cut(uint8_t cut)
{
	return cut != STACK_CUT_NONE && cut != STACK_CUT_NO_USER_REGS;
}

static int push_user_frames(struct resolved_stacks *stacks, const struct store_process *process,
			    const uint32_t *frames, const struct store_stack *stack)
{
	uint32_t outermost = UINT32_MAX;
	char text[64];
	int r;

	for (uint32_t i = 0; i < stack->n_frames && !shows_cut(stack->cut); i++)
		if (!stacks->frames.frames[frames[i]].kernel)
			outermost = i;
	for (uint32_t i = 0; i < stack->n_frames; i++) {
		if (stacks->frames.frames[frames[i]].kernel)
			continue;
		r = push_frame(stacks, process, frames[i], i == outermost);
		if (r < 0)
			return r;
	}
	if (!shows_cut(stack->cut))
		return 0;
	(void)snprintf(text, sizeof(text), "[truncated: %s]", stack_cut_name(stack->cut));
	return push_marker(stacks, text);
}

/* Fills stacks->path with the frames of an item. */
static int make_path(struct resolved_stacks *stacks, size_t stack_index,
		     const struct store_sum *item)
{
	const struct series_group *group = &stacks->groups->groups[item->group];
	const struct store_stack *stack = &stacks->set.stacks[stack_index];
	const uint32_t *frames = stacks->frame_of + stacks->first_frame[stack_index];
	int r;

	vec_clear(&stacks->path);
	/* Stack ID 0 is a sample without a stack: its value is the thread's. The store has lost any
	 * other stack that has no frames and is not truncated. */
	if (stack->n_frames == 0 && stack->cut == STACK_CUT_NONE && item->stack != 0)
		return push_marker(stacks, item->stack == STORE_OTHER_STACKS
						   ? OTHER_STACKS_LABEL
						   : "[stack trace lost]");
	r = push_kernel_frames(stacks, group->process, frames, stack->n_frames);
	if (r == 0)
		r = push_user_frames(stacks, group->process, frames, stack);
	/* Every stack has a name, even if neither threads nor frames are shown. */
	if (r == 0 && stacks->path.count == 0 && group->n_levels == 0)
		r = push_marker(stacks, "[no frames]");
	return r;
}

static int visit_item(struct resolved_stacks *stacks, size_t stack_index,
		      const struct store_sum *item, const struct stack_visitor *visitor)
{
	struct resolved_stack stack = {
		.value = item->value,
		.group = &stacks->groups->groups[item->group],
		.cut = stacks->set.stacks[stack_index].cut,
		.other = item->stack == STORE_OTHER_STACKS,
	};
	int r;

	r = make_path(stacks, stack_index, item);
	if (r < 0)
		return r;
	stack.frames = stacks->path.items;
	stack.n_frames = (uint32_t)stacks->path.count;
	return visitor->visit(visitor->arg, stacks, &stack);
}

int resolved_stacks_visit(struct resolved_stacks *stacks, const struct store_sum *items,
			  size_t n_items, const struct stack_visitor *visitor)
{
	uint64_t start_ns = clock_monotonic_ns(stacks->clock);
	size_t stack_index = 0;
	int r = 0;

	for (size_t i = 0; i < n_items && r >= 0; i++) {
		if (cancel_is_requested(stacks->view->cancel))
			return -ECANCELED;
		if (items[i].stack != stacks->set.ids[stack_index])
			stack_index++;
		assert(items[i].stack == stacks->set.ids[stack_index]);
		r = visit_item(stacks, stack_index, &items[i], visitor);
	}
	stacks->stats->merge_ns += clock_monotonic_ns(stacks->clock) - start_ns;
	return MIN(r, 0);
}

void resolved_stacks_count(const struct resolved_stacks *stacks, const struct resolved_stack *stack,
			   const struct resolved_frame *leaf)
{
	const struct frame *frame = leaf ? resolved_stored(stacks, leaf) : NULL;
	enum frame_status status = frame ? frame->status : FRAME_NAMED;
	struct profile_stats *stats = stacks->stats;

	stats->value_total += stack->value;
	if (stack->other)
		stats->value_other += stack->value;
	profile_stats_add_cut(stats, stack->cut, stack->value);
	if (status != FRAME_NAMED) {
		stats->value_unsymbolized += stack->value;
		*unresolved_reason_sum(stats, status) += stack->value;
	}
}

const char *resolved_label(const struct resolved_stacks *stacks, const struct resolved_frame *frame)
{
	return tree_label_text(stacks->tree, frame->label);
}

const struct frame *resolved_stored(const struct resolved_stacks *stacks,
				    const struct resolved_frame *frame)
{
	return frame->frame == RESOLVED_NO_FRAME ? NULL : &stacks->frames.frames[frame->frame];
}

const struct frame_function *resolved_function(const struct resolved_stacks *stacks,
					       const struct resolved_frame *frame)
{
	return frame->function == FRAME_NO_FUNCTION
		       ? NULL
		       : &stacks->frames.functions.items[frame->function];
}

const struct store_executable *resolved_executable(const struct resolved_stacks *stacks,
						   const struct resolved_frame *frame)
{
	const struct frame *stored = resolved_stored(stacks, frame);

	return stored && stored->executable != FRAME_NO_EXECUTABLE
		       ? &stacks->frames.executables[stored->executable]
		       : NULL;
}

const struct store_code_object *resolved_code_object(const struct resolved_stacks *stacks,
						     const struct resolved_frame *frame)
{
	const struct frame *stored = resolved_stored(stacks, frame);

	return stored && stored->code_object != FRAME_NO_CODE_OBJECT
		       ? &stacks->frames.code_objects[stored->code_object]
		       : NULL;
}
