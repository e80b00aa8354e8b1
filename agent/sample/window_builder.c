/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closes a window: decides which definitions the batch must include with its rows.
 *
 *   rows -> series -> processes -> executables (main program, paths)
 *   stacks -> executables, code objects
 */
#include "agent/sample/window_builder.h"

#include <stdlib.h>
#include <string.h>

#include "common/frame.h"

/* Labels that are added to those of the process: version, service. */
#define EXTRA_LABELS 2

int window_builder_add_executable(struct window_builder *builder, uint32_t number)
{
	struct executable *executable;
	int r;

	if (number == 0)
		return 0;
	r = hash_table_insert(builder->executables, &number, NULL);
	if (r <= 0)
		return r;
	executable = executable_cache_by_number(builder->collector->options.executables, number);
	if (!executable ||
	    !definitions_must_send(&builder->collector->definitions,
				   &executable->first_sent_sequence, builder->window->sequence))
		return 0;
	return vec_push(&builder->included, executable);
}

/* An object that was removed is defined as empty, if the server asks for it. */
int window_builder_add_code_object(struct window_builder *builder, uint32_t number)
{
	struct collector *collector = builder->collector;
	struct code_object *object;
	int r;

	r = hash_table_insert(builder->code_objects, &number, NULL);
	if (r <= 0)
		return r;
	object = code_objects_get(frame_resolver_code_objects(collector->options.frames), number);
	if (!object) {
		object = arena_alloc(builder->arena, sizeof(*object));
		if (!object)
			return -ENOMEM;
		*object = (struct code_object){ .number = number };
	} else if (!definitions_must_send(&collector->definitions, &object->first_sent_sequence,
					  builder->window->sequence)) {
		return 0;
	}
	return vec_push(&builder->included_code, object);
}

static int include_object(struct window_builder *builder, uint32_t object)
{
	return object & FRAME_CODE_OBJECT
		       ? window_builder_add_code_object(builder, object & ~FRAME_CODE_OBJECT)
		       : window_builder_add_executable(builder, object);
}

static int build_labels(struct window_builder *builder, const struct process *process,
			struct window_process *ret_process)
{
	const struct string_table *strings = builder->collector->options.strings;
	struct window_label *labels = arena_alloc_array(
		builder->arena, process->n_labels + EXTRA_LABELS, sizeof(*labels));
	const char *service = process->name;
	size_t count = 0;

	if (!labels)
		return -ENOMEM;
	for (size_t i = 0; i < process->n_labels; i++) {
		labels[count].name = string_table_text(strings, process->labels[i].name);
		labels[count].value = string_table_text(strings, process->labels[i].value);
		if (strcmp(labels[count].name, "unit") == 0)
			service = arena_copy_text(builder->arena, labels[count].value,
						  strcspn(labels[count].value, "."));
		count++;
	}
	if (process->main_executable) {
		char text[EXECUTABLE_ID_TEXT_SIZE];

		executable_id_format(&process->main_executable->id, text);
		labels[count].name = "version";
		labels[count++].value = arena_copy_text(builder->arena, text, strlen(text));
	}
	labels[count].name = "service";
	labels[count++].value = service;
	for (size_t i = 0; i < count; i++) {
		if (!labels[i].value)
			return -ENOMEM;
	}
	ret_process->labels = labels;
	ret_process->n_labels = count;
	return 0;
}

int window_builder_process(struct window_builder *builder, const struct process *process,
			   struct window_process *ret_process)
{
	const struct string_table *strings = builder->collector->options.strings;
	struct window_path *paths =
		arena_alloc_array(builder->arena, process->n_paths + 1, sizeof(*paths));
	size_t n_paths = 0;
	int r;

	if (!paths)
		return -ENOMEM;
	for (size_t i = 0; i < process->n_paths; i++) {
		uint32_t number = process->paths[i].executable;

		/* An executable that was evicted from the cache can no longer be defined. */
		if (!executable_cache_by_number(builder->collector->options.executables, number))
			continue;
		paths[n_paths].executable = number;
		paths[n_paths++].path = string_table_text(strings, process->paths[i].path);
		r = window_builder_add_executable(builder, number);
		if (r < 0)
			return r;
	}
	*ret_process = (struct window_process){
		.number = process->number,
		.pid = process->pid,
		.parent_pid = process->parent_pid,
		.start_time_ns = process->start_time_ns,
		.name = process->name,
		.executable_path = string_table_text(strings, process->executable_path),
		.main_executable = process->main_executable ? process->main_executable->number : 0,
		.kernel_thread = process->kernel_thread,
		.without_stacks = process->unprofiled,
		.paths = paths,
		.n_paths = n_paths,
	};
	r = window_builder_add_executable(builder, ret_process->main_executable);
	if (r < 0)
		return r;
	return build_labels(builder, process, ret_process);
}

