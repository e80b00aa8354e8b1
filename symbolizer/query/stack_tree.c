/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items are sorted by stack, so that each stack is loaded once and its frames become numbers of the
 * frame table once, however many groups share it.
 */

#include "symbolizer/query/stack_tree.h"

#include <stdio.h>
#include <string.h>

#include "symbolizer/flame/label.h"
#include "symbolizer/query/frame_label.h"
#include "symbolizer/query/unresolved.h"
#include "symbolizer/symbols/table/symbol_layout.h"

/*
 *   stacks[n_stacks]          the different stacks of the items, by id
 *   frame_of[first_frame[i] + k]  the k-th frame of stack i, a number in @frames
 */
struct loaded_stacks {
	uint64_t *ids;
	struct store_stack *stacks;
	size_t n_stacks;
	size_t *first_frame;
	uint32_t *frame_of;
	struct frame_table frames;
};

static int compare_items(const void *left, const void *right)
{
	const struct stack_value *a = left;
	const struct stack_value *b = right;

	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return a->group < b->group ? -1 : a->group > b->group;
}

static int load_stacks(const struct stack_tree *build, const struct stack_value *items,
		       size_t n_items, struct loaded_stacks *loaded)
{
	loaded->ids = arena_alloc_array(build->arena, n_items, sizeof(*loaded->ids));
	if (!loaded->ids)
		return -ENOMEM;
	for (size_t i = 0; i < n_items; i++) {
		if (i == 0 || items[i].stack != items[i - 1].stack)
			loaded->ids[loaded->n_stacks++] = items[i].stack;
	}
	loaded->stacks = arena_alloc_array(build->arena, loaded->n_stacks, sizeof(*loaded->stacks));
	if (!loaded->stacks)
		return -ENOMEM;
	return store_load_stacks(build->store, loaded->ids, loaded->n_stacks, build->arena,
				 loaded->stacks);
}

static int number_frames(const struct stack_tree *build, struct loaded_stacks *loaded)
{
	size_t n_frames = 0;
	int r;

	loaded->first_frame =
		arena_alloc_array(build->arena, loaded->n_stacks, sizeof(*loaded->first_frame));
	if (!loaded->first_frame)
		return -ENOMEM;
	for (size_t i = 0; i < loaded->n_stacks; i++) {
		loaded->first_frame[i] = n_frames;
		n_frames += loaded->stacks[i].n_frames;
	}
	loaded->frame_of = arena_alloc_array(build->arena, n_frames + 1, sizeof(*loaded->frame_of));
	if (!loaded->frame_of)
		return -ENOMEM;

	for (size_t i = 0; i < loaded->n_stacks; i++) {
		const struct store_stack *stack = &loaded->stacks[i];

		for (uint32_t k = 0; k < stack->n_frames; k++) {
			r = frame_table_add(&loaded->frames, &stack->frames[k],
					    &loaded->frame_of[loaded->first_frame[i] + k]);
			if (r < 0)
				return r;
		}
	}
	build->stats->n_stacks += loaded->n_stacks;
	build->stats->n_frames += loaded->frames.n_frames;
	return 0;
}

/* A path that is being laid into the tree. */
struct path {
	const struct stack_tree *build;
	struct frame_labels *labels;
	const struct store_process *process;
	uint32_t node;
	bool full;     /* the tree is: the path ends here */
	uint32_t leaf; /* the frame laid last; UINT32_MAX none */
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

	r = tree_intern_label(path->build->tree, text, strlen(text), &label);
	return r < 0 ? r : path_step(path, label, label_type(text));
}

static int path_step_place(struct path *path, const struct frame_of_stack *frame)
{
	string_id label;
	char type;
	int r;

	r = frame_label(path->labels, path->process, frame, &label, &type);
	if (r == 0)
		r = path_step(path, label, type);
	if (r == 0 && !path->full)
		path->leaf = frame->index;
	return r;
}

/* Lays a frame and what is inlined into it, at most *max of them (-1: all), which is counted down.
 */
static int path_step_frame(struct path *path, uint32_t index, bool outermost, int *max)
{
	const struct frame_table *frames = path->labels->frames;
	struct frame_of_stack frame = { .index = index, .outermost = outermost };
	uint32_t chain[SYMBOL_CHAIN_MAX];
	uint32_t place = frames->frames[index].place;
	size_t depth = 0;
	int r = 0;

	for (; place != RESOLVE_NO_PLACE; place = frames->places.items[place].caller) {
		/* Nothing to show where only a line is known. */
		if (frames->places.items[place].function && depth < ARRAY_SIZE(chain))
			chain[depth++] = place;
	}
	if (depth == 0)
		chain[depth++] = RESOLVE_NO_PLACE;
	while (depth-- > 0 && *max != 0 && r == 0 && !path->full) {
		frame.place = chain[depth];
		r = path_step_place(path, &frame);
		*max -= *max > 0;
	}
	return r;
}

