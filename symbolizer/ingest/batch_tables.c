/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of definitions: executables, processes, series. They may refer to numbers that earlier
 * batches defined; the store checks whether it knows these.
 */

#include "symbolizer/ingest/batch_checks.h"

static int decode_segments(struct decode *decode, const Hearth__V1__Executable *executable,
			   size_t index, struct batch_executable *out)
{
	size_t count = executable->n_segment_file_offset;

	if (executable->n_segment_vaddr != count || executable->n_segment_file_size != count)
		return decode_bad(
			decode, "executables[%zu]: segment columns of %zu, %zu and %zu items",
			index, count, executable->n_segment_vaddr, executable->n_segment_file_size);
	if (count > MAX_LOAD_SEGMENTS)
		return decode_bad(decode, "executables[%zu]: %zu segments, at most %d", index,
				  count, MAX_LOAD_SEGMENTS);
	out->segments = decode_array(decode, count, sizeof(*out->segments));
	if (!out->segments)
		return decode_no_room(decode);
	for (size_t i = 0; i < count; i++) {
		struct load_segment segment = {
			.file_offset = executable->segment_file_offset[i],
			.vaddr = executable->segment_vaddr[i],
			.file_size = executable->segment_file_size[i],
			.memory_size = executable->segment_file_size[i],
		};

		if (segment.file_size > UINT64_MAX - segment.vaddr ||
		    segment.file_size > UINT64_MAX - segment.file_offset)
			return decode_bad(
				decode, "executables[%zu]: segment %zu is beyond the address space",
				index, i);
		out->segments[i] = segment;
	}
	out->n_segments = (uint32_t)count;
	return 0;
}

static int decode_executable(struct decode *decode, size_t index, struct batch_executable *out)
{
	const Hearth__V1__Executable *executable = decode->message->executables[index];
	int r;

	if (executable->number == 0)
		return decode_bad(decode, "executables[%zu].number is 0", index);
	out->number = executable->number;
	if (executable->id_kind != EXECUTABLE_ID_NONE || executable->id.len > 0) {
		r = executable_id_set(&out->id, executable->id_kind, executable->id.data,
				      executable->id.len);
		if (r < 0)
			return decode_bad(decode, "executables[%zu].id: kind %u with %zu bytes",
					  index, executable->id_kind, executable->id.len);
	}
	if (executable->role > ROLE_VDSO)
		return decode_bad(decode, "executables[%zu].role is %u", index, executable->role);
	out->role = (enum executable_role)executable->role;
	r = decode_string(decode, executable->name, "executables.name", index, &out->name);
	if (r < 0)
		return r;
	return decode_segments(decode, executable, index, out);
}

int decode_executables(struct decode *decode)
{
	size_t count = decode->message->n_executables;
	struct batch_executable *executables = decode_array(decode, count, sizeof(*executables));

	if (!executables)
		return decode_no_room(decode);
	for (size_t i = 0; i < count; i++) {
		int r = decode_executable(decode, i, &executables[i]);

		if (r < 0)
			return r;
	}
	decode->batch->executables = executables;
	decode->batch->n_executables = (uint32_t)count;
	return 0;
}

static int decode_paths(struct decode *decode, const Hearth__V1__Process *process, size_t index,
			struct batch_process *out)
{
	size_t count = process->n_path_executable;
	int r;

	if (process->n_path != count)
		return decode_bad(decode, "processes[%zu]: path columns of %zu and %zu items",
				  index, count, process->n_path);
	if (count > DECODE_MAX_PATHS)
		return decode_bad(decode, "processes[%zu]: %zu paths, at most %d", index, count,
				  DECODE_MAX_PATHS);
	out->paths = decode_array(decode, count, sizeof(*out->paths));
	if (!out->paths)
		return decode_no_room(decode);
	for (size_t i = 0; i < count; i++) {
		if (process->path_executable[i] == 0)
			return decode_bad(decode, "processes[%zu].path_executable[%zu] is 0", index,
					  i);
		out->paths[i].executable = process->path_executable[i];
		r = decode_string(decode, process->path[i], "processes.path", index,
				  &out->paths[i].path);
		if (r < 0)
			return r;
	}
	out->n_paths = (uint32_t)count;
	return 0;
}

static int decode_labels(struct decode *decode, const Hearth__V1__Process *process, size_t index,
			 struct batch_process *out)
{
	size_t count = process->n_label_name;
	int r;