static int build_processes(struct window_builder *builder)
{
	struct collector *collector = builder->collector;
	size_t capacity = hash_table_count(collector->processes);
	struct window_process *processes =
		arena_alloc_array(builder->arena, capacity + 1, sizeof(*processes));
	size_t cursor = 0;
	size_t count = 0;
	void *value;
	int r;

	if (!processes)
		return -ENOMEM;
	while (hash_table_next(collector->processes, &cursor, NULL, &value)) {
		struct process *process = *(struct process **)value;

		if (!definitions_must_send(&collector->definitions, &process->first_sent_sequence,
					   builder->window->sequence))
			continue;
		r = window_builder_process(builder, process, &processes[count++]);
		if (r < 0)
			return r;
	}
	builder->window->processes = processes;
	builder->window->n_processes = count;
	return 0;
}

/* Adds series sampled in @window_number (0: all series) that the server does not know. */
int window_builder_series(struct window_builder *builder, uint64_t window_number)
{
	struct collector *collector = builder->collector;
	struct hash_table *table = collector->definitions.series;
	struct window_series *series =
		arena_alloc_array(builder->arena, hash_table_count(table) + 1, sizeof(*series));
	const void *found_key;
	size_t cursor = 0;
	size_t count = 0;
	void *value;

	if (!series)
		return -ENOMEM;
	while (hash_table_next(table, &cursor, &found_key, &value)) {
		const struct series_key *key = found_key;
		struct series_number *number = value;

		if (window_number && number->last_window != window_number)
			continue;
		if (builder->processes && !hash_table_find(builder->processes, &key->process))
			continue; /* its process has ended and is not defined in this batch */
		if (!definitions_must_send(&collector->definitions, &number->first_sent_sequence,
					   builder->window->sequence))
			continue;
		series[count].number = number->number;
		series[count].process = key->process;
		series[count].tid = key->tid;
		series[count].thread_name =
			arena_copy_text(builder->arena, key->thread_name, strlen(key->thread_name));
		series[count].type = (enum event_type)key->type;
		series[count].cpu = key->cpu;
		series[count].period_ns = key->period_ns;
		if (!series[count++].thread_name)
			return -ENOMEM;
	}
	builder->window->series = series;
	builder->window->n_series = count;
	return 0;
}

int window_builder_add_stack(struct window_builder *builder, const struct open_stack *stack,
			     struct window_stack *stacks)
{
	int r;

	for (uint32_t i = 0; i < stack->n_frames; i++) {
		r = include_object(builder, stack->frames[i].object);
		if (r < 0)
			return r;
	}
	stacks[builder->window->n_stacks++] = (struct window_stack){
		.number = stack->number,
		.cut = stack->cut,
		.n_frames = stack->n_frames,
		.frames = stack->frames,
	};
	return 0;
}

/* Adds the samples of a stack to the executable of its innermost user frame. */
static void count_samples(struct collector *collector, const struct open_stack *stack)
{
	for (uint32_t i = 0; i < stack->n_frames; i++) {
		const struct window_frame *frame = &stack->frames[i];
		struct executable *executable;

		if (frame_kind_is_kernel(frame->kind) || frame->object & FRAME_CODE_OBJECT)
			continue;
		executable =
			executable_cache_by_number(collector->options.executables, frame->object);
		if (executable)
			executable->n_innermost += stack->n_samples;
		return;
	}
}

