/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items are sorted by stack, so that each stack is loaded once and its frames are added to the
 * frame table once, however many groups share it.
 */

#include "symbolizer/query/stack_tree.h"

#include <stdio.h>
#include <string.h>

#include "symbolizer/flame/label.h"
#include "symbolizer/query/frame_label.h"
#include "symbolizer/query/stack_set.h"
#include "symbolizer/query/unresolved.h"
#include "symbolizer/symbols/table/symbol_layout.h"

/*
 *   frame_of[first_frame[i] + k]  the k-th frame of stack i, an index of @frames
 */
struct loaded_stacks {
	struct stack_set set;
	size_t *first_frame;
	uint32_t *frame_of;
	struct frame_table frames;
};

static int number_frames(const struct stack_tree *build, struct loaded_stacks *loaded)
{
	size_t n_frames = 0;
	int r;

	loaded->first_frame =
		arena_alloc_array(build->arena, loaded->set.count, sizeof(*loaded->first_frame));
	if (!loaded->first_frame)
		return -ENOMEM;
	for (size_t i = 0; i < loaded->set.count; i++) {
		loaded->first_frame[i] = n_frames;
		n_frames += loaded->set.stacks[i].n_frames;
	}
	loaded->frame_of = arena_alloc_array(build->arena, n_frames + 1, sizeof(*loaded->frame_of));
	if (!loaded->frame_of)
		return -ENOMEM;

	for (size_t i = 0; i < loaded->set.count; i++) {
		const struct store_stack *stack = &loaded->set.stacks[i];

		if (cancel_is_requested(build->view->cancel))
			return -ECANCELED;
		for (uint32_t k = 0; k < stack->n_frames; k++) {
			r = frame_table_add(&loaded->frames, &stack->frames[k],
					    &loaded->frame_of[loaded->first_frame[i] + k]);
			if (r < 0)
				return r;
		}
	}
	build->stats->n_stacks += loaded->set.count;
	build->stats->n_frames += loaded->frames.n_frames;
	return 0;
}

/* The path of a stack, while it is added to the tree. */
struct path {
	const struct stack_tree *build;
	struct frame_labels *labels;
	const struct store_process *process;
	uint32_t node; /* the last node */
	bool full;     /* the tree had no room for another node: the path ends here */
	uint32_t leaf; /* index of the last frame added; UINT32_MAX: none */
};

static int path_step(struct path *path, string_id label, char type)
{
	int r;

	r = tree_child_of_label(path->build->tree, path->node, label, type, &path->node);
	if (r == -ENOSPC) {
		path->full = true;
		path->build->stats->n_stacks_shortened++;
		return 0;
	}
	return r;
}

static int path_step_text(struct path *path, const char *text)
{
	string_id label;
	int r;

	if (path->full)
		return 0;
	r = tree_intern_label(path->build->tree, text, strlen(text), &label);
	if (r < 0)
		return r;
	return path_step(path, label, label_type(text));
}

static int path_step_function(struct path *path, const struct frame_of_stack *frame)
{
	string_id label;
	char type;
	int r;

	r = frame_label(path->labels, path->process, frame, &label, &type);
	if (r < 0)
		return r;
	r = path_step(path, label, type);
	if (r < 0)
		return r;
	if (!path->full)
		path->leaf = frame->index;
	return 0;
}

/* Adds the functions of a frame from the outermost to the innermost inlined one, but at most *max
 * of them (-1: all), and reduces *max by their number. */
static int path_step_frame(struct path *path, uint32_t index, bool outermost, int *max)
{
	const struct frame_table *frames = path->labels->frames;
	struct frame_of_stack frame = { .index = index, .outermost = outermost };
	uint32_t chain[SYMBOL_CHAIN_MAX];
	uint32_t function = frames->frames[index].function;
	size_t depth = 0;
	int r = 0;

	for (; function != FRAME_NO_FUNCTION; function = frames->functions.items[function].caller) {
		/* A function without a name (only the source line is known) is not shown. */
		if (frames->functions.items[function].name && depth < ARRAY_SIZE(chain))
			chain[depth++] = function;
	}
	if (depth == 0)
		chain[depth++] = FRAME_NO_FUNCTION;
	while (depth-- > 0 && *max != 0 && r == 0 && !path->full) {
		frame.function = chain[depth];
		r = path_step_function(path, &frame);
		*max -= *max > 0;
	}
	return r;
}

