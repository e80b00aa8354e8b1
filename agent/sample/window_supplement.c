/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a window without rows: the definitions that the server lacks. */
#include "agent/sample/window_builder.h"

static int supplement_process(void *arg, struct process *process)
{
	struct window_builder *builder = arg;
	struct window_process *processes = (struct window_process *)builder->window->processes;
	int r;

	if (!process->number)
		return 0;
	process->first_sent_sequence = builder->window->sequence;
	r = hash_table_insert(builder->processes, &process->number, NULL);
	if (r < 0)
		return r;
	return window_builder_process(builder, process, &processes[builder->window->n_processes++]);
}

static int count_process(void *arg, struct process *process)
{
	size_t *count = arg;

	*count += process->number != 0;
	return 0;
}

static const struct open_stack *stack_of_number(const struct window_stacks *stacks, uint32_t number)
{
	for (size_t i = 0; i < stacks->stacks.count; i++) {
		if (stacks->stacks.items[i].number == number)
			return &stacks->stacks.items[i];
	}
	return NULL;
}

/* Adds a stack that was seen in one of the last two windows, or one without frames. */
static int supplement_stack(struct window_builder *builder, uint32_t number)
{
	const struct collector *collector = builder->collector;
	const struct open_stack without_frames = { .number = number };
	const struct open_stack *stack = stack_of_number(&collector->open, number);

	if (!stack)
		stack = stack_of_number(&collector->before, number);
	return window_builder_add_stack(builder, stack ? stack : &without_frames,
					builder->window->stacks);
}

static int build_supplement(struct window_builder *builder, const struct missing_numbers *missing)
{
	struct process_table *table = builder->collector->options.processes;
	struct window *window = builder->window;
	size_t n_processes = 0;
	int r;

	r = hash_table_new(sizeof(uint32_t), 0, 0, &builder->processes);
	if (r < 0)
		return r;
	(void)process_table_each(table, count_process, &n_processes);
	window->processes =
		arena_alloc_array(builder->arena, n_processes + 1, sizeof(*window->processes));
	window->stacks =
		arena_alloc_array(builder->arena, missing->n_stacks + 1, sizeof(*window->stacks));
	if (!window->processes || !window->stacks)
		return -ENOMEM;
	r = process_table_each(table, supplement_process, builder);
	if (r < 0)
		return r;
	r = window_builder_series(builder, 0);
	if (r < 0)
		return r;
	for (size_t i = 0; i < missing->n_stacks; i++) {
		r = supplement_stack(builder, missing->stacks[i]);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < missing->n_executables; i++) {
		r = window_builder_add_executable(builder, missing->executables[i]);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < missing->n_code_objects; i++) {
		r = window_builder_add_code_object(builder, missing->code_objects[i]);
		if (r < 0)
			return r;
	}
	return window_builder_finish(builder);
}

int collector_supplement(struct collector *collector, const struct missing_numbers *missing,
			 struct window *window)
{
	struct window_builder builder;
	int r;

	collector_forget(collector, true);
	r = window_builder_init(&builder, collector, window);
	if (r == 0)
		r = build_supplement(&builder, missing);
	window_builder_release(&builder);
	return r;
}