	if (process->n_label_value != count)
		return decode_bad(decode, "processes[%zu]: label columns of %zu and %zu items",
				  index, count, process->n_label_value);
	if (count > MAX_LABELS_PER_PROCESS)
		return decode_bad(decode, "processes[%zu]: %zu labels, at most %d", index, count,
				  MAX_LABELS_PER_PROCESS);
	out->labels = decode_array(decode, count, sizeof(*out->labels));
	if (!out->labels)
		return decode_no_room(decode);
	for (size_t i = 0; i < count; i++) {
		r = decode_string(decode, process->label_name[i], "processes.label_name", index,
				  &out->labels[i].name);
		if (r == 0)
			r = decode_string(decode, process->label_value[i], "processes.label_value",
					  index, &out->labels[i].value);
		if (r < 0)
			return r;
		if (out->labels[i].name[0] == '\0')
			return decode_bad(decode, "processes[%zu].label_name[%zu] is empty", index,
					  i);
	}
	out->n_labels = (uint32_t)count;
	return 0;
}

static int decode_process(struct decode *decode, size_t index, struct batch_process *out)
{
	const Hearth__V1__Process *process = decode->message->processes[index];
	int r;

	if (process->number == 0)
		return decode_bad(decode, "processes[%zu].number is 0", index);
	if (process->start_time_ns > DECODE_MAX_TIME_NS)
		return decode_bad(decode, "processes[%zu].start_time_ns is out of range", index);
	out->number = process->number;
	out->pid = process->pid;
	out->parent_pid = process->parent_pid;
	out->start_time_ns = process->start_time_ns;
	out->main_executable = process->main_executable;
	out->kernel_thread = process->kernel_thread;
	out->without_stacks = process->without_stacks;
	r = decode_string(decode, process->name, "processes.name", index, &out->name);
	if (r == 0)
		r = decode_string(decode, process->executable_path, "processes.executable_path",
				  index, &out->executable_path);
	if (r == 0)
		r = decode_paths(decode, process, index, out);
	if (r == 0)
		r = decode_labels(decode, process, index, out);
	return r;
}

int decode_processes(struct decode *decode)
{
	size_t count = decode->message->n_processes;
	struct batch_process *processes = decode_array(decode, count, sizeof(*processes));

	if (!processes)
		return decode_no_room(decode);
	for (size_t i = 0; i < count; i++) {
		int r = decode_process(decode, i, &processes[i]);

		if (r < 0)
			return r;
	}
	decode->batch->processes = processes;
	decode->batch->n_processes = (uint32_t)count;
	return 0;
}

static int decode_one_series(struct decode *decode, size_t index, struct batch_series *out)
{
	const Hearth__V1__Series *series = decode->message->series[index];
	bool empty = series->event_type == EVENT_NONE && series->process == 0;

	if (series->number == 0)
		return decode_bad(decode, "series[%zu].number is 0", index);
	if (!empty && (series->event_type == EVENT_NONE || series->event_type >= EVENT_TYPE_END))
		return decode_bad(decode, "series[%zu].event_type is %u", index,
				  series->event_type);
	if (!empty && series->process == 0)
		return decode_bad(decode, "series[%zu].process is 0", index);
	if (series->cpu_plus_one > DECODE_MAX_CPUS)
		return decode_bad(decode, "series[%zu].cpu_plus_one is %u", index,
				  series->cpu_plus_one);
	if (series->period_ns > DECODE_MAX_PERIOD_NS)
		return decode_bad(decode, "series[%zu].period_ns is more than an hour", index);
	*out = (struct batch_series){
		.number = series->number,
		.process = series->process,
		.tid = series->tid,
		.type = (enum event_type)series->event_type,
		.cpu = (int)series->cpu_plus_one - 1,
		.period_ns = series->period_ns,
	};
	return decode_string(decode, series->thread_name, "series.thread_name", index,
			     &out->thread_name);
}

int decode_series(struct decode *decode)
{
	size_t count = decode->message->n_series;
	struct batch_series *series = decode_array(decode, count, sizeof(*series));

	if (!series)
		return decode_no_room(decode);
	for (size_t i = 0; i < count; i++) {
		int r = decode_one_series(decode, i, &series[i]);

		if (r < 0)
			return r;
	}
	decode->batch->series = series;
	decode->batch->n_series = (uint32_t)count;
	return 0;
}
