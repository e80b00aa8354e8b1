/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of definitions: executables and processes. They may refer to numbers that earlier
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
		r = decode_labels(decode,
				  &(struct label_columns){
					  .names = process->label_name,
					  .values = process->label_value,
					  .n_names = process->n_label_name,
					  .n_values = process->n_label_value,
					  .max = MAX_LABELS_PER_PROCESS,
					  .owner = "processes",
					  .item = index,
				  },
				  &out->labels, &out->n_labels);
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