static int build_stacks(struct window_builder *builder)
{
	struct collector *collector = builder->collector;
	const struct open_stack_vec *open = &collector->open.stacks;
	int r;

	builder->window->stacks = arena_alloc_array(builder->arena, open->count + 1,
						    sizeof(*builder->window->stacks));
	if (!builder->window->stacks)
		return -ENOMEM;
	for (size_t i = 0; i < open->count; i++) {
		struct stack_number *number = hash_table_find(collector->definitions.stacks,
							      &open->items[i].content_hash);

		count_samples(collector, &open->items[i]);
		if (open->items[i].is_duplicate)
			continue;
		/*
		 * If the number was swept, the stack is sent in any case; then the server can read
		 * all rows.
		 */
		if (number && number->number == open->items[i].number &&
		    !definitions_must_send(&collector->definitions, &number->first_sent_sequence,
					   builder->window->sequence))
			continue;
		r = window_builder_add_stack(builder, &open->items[i], builder->window->stacks);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Copies items into the arena. The result is not NULL if there are no items. */
static void *copy_items(struct arena *arena, const void *items, size_t count, size_t item_size)
{
	void *copy = arena_alloc_array(arena, count + 1, item_size);

	if (copy && count > 0)
		memcpy(copy, items, count * item_size);
	return copy;
}

int window_builder_finish(struct window_builder *builder)
{
	builder->window->executables =
		copy_items(builder->arena, builder->included.items, builder->included.count,
			   sizeof(*builder->included.items));
	builder->window->n_executables = builder->included.count;
	builder->window->code_objects =
		copy_items(builder->arena, builder->included_code.items,
			   builder->included_code.count, sizeof(*builder->included_code.items));
	builder->window->n_code_objects = builder->included_code.count;
	return builder->window->executables && builder->window->code_objects ? 0 : -ENOMEM;
}

static void open_next_window(struct collector *collector)
{
	struct window_stacks oldest = collector->older;

	collector->older = collector->before;
	collector->before = collector->open;
	collector->open = oldest;
	arena_clear(collector->open.arena);
	vec_clear(&collector->open.stacks);
	hash_table_clear(collector->open.by_sample_hash);
	hash_table_clear(collector->open.by_content);
	hash_table_clear(collector->processes);
	hash_table_clear(collector->process_stacks);
	collector->window++;
	code_objects_begin_window(frame_resolver_code_objects(collector->options.frames),
				  collector->window);
	definitions_sweep(&collector->definitions, collector->window);
	process_table_sweep(collector->options.processes, collector->window);
}

int window_builder_init(struct window_builder *builder, struct collector *collector,
			struct window *window)
{
	int r;

	*builder = (struct window_builder){ .collector = collector,
					    .window = window,
					    .arena = collector->close_arena };
	arena_clear(collector->close_arena);
	r = hash_table_new(sizeof(uint32_t), 0, 0, &builder->executables);
	return r < 0 ? r : hash_table_new(sizeof(uint32_t), 0, 0, &builder->code_objects);
}

void window_builder_release(struct window_builder *builder)
{
	builder->executables = hash_table_free(builder->executables);
	builder->processes = hash_table_free(builder->processes);
	builder->code_objects = hash_table_free(builder->code_objects);
	vec_release(&builder->included);
	vec_release(&builder->included_code);
}

static int build_window(struct window_builder *builder)
{
	struct collector *collector = builder->collector;
	struct window *window = builder->window;
	int r;

	r = build_processes(builder);
	if (r < 0)
		return r;
	r = window_builder_series(builder, collector->window);
	if (r < 0)
		return r;
	r = build_stacks(builder);
	if (r < 0)
		return r;
	r = window_builder_finish(builder);
	if (r < 0)
		return r;
	window->rows = copy_items(builder->arena, collector->rows.items, collector->rows.count,
				  sizeof(*collector->rows.items));
	window->n_rows = collector->rows.count;
	return window->rows ? 0 : -ENOMEM;
}

int collector_close(struct collector *collector, struct window *window)
{
	struct window_builder builder;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(collector->folds); i++) {
		const struct event_fold *fold = &collector->folds[i];

		if (fold->finish)
			fold->finish(fold->arg, collector->rows.items);
	}
	r = collector_name_code(collector);
	if (r == -ENOMEM)
		collector->stats.stacks_dropped++;
	r = window_builder_init(&builder, collector, window);
	if (r == 0)
		r = build_window(&builder);
	collector->stats.rows += collector->rows.count;
	vec_clear(&collector->rows);
	window_builder_release(&builder);
	open_next_window(collector);
	return r;
}
