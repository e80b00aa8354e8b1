/* SPDX-License-Identifier: Apache-2.0 */
/* Applies events of the kernel to the process table: fork, exec, mmap, a new thread, exit. */
#include "agent/process/process_table_internal.h"

#include <string.h>

#include "agent/executable/file_finder.h"
#include "agent/process/proc_files.h"

static int apply_fork(struct process_table *table, const struct process_event *event)
{
	const struct process *parent = process_table_lookup(table, event->parent);
	struct process *child;
	int r;

	r = process_table_start_image(table, event->pid, &child);
	if (r < 0)
		return r;
	child->n_execs_known = true;
	child->parent_pid = event->parent;
	if (!parent)
		return 0;
	/*
	 * At the fork, a BPF program has copied the parent's entry in the BPF maps to the child, so
	 * the child has the parent's set of mappings (bpf/process_events.bpf.c).
	 */
	child->published = parent->published;
	return process_image_copy(child, parent);
}

int process_table_apply_exec(struct process_table *table, const struct process_event *event)
{
	struct process *old = process_table_lookup(table, event->pid);
	struct process *process;
	int r;

	r = process_table_start_image(table, event->pid, &process);
	if (r < 0)
		return r;
	if (old) {
		process->n_execs_known = old->n_execs_known;
		process->n_execs = (uint16_t)(old->n_execs + 1);
		process->parent_pid = old->parent_pid;
		process->start_time_ns = old->start_time_ns;
		r = process_image_copy_labels(process, old);
		if (r < 0)
			return r;
	}
	process->began_ns = event->time_ns;
	memcpy(process->image_name, event->comm, sizeof(process->image_name));
	process_image_apply_rules(&table->rules, process);
	return 0;
}

static int apply_mapping(struct process_table *table, const struct process_event *event)
{
	struct process *process = process_table_lookup(table, event->pid);
	struct process_mapping_source source = {
		.start = event->start,
		.end = event->end,
		.file_offset = event->file_offset,
		.path = event->path,
		.reported = {
			.device = event->device,
			.inode = event->inode,
			.generation = event->inode_generation,
			.mapped_ns = event->time_ns,
		},
	};
	int r;

	if (!process) {
		r = process_table_adopt(table, event->pid, &process);
		return r == -ENOMEM ? r : 0;
	}
	/*
	 * After an exec the kernel maps the program first, and the loader and libraries later. The
	 * path of anonymous memory is "//anon".
	 */
	if (!process->executable_path && event->path[0] == '/' && event->path[1] != '/') {
		bool deleted;

		/* Without " (deleted)", as proc_exe_read() returns the path. */
		r = string_table_intern(table->context.strings, event->path,
					mapped_path_length(event->path, &deleted),
					&process->executable_path);
		if (r < 0 && r != -ENOSPC)
			return r;
	}
	/* A process without samples is not published, so its entry need not be updated. */
	r = process->published ? process_table_want_publish(table, process) : 0;
	if (r < 0)
		return r;
	return process_image_add_mapping(&table->context, process, &source);
}

bool process_table_replaces(const struct process_table *table, const struct process_event *event)
{
	const struct process *process = process_table_lookup(table, event->pid);

	return process && process_image_replaces(
				  &table->context, process, event->start, event->end,
				  &(struct reported_file){ .device = event->device,
							   .inode = event->inode,
							   .generation = event->inode_generation });
}

static void apply_thread(struct process_table *table, const struct process_event *event)
{
	struct process *process = process_table_lookup(table, event->pid);

	if (process)
		process->has_threads = true;
}

static void end_process(struct process_table *table, struct process *process)
{
	uint32_t pid = process->pid;

	process_table_note_exit(table, process);
	if (process->number)
		return;
	/*
	 * The process has no sample, and none can follow, because samples and events are processed
	 * in order of time.
	 */
	hash_table_remove(table->by_pid, &pid);
	process_image_free(&table->context, process);
}

static void apply_exit(struct process_table *table, const struct process_event *event)
{
	struct process *process = process_table_lookup(table, event->pid);

	if (!process)
		return;
	/*
	 * The main thread has exited, and other threads may still run. process_table_sweep()
	 * detects when they have exited.
	 */
	if (process->number && process->has_threads && proc_has_live_threads(process->pid)) {
		process->leader_exited = true;
		return;
	}
	end_process(table, process);
}

int process_table_apply(struct process_table *table, const struct process_event *event)
{
	switch (event->type) {
	case PROCESS_FORKED:
		return apply_fork(table, event);
	case PROCESS_EXECED:
		return process_table_apply_exec(table, event);
	case PROCESS_MAPPED:
		return apply_mapping(table, event);
	case PROCESS_EXITED:
		apply_exit(table, event);
		return 0;
	case KERNEL_CODE_MADE:
	case KERNEL_CODE_FREED:
		return 0; /* they concern no process */
	case PROCESS_THREADED:
		apply_thread(table, event);
		return 0;
	}
	return 0;
}