/* True if a truncated stack gets a frame "[truncated: ...]" instead of the missing outermost ones.
 * Without it, its frames would appear beside those of complete stacks at the top of the tree. */
static bool shows_cut(uint8_t cut)
{
	return cut != STACK_CUT_NONE && cut != STACK_CUT_NO_USER_REGS;
}

static int add_user_frames(struct path *path, const struct loaded_stacks *loaded,
			   const uint32_t *frames, const struct store_stack *stack)
{
	bool outermost = true;
	int all = -1;
	int r;

	if (shows_cut(stack->cut)) {
		char text[64];

		(void)snprintf(text, sizeof(text), "[truncated: %s]", stack_cut_name(stack->cut));
		r = path_step_text(path, text);
		if (r < 0)
			return r;
		outermost = false;
	}
	for (uint32_t i = stack->n_frames; i-- > 0 && !path->full;) {
		if (loaded->frames.frames[frames[i]].kernel)
			continue;
		r = path_step_frame(path, frames[i], outermost, &all);
		if (r < 0)
			return r;
		outermost = false;
	}
	return 0;
}

static int add_kernel_frames(struct path *path, const struct loaded_stacks *loaded,
			     const uint32_t *frames, uint32_t n_frames)
{
	int max = path->build->max_kernel_stack_depth;

	for (uint32_t i = n_frames; i-- > 0 && !path->full && max != 0;) {
		int r;

		if (!loaded->frames.frames[frames[i]].kernel)
			continue;
		r = path_step_frame(path, frames[i], false, &max);
		if (r < 0)
			return r;
	}
	return 0;
}

static void count_value(const struct path *path, const struct loaded_stacks *loaded, uint8_t cut,
			const struct store_sum *item)
{
	struct profile_stats *stats = path->build->stats;
	const uint64_t value = item->value;
	enum frame_status status = FRAME_NAMED;

	if (path->leaf != UINT32_MAX)
		status = loaded->frames.frames[path->leaf].status;

	stats->value_total += value;
	if (item->stack == STORE_OTHER_STACKS)
		stats->value_other += value;
	profile_stats_add_cut(stats, cut, value);
	if (status != FRAME_NAMED) {
		stats->value_unsymbolized += value;
		*unresolved_reason_sum(stats, status) += value;
	}
}

static int add_item(const struct stack_tree *build, struct frame_labels *labels,
		    const struct loaded_stacks *loaded, size_t stack_index,
		    const struct store_sum *item)
{
	const struct series_group *group = &build->groups->groups[item->group];
	const struct store_stack *stack = &loaded->set.stacks[stack_index];
	const uint32_t *frames = loaded->frame_of + loaded->first_frame[stack_index];
	struct path path = {
		.build = build, .labels = labels, .process = group->process, .leaf = UINT32_MAX
	};
	int r;

	r = series_group_node(group, build->tree, &path.node);
	if (r == -ENOSPC) {
		path.full = true;
		build->stats->n_stacks_shortened++;
	} else if (r < 0) {
		return r;
	}
	/* Stack ID 0 is a sample without a stack: its value is the thread's. The store has lost any
	 * other stack that has no frames and is not truncated. */
	if (stack->n_frames == 0 && stack->cut == STACK_CUT_NONE && item->stack != 0) {
		r = path_step_text(&path, item->stack == STORE_OTHER_STACKS ? OTHER_STACKS_LABEL
									    : "[stack trace lost]");
		if (r < 0)
			return r;
	}
	r = add_user_frames(&path, loaded, frames, stack);
	if (r < 0)
		return r;
	r = add_kernel_frames(&path, loaded, frames, stack->n_frames);
	if (r < 0)
		return r;
	/* The root's self stays 0, even if neither threads nor frames are shown. */
	if (path.node == 0) {
		r = path_step_text(&path, "[no frames]");
		if (r < 0)
			return r;
	}
	tree_add_self(build->tree, path.node, item->value);
	count_value(&path, loaded, stack->cut, item);
	return 0;
}

