/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's side of the comparison, and the lines that both sides write. */
#include "window_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/limits.h"

void text_segment(struct bytes *out, uint64_t file_offset, uint64_t vaddr, uint64_t file_size)
{
	(void)bytes_append_format(out, "  segment %" PRIx64 " %" PRIx64 " %" PRIx64 "\n",
				  file_offset, vaddr, file_size);
}

void text_frame(struct bytes *out, unsigned int kind, uint32_t executable, uint64_t address)
{
	(void)bytes_append_format(out, "  frame %u %u %" PRIx64 "\n", kind, executable, address);
}

void text_row(struct bytes *out, uint32_t series, uint64_t slot, uint32_t stack, uint64_t value)
{
	(void)bytes_append_format(out, "row %u %" PRIu64 " %u %" PRIu64 "\n", series, slot, stack,
				  value);
}

void text_pair(struct bytes *out, const char *what, const char *name, const char *value)
{
	(void)bytes_append_format(out, "  %s %s=%s\n", what, name, value);
}

static void text_host(const struct window_host *host, struct bytes *out)
{
	(void)bytes_append_format(out, "host %s %s %s %s %s %s %u\n", host->name, host->machine_id,
				  host->boot_id, HEARTH_VERSION, host->kernel_release,
				  host->architecture, host->n_cpus);
	for (size_t i = 0; i < host->n_ips; i++)
		text_pair(out, "ip", "", host->ips[i]);
	for (size_t i = 0; i < host->n_labels; i++)
		text_pair(out, "label", host->labels[i].name, host->labels[i].value);
}

static void text_executable(const struct executable *executable, struct bytes *out)
{
	char id[EXECUTABLE_ID_TEXT_SIZE];

	executable_id_format(&executable->id, id);
	(void)bytes_append_format(out, "executable %u %s %s %d\n", executable->number, id,
				  executable->name, (int)executable->role);
	for (size_t i = 0; i < executable->n_segments; i++)
		text_segment(out, executable->segments[i].file_offset,
			     executable->segments[i].vaddr, executable->segments[i].file_size);
}

static void text_process(const struct window_process *process, struct bytes *out)
{
	(void)bytes_append_format(out, "process %u %u %u %" PRIu64 " %s %s %u %d %d\n",
				  process->number, process->pid, process->parent_pid,
				  process->start_time_ns, process->name, process->executable_path,
				  process->main_executable, process->kernel_thread,
				  process->without_stacks);
	for (size_t i = 0; i < process->n_paths; i++)
		(void)bytes_append_format(out, "  path %u %s\n", process->paths[i].executable,
					  process->paths[i].path);
	for (size_t i = 0; i < process->n_labels; i++)
		text_pair(out, "label", process->labels[i].name, process->labels[i].value);
}

static int compare_stack_numbers(const void *a, const void *b)
{
	const struct window_stack *one = a, *other = b;

	return (one->number > other->number) - (one->number < other->number);
}

static void text_stacks(struct window *window, struct bytes *out)
{
	if (window->n_stacks > 1)
		qsort(window->stacks, window->n_stacks, sizeof(*window->stacks),
		      compare_stack_numbers);
	for (size_t i = 0; i < window->n_stacks; i++) {
		const struct window_stack *stack = &window->stacks[i];

		(void)bytes_append_format(out, "stack %u %u\n", stack->number, stack->cut);
		for (uint32_t k = 0; k < stack->n_frames; k++)
			text_frame(out, stack->frames[k].kind, stack->frames[k].object,
				   stack->frames[k].address);
	}
}

static const char *known_text(const char *text)
{
	return text ? text : "";
}

static void text_code_object(const struct code_object *object, struct bytes *out)
{
	const struct code_content *content = &object->content;

	(void)bytes_append_format(out, "code %u %s %s %s %s %u ", object->number,
				  known_text(content->language), known_text(content->function),
				  known_text(content->qualified_name), known_text(content->file),
				  content->first_line);
	(void)bytes_append(out, content->line_table.data, content->line_table.size);
	(void)bytes_append_text(out, "\n");
}

static int compare_rows(const void *a, const void *b)
{
	const struct window_row *one = a, *other = b;

	if (one->series != other->series)
		return one->series < other->series ? -1 : 1;
	if (one->slot != other->slot)
		return one->slot < other->slot ? -1 : 1;
	return (one->stack > other->stack) - (one->stack < other->stack);
}

/* Slots are on the wall clock, as in the server. */
static void text_rows(struct window *window, struct bytes *out)
{
	uint64_t offset = (window->closed_wall_ns - window->closed_monotonic_ns) / SLOT_NS;

	if (window->n_rows > 1)
		qsort(window->rows, window->n_rows, sizeof(*window->rows), compare_rows);
	for (size_t i = 0; i < window->n_rows; i++) {
		const struct window_row *row = &window->rows[i];
		uint64_t value = row->value;

		while (i + 1 < window->n_rows && compare_rows(row, &window->rows[i + 1]) == 0)
			value += window->rows[++i].value;
		text_row(out, row->series, row->slot + offset, row->stack, value);
	}
}

void window_text(struct window *window, struct bytes *out)
{
	(void)bytes_append_format(out, "batch %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
				  window->epoch, window->sequence,
				  window->opened_monotonic_ns + window->closed_wall_ns -
					  window->closed_monotonic_ns,
				  window->closed_wall_ns);
	text_host(&window->host, out);
	for (size_t i = 0; i < window->n_executables; i++)
		text_executable(window->executables[i], out);
	for (size_t i = 0; i < window->n_processes; i++)
		text_process(&window->processes[i], out);
	for (size_t i = 0; i < window->n_series; i++) {
		const struct window_series *series = &window->series[i];

		(void)bytes_append_format(out, "series %u %u %u %s %d %d %" PRIu64 "\n",
					  series->number, series->process, series->tid,
					  series->thread_name, (int)series->type, series->cpu,
					  series->period_ns);
		for (size_t k = 0; k < series->n_labels; k++)
			text_pair(out, "label", series->labels[k].name, series->labels[k].value);
	}
	text_stacks(window, out);
	text_rows(window, out);
	for (size_t i = 0; i < window->n_code_objects; i++)
		text_code_object(window->code_objects[i], out);
	for (size_t i = 0; i < window->n_counters; i++)
		(void)bytes_append_format(out, "counter %s %" PRIu64 "\n", window->counters[i].name,
					  window->counters[i].value);
}
