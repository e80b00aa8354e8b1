/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "symbolizer/ingest/batch_decoder.h"

/*
 * The server's side. Declares the functions of window_text.h, which cannot be included because it
 * includes headers of the agent.
 */
int decoded_text(struct bytes_view batch, struct bytes *out);
void text_segment(struct bytes *out, uint64_t file_offset, uint64_t vaddr, uint64_t file_size);
void text_frame(struct bytes *out, unsigned int kind, uint32_t executable, uint64_t address);
void text_row(struct bytes *out, uint32_t series, uint64_t slot, uint32_t stack, uint64_t value);
void text_pair(struct bytes *out, const char *what, const char *name, const char *value);

static void text_host(const struct batch_host *host, struct bytes *out)
{
	(void)bytes_append_format(out, "host %s %s %s %s %s %s %u\n", host->name, host->machine_id,
				  host->boot_id, host->agent_version, host->kernel_release,
				  host->architecture, host->n_cpus);
	for (uint32_t i = 0; i < host->n_ips; i++)
		text_pair(out, "ip", "", host->ips[i]);
	for (uint32_t i = 0; i < host->n_labels; i++)
		text_pair(out, "label", host->labels[i].name, host->labels[i].value);
}

static void text_executable(const struct batch_executable *executable, struct bytes *out)
{
	char id[EXECUTABLE_ID_TEXT_SIZE];

	executable_id_format(&executable->id, id);
	(void)bytes_append_format(out, "executable %u %s %s %d\n", executable->number, id,
				  executable->name, (int)executable->role);
	for (uint32_t i = 0; i < executable->n_segments; i++)
		text_segment(out, executable->segments[i].file_offset,
			     executable->segments[i].vaddr, executable->segments[i].file_size);
}

static void text_process(const struct batch_process *process, struct bytes *out)
{
	(void)bytes_append_format(out, "process %u %u %u %" PRIu64 " %s %s %u %d %d\n",
				  process->number, process->pid, process->parent_pid,
				  process->start_time_ns, process->name, process->executable_path,
				  process->main_executable, process->kernel_thread,
				  process->without_stacks);
	for (uint32_t i = 0; i < process->n_paths; i++)
		(void)bytes_append_format(out, "  path %u %s\n", process->paths[i].executable,
					  process->paths[i].path);
	for (uint32_t i = 0; i < process->n_labels; i++)
		text_pair(out, "label", process->labels[i].name, process->labels[i].value);
}

static int compare_stack_numbers(const void *a, const void *b)
{
	const struct batch_stack *one = a, *other = b;

	return (one->number > other->number) - (one->number < other->number);
}

static void text_tables(const struct batch *batch, struct bytes *out)
{
	if (batch->n_stacks > 1)
		qsort(batch->stacks, batch->n_stacks, sizeof(*batch->stacks),
		      compare_stack_numbers);
	for (uint32_t i = 0; i < batch->n_stacks; i++) {
		const struct batch_stack *stack = &batch->stacks[i];

		(void)bytes_append_format(out, "stack %u %u\n", stack->number, stack->cut);
		for (uint32_t k = 0; k < stack->n_frames; k++)
			text_frame(out, stack->frames[k].kind, stack->frames[k].object,
				   stack->frames[k].address);
	}
	for (uint32_t i = 0; i < batch->n_rows; i++)
		text_row(out, batch->rows[i].series, batch->rows[i].slot, batch->rows[i].stack,
			 batch->rows[i].value);
}

static void text_batch(const struct batch *batch, struct bytes *out)
{
	(void)bytes_append_format(out, "batch %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
				  batch->epoch, batch->sequence, batch->opened_wall_ns,
				  batch->closed_wall_ns);
	text_host(&batch->host, out);
	for (uint32_t i = 0; i < batch->n_executables; i++)
		text_executable(&batch->executables[i], out);
	for (uint32_t i = 0; i < batch->n_processes; i++)
		text_process(&batch->processes[i], out);
	for (uint32_t i = 0; i < batch->n_series; i++) {
		const struct batch_series *series = &batch->series[i];

		(void)bytes_append_format(out, "series %u %u %u %s %d %d %" PRIu64 "\n",
					  series->number, series->process, series->tid,
					  series->thread_name, (int)series->type, series->cpu,
					  series->period_ns);
		for (uint32_t k = 0; k < series->n_labels; k++)
			text_pair(out, "label", series->labels[k].name, series->labels[k].value);
	}
	text_tables(batch, out);
	for (uint32_t i = 0; i < batch->n_code_objects; i++) {
		const struct batch_code_object *object = &batch->code_objects[i];

		(void)bytes_append_format(out, "code %u %s %s %s %s %u ", object->number,
					  object->language, object->function,
					  object->qualified_name, object->file, object->first_line);
		(void)bytes_append(out, object->line_table.data, object->line_table.size);
		(void)bytes_append_text(out, "\n");
	}
	for (uint32_t i = 0; i < batch->n_counters; i++)
		(void)bytes_append_format(out, "counter %s %" PRIu64 "\n", batch->counters[i].name,
					  batch->counters[i].value);
}

int decoded_text(struct bytes_view encoded, struct bytes *out)
{
	scoped(arena_freep) struct arena *arena = NULL;
	char message[DECODE_MESSAGE_SIZE] = "";
	struct batch batch = {};
	int r;

	r = arena_new(BATCH_MAX_DECODED_BYTES, &arena);
	if (r == 0)
		r = batch_decode(encoded, arena, &batch, message);
	if (r < 0) {
		(void)bytes_append_text(out, message);
		return r;
	}
	text_batch(&batch, out);
	return 0;
}