/* A stack that does not reach its outermost frame says so where that would be, or it would stand
 * beside the whole ones. */
static bool shows_cut(uint8_t cut)
{
	return cut != STACK_CUT_NONE && cut != STACK_CUT_NO_USER_REGS;
}

static int lay_user_frames(struct path *path, const struct loaded_stacks *loaded,
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

static int lay_kernel_frames(struct path *path, const struct loaded_stacks *loaded,
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

static void count_value(const struct stack_tree *build, const struct path *path,
			const struct loaded_stacks *loaded, uint8_t cut, uint64_t value)
{
	struct profile_stats *stats = build->stats;
	enum frame_status status = FRAME_NAMED;

	if (path->leaf != UINT32_MAX)
		status = loaded->frames.frames[path->leaf].status;

	stats->value_total += value;
	if (cut != STACK_CUT_NONE)
		stats->value_cut += value;
	if (status != FRAME_NAMED) {
		stats->value_unsymbolized += value;
		*unresolved_reason_sum(stats, status) += value;
	}
}

static int add_item(const struct stack_tree *build, struct frame_labels *labels,
		    const struct loaded_stacks *loaded, size_t stack_index,
		    const struct stack_value *item)
{
	const struct series_group *group = &build->groups->groups[item->group];
	const struct store_stack *stack = &loaded->stacks[stack_index];
	const uint32_t *frames = loaded->frame_of + loaded->first_frame[stack_index];
	struct path path = {
		.build = build, .labels = labels, .process = group->process, .leaf = UINT32_MAX
	};
	int r;

	r = series_group_node(group, build->tree, &path.node);
	if (r == -ENOSPC) {
		path.full = true;
		build->stats->n_stacks_shortened++;
		r = 0;
	}
	/* Only counted (0): the value is the thread's. Any other stack without frames was lost by
	 * the store. */
	if (r == 0 && !path.full && stack->n_frames == 0 && stack->cut == STACK_CUT_NONE &&
	    item->stack != 0)
		r = path_step_text(&path, "[stack trace lost]");
	if (r == 0 && !path.full)
		r = lay_user_frames(&path, loaded, frames, stack);
	if (r == 0 && !path.full)
		r = lay_kernel_frames(&path, loaded, frames, stack->n_frames);
	/* The root is the selection and has no value of its own, also when neither threads nor
	 * frames are shown. */
	if (r == 0 && !path.full && path.node == 0)
		r = path_step_text(&path, "[no frames]");
	if (r < 0)
		return r;
	tree_add_self(build->tree, path.node, item->value);
	count_value(build, &path, loaded, stack->cut, item->value);
	return 0;
}

static int add_items(const struct stack_tree *build, const struct loaded_stacks *loaded,
		     const struct stack_value *items, size_t n_items, struct frame_labels *labels)
{
	size_t stack_index = 0;
	int r;

	for (size_t i = 0; i < n_items; i++) {
		if (items[i].stack != loaded->ids[stack_index])
			stack_index++;
		r = add_item(build, labels, loaded, stack_index, &items[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int name_and_merge(const struct stack_tree *build, const struct stack_value *items,
			  size_t n_items, struct loaded_stacks *loaded)
{
	const struct frame_names names = {
		.store = build->store,
		.resolver = build->resolver,
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
	r = frame_labels_init(&labels, build->tree, build->store, build->arena, &loaded->frames);
	if (r < 0)
		return r;
	labels.function_starts = build->function_starts;
	r = add_items(build, loaded, items, n_items, &labels);
	frame_labels_release(&labels);
	build->stats->merge_ns += clock_monotonic_ns(build->clock) - start_ns;
	return r;
}

int stack_tree_add(const struct stack_tree *build, struct stack_value *items, size_t n_items)
{
	struct loaded_stacks loaded = {};
	int r;

	if (n_items == 0)
		return 0;
	qsort(items, n_items, sizeof(*items), compare_items);
	r = load_stacks(build, items, n_items, &loaded);
	if (r < 0)
		return r;
	r = frame_table_init(&loaded.frames);
	if (r == 0)
		r = number_frames(build, &loaded);
	if (r == 0)
		r = name_and_merge(build, items, n_items, &loaded);
	frame_table_release(&loaded.frames);
	return r;
}