static int add_items(const struct stack_tree *build, const struct loaded_stacks *loaded,
		     const struct store_sum *items, size_t n_items, struct frame_labels *labels)
{
	size_t stack_index = 0;
	int r;

	for (size_t i = 0; i < n_items; i++) {
		if (cancel_is_requested(build->view->cancel))
			return -ECANCELED;
		if (items[i].stack != loaded->set.ids[stack_index])
			stack_index++;
		assert(items[i].stack == loaded->set.ids[stack_index]);
		r = add_item(build, labels, loaded, stack_index, &items[i]);
		if (r < 0)
			return r;
	}
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
static int read_paths(const struct stack_tree *build, const struct loaded_stacks *loaded,
		      const struct store_sum *items, size_t n_items, struct frame_labels *labels)
{
	size_t next_stack = 0;
	bool shows_path = false;

	for (size_t i = 0; i < n_items; i++) {
		const struct store_process *process = build->groups->groups[items[i].group].process;
		const bool new_stack = i == 0 || items[i].stack != items[i - 1].stack;
		const size_t stack = new_stack ? next_stack++ : next_stack - 1;
		const uint32_t *frames = loaded->frame_of + loaded->first_frame[stack];
		const uint32_t n_frames = loaded->set.stacks[stack].n_frames;
		int r;

		if (cancel_is_requested(build->view->cancel))
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
	return file_paths_read(&labels->paths, build->view, build->arena);
}

static int name_and_merge(const struct stack_tree *build, const struct store_sum *items,
			  size_t n_items, struct loaded_stacks *loaded)
{
	const struct frame_names names = {
		.view = build->view,
		.resolver = build->resolver,
		.clock = build->clock,
		.arena = build->arena,
		.patience_ns = PROFILE_PATIENCE_NS,
		.no_inlines = build->no_inlines,
	};
	uint64_t start_ns = clock_monotonic_ns(build->clock);
	struct frame_labels labels;
	int r;

	r = frame_table_resolve(&loaded->frames, &names);
	if (r < 0)
		return r;
	build->stats->n_tables_pending += loaded->frames.n_pending;
	build->stats->resolve_ns += clock_monotonic_ns(build->clock) - start_ns;

	start_ns = clock_monotonic_ns(build->clock);
	r = frame_labels_init(&labels, build->tree, &loaded->frames);
	if (r < 0)
		return r;
	labels.function_starts = build->function_starts;
	r = read_paths(build, loaded, items, n_items, &labels);
	if (r == 0)
		r = add_items(build, loaded, items, n_items, &labels);
	frame_labels_release(&labels);
	build->stats->merge_ns += clock_monotonic_ns(build->clock) - start_ns;
	return r;
}

int stack_tree_add(const struct stack_tree *build, struct store_sum *items, size_t n_items)
{
	const struct stack_set_source source = {
		.view = build->view,
		.arena = build->arena,
	};
	struct loaded_stacks loaded = {};
	int r;

	if (n_items == 0)
		return 0;
	r = stack_set_load(&source, items, n_items, &loaded.set);
	if (r < 0)
		return r;
	r = frame_table_init(&loaded.frames);
	if (r < 0)
		return r;

	loaded.frames.budget = build->view->memory;
	r = number_frames(build, &loaded);
	if (r == 0)
		r = name_and_merge(build, items, n_items, &loaded);
	frame_table_release(&loaded.frames);
	return r;
}
