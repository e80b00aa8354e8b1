/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads /proc for the process table: processes that started before the agent, processes and
 * programs with lost events, and their mappings.
 */
#include "agent/process/process_table_internal.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "agent/executable/file_finder.h"
#include "agent/process/copied_code.h"
#include "agent/process/proc_files.h"

/* Shortest time between two readings of a process's maps for pcs that no mapping contains. */
#define MAPS_REREAD_NS NSEC_PER_SEC

struct mapping_sink {
	const struct process_image_context *context;
	struct process *process;
};

static int collect_mapping(void *arg, const struct proc_mapping *mapping)
{
	struct mapping_sink *sink = arg;
	struct process_mapping_source source = {
		.start = mapping->start,
		.end = mapping->end,
		.file_offset = mapping->file_offset,
		.reported = { .inode = mapping->inode },
	};
	char path[PATH_MAX];
	bool deleted;

	if (!mapping->executable || strcmp(mapping->path, "[vsyscall]") == 0)
		return 0;
	/* Without " (deleted)": the file is read through /proc/PID/map_files. */
	(void)snprintf(path, sizeof(path), "%.*s", (int)mapped_path_length(mapping->path, &deleted),
		       mapping->path);
	source.path = path;
	return process_image_add_mapping(sink->context, sink->process, &source);
}

/*
 * Replaces the mappings by those in /proc/PID/maps. Keeps the old ones if that file is empty or
 * unreadable. With @anew every file is looked up again, even if the old mapping at the same
 * addresses is identified.
 */
static int read_maps(struct process_table *table, struct process *process, uint64_t now_ns,
		     bool anew)
{
	struct mapping_sink sink = { .context = &table->context, .process = process };
	struct process_mappings *before = process->mappings;
	struct proc_stat stat;
	int r;

	process->maps_read_ns = now_ns ? now_ns : 1;
	/* Another process may have got the pid. */
	r = proc_stat_read(process->pid, &stat);
	if (r < 0)
		return r;
	if (!process_image_same_start(process->start_time_ns, stat.start_time_ns))
		return -ESRCH;
	process->mappings = NULL;
	r = process_image_read_maps(&table->context, process->pid, collect_mapping, &sink);
	if (r < 0 || !process->mappings) {
		/* Not permitted, or the process is exiting: keep the mappings of the events. */
		process_image_drop_mappings(&table->context, process);
		process->mappings = before;
		return r;
	}
	copied_code_find_all(&table->context, process->mappings, before);
	if (!anew)
		process_image_inherit(&table->context, process->mappings, before);
	process_image_release_mappings(&table->context, before);
	/* With @anew the caller publishes the process. */
	return process->published && !anew ? process_table_want_publish(table, process) : 0;
}

int process_table_adopt(struct process_table *table, uint32_t pid, struct process **ret_process)
{
	struct process *process;
	struct proc_stat stat;
	int r;

	r = proc_stat_read(pid, &stat);
	if (r < 0)
		return r;
	r = process_table_start_image(table, pid, &process);
	if (r < 0)
		return r;
	process->parent_pid = stat.parent_pid;
	process->start_time_ns = stat.start_time_ns;
	process->kernel_thread = stat.flags & PROC_FLAG_KERNEL_THREAD;
	process->has_threads = true;
	/* Its exit event was read before its last samples, and there is only one. */
	process->exited = stat.flags & PROC_FLAG_EXITING && !proc_has_live_threads(pid);
	process->last_window = table->current_window;
	process->scan = table->scan;
	process_image_name_running(&table->context, process, stat.comm);
	process_image_apply_rules(&table->rules, process);
	if (!process->kernel_thread)
		(void)read_maps(table, process, 0, false);
	*ret_process = process;
	return 0;
}

/* Whether the pid runs another program than its image has, because the exec event was lost. */
static bool is_another_program(const struct process_table *table, const struct process *process)
{
	char exe[PATH_MAX];

	return process->executable_path && proc_exe_read(process->pid, exe, sizeof(exe)) == 0 &&
	       strcmp(exe, string_table_text(table->context.strings, process->executable_path)) !=
		       0;
}

