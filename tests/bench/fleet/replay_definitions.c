/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches are visited from the newest to the oldest, because the last definition of a number wins.
 */

#include "tests/bench/fleet/replay.h"
#include "tests/support/batch_builder.h"

/* The tables with numbers. */
enum table { EXECUTABLES, CODE_OBJECTS, PROCESSES, SERIES, STACKS, TABLE_COUNT };

struct collector {
	struct batch_builder *builder;
	bool has_all;
	struct hash_table *wanted[TABLE_COUNT]; /* sets of u32 numbers */
	struct hash_table *added[TABLE_COUNT];
	struct hash_table *names; /* set of u64 keys of named frames */
};

static void release(struct collector *collector)
{
	for (int table = 0; table < TABLE_COUNT; table++) {
		(void)hash_table_free(collector->wanted[table]);
		(void)hash_table_free(collector->added[table]);
	}
	(void)hash_table_free(collector->names);
	(void)batch_builder_free(collector->builder);
}

/* 1: the number is wanted and was not added before. */
static int take(struct collector *collector, enum table table, uint32_t number)
{
	if (!collector->has_all && !hash_table_find(collector->wanted[table], &number))
		return 0;
	return hash_table_insert(collector->added[table], &number, NULL);
}

static void add_executable(struct batch_builder *builder, const struct batch_executable *executable)
{
	bool has_id = executable->id.kind != EXECUTABLE_ID_NONE;

	batch_builder_executable(builder, executable->number, has_id ? &executable->id : NULL,
				 executable->name, executable->role);
	for (uint32_t i = 0; i < executable->n_segments; i++)
		batch_builder_segment(builder, executable->segments[i].file_offset,
				      executable->segments[i].vaddr,
				      executable->segments[i].file_size);
}

static void add_process(struct batch_builder *builder, const struct batch_process *process)
{
	batch_builder_process(builder, process->number, process->pid, process->start_time_ns,
			      process->name, process->main_executable);
	batch_builder_process_details(builder, process);
	for (uint32_t i = 0; i < process->n_paths; i++)
		batch_builder_path(builder, process->paths[i].executable, process->paths[i].path);
	for (uint32_t i = 0; i < process->n_labels; i++)
		batch_builder_label(builder, process->labels[i].name, process->labels[i].value);
}

static void add_series(struct batch_builder *builder, const struct batch_series *series)
{
	if (series->described)
		batch_builder_described_series(builder, series->number, series->process,
					       series->tid, series->described);
	else
		batch_builder_series(builder, series->number, series->process, series->tid,
				     series->thread_name, series->type, series->period_ns);
	batch_builder_cpu(builder, series->cpu);
	for (uint32_t i = 0; i < series->n_labels; i++)
		batch_builder_series_label(builder, series->labels[i].name,
					   series->labels[i].value);
}

static int add_tables(struct collector *collector, const struct batch *batch)
{
	struct batch_builder *builder = collector->builder;
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < batch->n_executables; i++) {
		r = take(collector, EXECUTABLES, batch->executables[i].number);
		if (r > 0)
			add_executable(builder, &batch->executables[i]);
	}
	for (uint32_t i = 0; r >= 0 && i < batch->n_processes; i++) {
		r = take(collector, PROCESSES, batch->processes[i].number);
		if (r > 0)
			add_process(builder, &batch->processes[i]);
	}
	for (uint32_t i = 0; r >= 0 && i < batch->n_series; i++) {
		r = take(collector, SERIES, batch->series[i].number);
		if (r > 0)
			add_series(builder, &batch->series[i]);
	}
	for (uint32_t i = 0; r >= 0 && i < batch->n_code_objects; i++) {
		r = take(collector, CODE_OBJECTS, batch->code_objects[i].number);
		if (r > 0)
			batch_builder_code_object(builder, &batch->code_objects[i]);
	}
	return MIN(r, 0);
}

static int add_stacks(struct collector *collector, const struct batch *batch)
{
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < batch->n_stacks; i++) {
		const struct batch_stack *stack = &batch->stacks[i];

		r = take(collector, STACKS, stack->number);
		if (r > 0)
			batch_builder_stack(collector->builder, stack->number, stack->cut,
					    stack->frames, stack->n_frames);
	}
	for (uint32_t i = 0; r >= 0 && i < batch->n_named_frames; i++) {
		const struct batch_named_frame *frame = &batch->named_frames[i];

		r = hash_table_insert(collector->names, &frame->key, NULL);
		if (r > 0)
			(void)batch_builder_named_frame(collector->builder, frame->name);
	}
	return MIN(r, 0);
}

static int want(struct hash_table *set, const uint32_t *numbers, size_t count)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < count; i++)
		r = hash_table_insert(set, &numbers[i], NULL);
	return MIN(r, 0);
}

static int init(struct collector *collector, const Hearth__V1__BatchAnswer *unknown)
{
	struct hash_table **wanted = collector->wanted;
	int r = hash_table_new(sizeof(uint64_t), 0, 0, &collector->names);

	for (int table = 0; r == 0 && table < TABLE_COUNT; table++) {
		r = hash_table_new(sizeof(uint32_t), 0, 0, &wanted[table]);
		if (r == 0)
			r = hash_table_new(sizeof(uint32_t), 0, 0, &collector->added[table]);
	}
	collector->has_all = !unknown;
	if (r < 0 || !unknown)
		return r;
	r = want(wanted[EXECUTABLES], unknown->unknown_executables, unknown->n_unknown_executables);
	if (r == 0)
		r = want(wanted[CODE_OBJECTS], unknown->unknown_code_objects,
			 unknown->n_unknown_code_objects);
	if (r == 0)
		r = want(wanted[PROCESSES], unknown->unknown_processes,
			 unknown->n_unknown_processes);
	if (r == 0)
		r = want(wanted[SERIES], unknown->unknown_series, unknown->n_unknown_series);
	if (r == 0)
		r = want(wanted[STACKS], unknown->unknown_stacks, unknown->n_unknown_stacks);
	return r;
}

int replay_definitions(const struct capture *capture, size_t n_batches,
		       const Hearth__V1__BatchAnswer *unknown, struct batch_builder **ret_builder,
		       Hearth__V1__Batch **ret_message)
{
	const Hearth__V1__Batch *last = capture->batches[MAX(n_batches, (size_t)1) - 1].message;
	scoped(release) struct collector collector = {};
	Hearth__V1__Batch *message;
	int r;

	collector.builder = batch_builder_new(0, 1, 1, BUILDER_BOOT_WALL_NS, BUILDER_BOOT_WALL_NS);
	if (last->format == 2)
		batch_builder_use_format_2(collector.builder);
	r = init(&collector, unknown);
	for (size_t i = n_batches; r == 0 && i-- > 0;) {
		r = add_tables(&collector, &capture->batches[i].batch);
		if (r == 0)
			r = add_stacks(&collector, &capture->batches[i].batch);
	}
	if (r < 0)
		return r;
	message = batch_builder_message(collector.builder);
	message->host = last->host;
	/* The message covers no time. */
	message->opened_monotonic_ns = message->closed_monotonic_ns =
		n_batches ? last->closed_monotonic_ns : last->opened_monotonic_ns;
	*ret_message = message;
	*ret_builder = take_ptr(collector.builder);
	return 0;
}