static int scan_process(void *arg, uint32_t pid)
{
	struct process_table *table = arg;
	struct process *process = process_table_lookup(table, pid);
	int r = 0;

	if (!process || process->exited || is_another_program(table, process))
		r = process_table_adopt(table, pid, &process);
	else if (!process->kernel_thread)
		r = read_maps(table, process, 0, false);
	if (process) {
		process->scan = table->scan;
		process->has_threads = true;
	}
	return r == -ENOMEM ? r : 0;
}

int process_table_scan(struct process_table *table)
{
	size_t cursor = 0;
	void *value;
	int r;

	table->scan++;
	r = proc_list(scan_process, table);
	if (r < 0)
		return r;
	/* The exit events of processes that /proc does not have were lost. */
	while (hash_table_next(table->by_pid, &cursor, NULL, &value)) {
		struct process *process = *(struct process **)value;

		if (process->scan != table->scan && !process->exited)
			process_table_note_exit(table, process);
	}
	return 0;
}

/* Makes the image from /proc, or from the sample if the process has exited. */
static int adopt_after_exec(struct process_table *table, const struct process *old,
			    uint64_t time_ns, const char *comm, struct process **ret_process)
{
	struct process_event event = { .type = PROCESS_EXECED,
				       .pid = old->pid,
				       .time_ns = time_ns };
	uint64_t start_time_ns = old->start_time_ns;
	struct proc_stat stat;
	int r;

	r = proc_stat_read(old->pid, &stat);
	if (r == 0 && process_image_same_start(start_time_ns, stat.start_time_ns))
		r = process_table_adopt(table, old->pid, ret_process);
	else
		r = -ESRCH;
	if (r < 0 && r != -ENOMEM) {
		(void)snprintf(event.comm, sizeof(event.comm), "%s", comm);
		r = process_table_apply_exec(table, &event);
		*ret_process = process_table_lookup(table, event.pid);
	}
	if (r < 0)
		return r;
	(*ret_process)->start_time_ns = start_time_ns;
	(*ret_process)->began_ns = time_ns;
	if (!(*ret_process)->number)
		(*ret_process)->number = table->next_number++;
	return 0;
}

int process_table_check_execs(struct process_table *table, struct process *process,
			      uint16_t n_execs, uint64_t time_ns, const char *comm,
			      struct process **ret_process)
{
	bool missed = process->n_execs_known && (int16_t)(n_execs - process->n_execs) > 0;
	int r;

	*ret_process = process;
	if (missed) {
		r = adopt_after_exec(table, process, time_ns, comm, ret_process);
		if (r < 0)
			return r;
	}
	/* A sample taken before the last reported exec has a smaller count, which is ignored. */
	if (missed || !process->n_execs_known) {
		(*ret_process)->n_execs = n_execs;
		(*ret_process)->n_execs_known = true;
	}
	return missed;
}

struct process_mapping *process_table_mapping(struct process_table *table, struct process *process,
					      uint64_t pc, uint64_t now_ns)
{
	struct process_mapping *mapping = process_image_search(process, pc);

	if (!mapping && !process->exited && !process->retired && !process->kernel_thread &&
	    (process->maps_read_ns == 0 || now_ns > process->maps_read_ns + MAPS_REREAD_NS)) {
		(void)read_maps(table, process, now_ns, false);
		mapping = process_image_search(process, pc);
	}
	if (mapping && mapping->is_unavailable && !process->exited && !process->retired)
		process_image_look_up_again(process->mappings, now_ns);
	if (mapping && mapping->kind == 0)
		process_image_identify(&table->context, process, mapping);
	return mapping;
}

void process_table_reread_mappings(struct process_table *table, struct process *process)
{
	if (!process->exited && !process->retired && !process->kernel_thread)
		(void)read_maps(table, process, process->maps_read_ns, true);
}
