/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live images by pid in a hash table; retired ones (exec'ed over, pid reused) in a list until nobody refers to them.
 */
#include "agent/process/process_table.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/process/kernel_thread.h"
#include "agent/process/proc_files.h"
#include "agent/process/process_image.h"
#include "common/hash_table.h"
#include "common/vec.h"

/* /proc/PID/maps of one process is read again at most this often for pcs that no mapping holds. */
#define MAPS_REREAD_NS NSEC_PER_SEC

/* How long an image may outlive its process: samples of its last moments may still be in the ring buffer. */
#define SWEEP_AFTER_WINDOWS 2

VEC_DEFINE(pid_vec, uint32_t);

struct process_table {
	struct process_image_context context;
	struct process_rules rules;
	struct process_observer observer;
	struct process_table_stats stats;
	struct hash_table *by_pid; /* uint32_t -> struct process * */
	struct process *retired;
	struct pid_vec wanting; /* to be published: who asked first, which is who runs most, first */
	size_t next_wanting;
	uint64_t current_window;
	uint64_t scan; /* readings of /proc */
	uint64_t compaction;
	uint32_t next_number;
};

int process_table_new(struct executable_cache *executables, struct string_table *strings,
		      const struct process_rules *rules, const struct process_observer *observer,
		      struct process_table **ret_table)
{
	scoped(process_table_freep) struct process_table *table = calloc(1, sizeof(*table));
	int r;

	if (!table)
		return -ENOMEM;
	table->rules = *rules;
	if (observer)
		table->observer = *observer;
	table->context = (struct process_image_context){
		.executables = executables,
		.strings = strings,
		.rules = &table->rules,
		.observer = &table->observer,
		.stats = &table->stats,
	};
	table->next_number = 1;
	r = hash_table_new(sizeof(uint32_t), sizeof(struct process *), 0, &table->by_pid);
	if (r < 0)
		return r;
	*ret_table = take_ptr(table);
	return 0;
}

struct process_table *process_table_free(struct process_table *table)
{
	size_t cursor = 0;
	void *value;

	if (!table)
		return NULL;
	while (table->by_pid && hash_table_next(table->by_pid, &cursor, NULL, &value))
		process_image_free(&table->context, *(struct process **)value);
	hash_table_free(table->by_pid);
	vec_release(&table->wanting);
	while (table->retired) {
		struct process *next = table->retired->next_retired;

		process_image_free(&table->context, table->retired);
		table->retired = next;
	}
	free(table);
	return NULL;
}

size_t process_table_count(const struct process_table *table)
{
	return hash_table_count(table->by_pid);
}

const struct process_table_stats *process_table_stats(const struct process_table *table)
{
	return &table->stats;
}

static struct process *lookup(const struct process_table *table, uint32_t pid)
{
	struct process **slot = hash_table_find(table->by_pid, &pid);

	return slot ? *slot : NULL;
}

/* Puts a new, empty image in the place of @pid; the one that was there retires. */
static int start_image(struct process_table *table, uint32_t pid, struct process **ret_process)
{
	struct process *process = calloc(1, sizeof(*process));
	void *value;
	int r;

	if (!process)
		return -ENOMEM;
	process->pid = pid;
	r = hash_table_insert(table->by_pid, &pid, &value);
	if (r < 0) {
		free(process);
		return r;
	}
	if (r == 0) {
		struct process *old = *(struct process **)value;

		process_image_leave_mappings(&table->context, old);
		old->retired = true;
		old->next_retired = table->retired;
		table->retired = old;
	}
	*(struct process **)value = process;
	*ret_process = process;
	return 0;
}

struct mapping_sink {
	const struct process_image_context *context;
	struct process *process;
};

static int collect_mapping(void *arg, const struct proc_mapping *mapping)
{
	static const char deleted[] = " (deleted)";
	struct mapping_sink *sink = arg;
	struct process_mapping_source source = {
		.start = mapping->start,
		.end = mapping->end,
		.file_offset = mapping->file_offset,
		.told = { .inode = mapping->inode },
	};
	size_t length = strlen(mapping->path);
	char path[PATH_MAX];

	/* A replaced file keeps its name for people; it is read through map_files. */
	if (length >= sizeof(deleted) && strcmp(mapping->path + length - (sizeof(deleted) - 1), deleted) == 0)
		length -= sizeof(deleted) - 1;
	(void)snprintf(path, sizeof(path), "%.*s", (int)length, mapping->path);
	source.path = path;
	if (!mapping->executable || strcmp(mapping->path, "[vsyscall]") == 0)
		return 0;
	return process_image_add_mapping(sink->context, sink->process, &source);
}

/*
 * Replaces the mappings by what /proc/PID/maps says now; keeps what was there when it says nothing. With @anew files
 * are looked at again, whatever was known of what was in the same place.
 */
static int read_maps(struct process_table *table, struct process *process, uint64_t now_ns, bool anew)
{
	struct mapping_sink sink = { .context = &table->context, .process = process };
	struct process_mappings *before = process->mappings;
	struct proc_stat stat;
	int r;

	process->maps_read_ns = now_ns ? now_ns : 1;
	/* Another process may have the pid by now. */
	r = proc_stat_read(process->pid, &stat);
	if (r < 0)
		return r;
	if (!process_image_same_start(process->start_time_ns, stat.start_time_ns))
		return -ESRCH;
	process->mappings = NULL;
	r = process_image_read_maps(&table->context, process->pid, collect_mapping, &sink);
	if (r < 0 || !process->mappings) {
		/* Not allowed to look, or the process is dying: the events told more. */
		process_image_drop_mappings(&table->context, process);
		process->mappings = before;
		return r;
	}
	if (!anew)
		process_image_inherit(&table->context, process->mappings, before);
	process_image_release_mappings(&table->context, before);
	/* Who wants it anew is about to publish it. */
	return process->published && !anew ? process_table_want_publish(table, process) : 0;
}

/* A process that was there before us, or whose events were lost. -ESRCH: gone. */
static int adopt(struct process_table *table, uint32_t pid, struct process **ret_process)
{
	struct process *process;
	struct proc_stat stat;
	int r;

	r = proc_stat_read(pid, &stat);
	if (r < 0)
		return r;
	r = start_image(table, pid, &process);
	if (r < 0)
		return r;
	process->parent_pid = stat.parent_pid;
	process->start_time_ns = stat.start_time_ns;
	process->kernel_thread = stat.flags & PROC_FLAG_KERNEL_THREAD;
	process->has_threads = true;
	/* Its exit was told before its last samples: nothing will tell it again. */
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

/* The program that runs under the pid is not the one we know: its exec was not told. */
static bool is_another_program(const struct process_table *table, const struct process *process)
{
	char exe[PATH_MAX];

	return process->executable_path && proc_exe_read(process->pid, exe, sizeof(exe)) == 0 &&
	       strcmp(exe, string_table_text(table->context.strings, process->executable_path)) != 0;
}

static int look_at_process(void *arg, uint32_t pid)
{
	struct process_table *table = arg;
	struct process *process = lookup(table, pid);
	int r = 0;

	if (!process || process->exited || is_another_program(table, process))
		r = adopt(table, pid, &process);
	else if (!process->kernel_thread)
		r = read_maps(table, process, 0, false);
	if (process) {
		process->scan = table->scan;
		process->has_threads = true;
	}
	return r == -ENOMEM ? r : 0;
}

/* The process has ended. It is kept for its last samples. */
static void note_exit(struct process_table *table, struct process *process)
{
	process->exited = true;
	process->last_window = MAX(process->last_window, table->current_window);
	if (table->observer.process_gone)
		table->observer.process_gone(table->observer.arg, process);
	process_image_leave_mappings(&table->context, process);
}

int process_table_scan(struct process_table *table)
{
	size_t cursor = 0;
	void *value;
	int r;

	table->scan++;
	r = proc_list(look_at_process, table);
	if (r < 0)
		return r;
	/* Whose exit was not told. */
	while (hash_table_next(table->by_pid, &cursor, NULL, &value)) {
		struct process *process = *(struct process **)value;

		if (process->scan != table->scan && !process->exited)
			note_exit(table, process);
	}
	return 0;
}

static int apply_fork(struct process_table *table, const struct process_event *event)
{
	const struct process *parent = lookup(table, event->parent);
	struct process *child;
	int r;

	r = start_image(table, event->pid, &child);
	if (r < 0)
		return r;
	child->n_execs_known = true;
	child->parent_pid = event->parent;
	if (!parent)
		return 0;
	/* The kernel copied the parent's set of mappings for the child (bpf/process_events.bpf.c): so do we. */
	child->published = parent->published;
	return process_image_copy(child, parent);
}

static int apply_exec(struct process_table *table, const struct process_event *event)
{
	struct process *old = lookup(table, event->pid);
	struct process *process;
	int r;

	r = start_image(table, event->pid, &process);
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
	struct process *process = lookup(table, event->pid);
	struct process_mapping_source source = {
		.start = event->start,
		.end = event->end,
		.file_offset = event->file_offset,
		.path = event->path,
		.told = {
			.device = event->device,
			.inode = event->inode,
			.generation = event->inode_generation,
			.mapped_ns = event->time_ns,
		},
	};
	int r;

	if (!process) {
		r = adopt(table, event->pid, &process);
		return r == -ENOMEM ? r : 0;
	}
	/* The first file mapped after an exec is the program itself, its loader and libraries follow. */
	if (!process->executable_path && event->path[0] == '/' && event->path[1] != '/') {
		r = string_table_intern(table->context.strings, event->path, strlen(event->path),
					&process->executable_path);
		if (r < 0 && r != -ENOSPC)
			return r;
	}
	/* What nobody sampled needs no maps in the kernel. */
	r = process->published ? process_table_want_publish(table, process) : 0;
	if (r < 0)
		return r;
	return process_image_add_mapping(&table->context, process, &source);
}

bool process_table_replaces(const struct process_table *table, const struct process_event *event)
{
	const struct process *process = lookup(table, event->pid);

	return process && process_image_replaces(&table->context, process, event->start, event->end,
						 &(struct told_file){ .device = event->device,
								      .inode = event->inode,
								      .generation = event->inode_generation });
}

void process_table_hold(struct process_table *table, uint32_t pid, int change)
{
	struct process *process = lookup(table, pid);

	/* The count of an image that was replaced is gone. */
	if (process && (change > 0 || process->n_held > 0))
		process->n_held += (uint32_t)change;
}

bool process_table_is_held(const struct process_table *table, uint32_t pid)
{
	const struct process *process = lookup(table, pid);

	return process && process->n_held > 0;
}

static void apply_thread(struct process_table *table, const struct process_event *event)
{
	struct process *process = lookup(table, event->pid);

	if (process)
		process->has_threads = true;
}

static void end_process(struct process_table *table, struct process *process)
{
	uint32_t pid = process->pid;

	note_exit(table, process);
	if (process->number)
		return;
	/* Never sampled, and samples come in the order of time with events: nobody will ask for it. */
	hash_table_remove(table->by_pid, &pid);
	process_image_free(&table->context, process);
}

static void apply_exit(struct process_table *table, const struct process_event *event)
{
	struct process *process = lookup(table, event->pid);

	if (!process)
		return;
	/* Told of the leader, which may leave its threads behind; the sweep looks for their end. */
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
		return apply_exec(table, event);
	case PROCESS_MAPPED:
		return apply_mapping(table, event);
	case PROCESS_EXITED:
		apply_exit(table, event);
		return 0;
	case KERNEL_CODE_MADE:
	case KERNEL_CODE_FREED:
		return 0; /* no process's */
	case PROCESS_THREADED:
		apply_thread(table, event);
		return 0;
	}
	return 0;
}

/* For want of an exec, and of /proc. */
static void name_by_sample(struct process_table *table, struct process *process, const char *comm, bool kernel_thread)
{
	process->kernel_thread = kernel_thread;
	if (kernel_thread)
		kernel_thread_kind(comm, process->image_name, sizeof(process->image_name));
	else
		(void)snprintf(process->image_name, sizeof(process->image_name), "%s", comm);
	process_image_apply_rules(&table->rules, process);
}

int process_table_find(struct process_table *table, uint32_t pid, uint32_t parent_pid, uint64_t start_time_ns,
		       const char *comm, bool kernel_thread, struct process **ret_process)
{
	struct process *process = lookup(table, pid);
	int r;

	if (process && !process_image_same_start(process->start_time_ns, start_time_ns))
		process = NULL;
	if (!process) {
		r = adopt(table, pid, &process);
		if (r == -ENOMEM)
			return r;
		if (r == 0 &&
		    !process_image_same_start(process->start_time_ns, start_time_ns))
			r = -ESRCH;
		if (r < 0) {
			r = start_image(table, pid, &process);
			if (r < 0)
				return r;
			process->exited = true;
			process->parent_pid = parent_pid;
			name_by_sample(table, process, comm, kernel_thread);
		}
	}
	/* /proc rounds down to its tick; the sample knows the time exactly. */
	process->start_time_ns = start_time_ns;
	/* A kernel thread is a copy of kthreadd until it gives itself a name, and no exec tells of that. */
	if (process->image_name[0] == '\0' || (kernel_thread && !process->number))
		name_by_sample(table, process, comm, kernel_thread);
	if (!process->number)
		process->number = table->next_number++;
	*ret_process = process;
	return 0;
}

/* By /proc, unless the pid is gone or somebody else's by now. */
static int adopt_after_exec(struct process_table *table, const struct process *old, uint64_t time_ns, const char *comm,
			    struct process **ret_process)
{
	struct process_event event = { .type = PROCESS_EXECED, .pid = old->pid, .time_ns = time_ns };
	uint64_t start_time_ns = old->start_time_ns;
	struct proc_stat stat;
	int r;

	r = proc_stat_read(old->pid, &stat);
	if (r == 0 && process_image_same_start(start_time_ns, stat.start_time_ns))
		r = adopt(table, old->pid, ret_process);
	else
		r = -ESRCH;
	if (r < 0 && r != -ENOMEM) {
		(void)snprintf(event.comm, sizeof(event.comm), "%s", comm);
		r = apply_exec(table, &event);
		*ret_process = lookup(table, event.pid);
	}
	if (r < 0)
		return r;
	(*ret_process)->start_time_ns = start_time_ns;
	(*ret_process)->began_ns = time_ns;
	if (!(*ret_process)->number)
		(*ret_process)->number = table->next_number++;
	return 0;
}

int process_table_check_execs(struct process_table *table, struct process *process, uint16_t n_execs, uint64_t time_ns,
			      const char *comm, struct process **ret_process)
{
	bool missed = process->n_execs_known && (int16_t)(n_execs - process->n_execs) > 0;
	int r;

	*ret_process = process;
	if (missed) {
		r = adopt_after_exec(table, process, time_ns, comm, ret_process);
		if (r < 0)
			return r;
	}
	/* Less than that says a sample from before the exec that was reported last. */
	if (missed || !process->n_execs_known) {
		(*ret_process)->n_execs = n_execs;
		(*ret_process)->n_execs_known = true;
	}
	return missed;
}

struct process *process_table_image_at(struct process_table *table, struct process *process, uint64_t time_ns)
{
	struct process *image = table->retired;

	if (time_ns >= process->began_ns)
		return process;
	/* The latest comes first. */
	while (image && (image->pid != process->pid || image->began_ns > time_ns ||
			 !process_image_same_start(image->start_time_ns, process->start_time_ns)))
		image = image->next_retired;
	if (!image)
		return process;
	if (!image->number)
		image->number = table->next_number++;
	return image;
}

struct process_mapping *process_table_mapping(struct process_table *table, struct process *process, uint64_t pc,
					      uint64_t now_ns)
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

int process_table_want_publish(struct process_table *table, struct process *process)
{
	int r;

	if (process->wants_publish || process->exited || process->retired)
		return 0;
	r = vec_push(&table->wanting, process->pid);
	process->wants_publish = r == 0;
	return r;
}

struct process *process_table_take_wanting(struct process_table *table)
{
	while (table->next_wanting < table->wanting.count) {
		struct process *process = lookup(table, table->wanting.items[table->next_wanting++]);

		/* It may have exited or exec'ed since. */
		if (!process || !process->wants_publish || process->exited)
			continue;
		process->wants_publish = false;
		return process;
	}
	vec_clear(&table->wanting);
	table->next_wanting = 0;
	return NULL;
}

void process_table_set_identifier(struct process_table *table, const struct process_identifier *identifier)
{
	table->context.identifier = *identifier;
}

void process_table_set_files(struct process_table *table, const struct process_files *files)
{
	table->context.files = *files;
}

bool process_table_identify_mappings(struct process_table *table, struct process *process)
{
	bool all = true;

	for (size_t i = 0; process->mappings && i < process->mappings->count; i++) {
		struct process_mapping *mapping = &process->mappings->items[i];

		if (mapping->kind == 0)
			process_image_identify(&table->context, process, mapping);
		all = all && mapping->kind != 0;
	}
	return all;
}

int process_table_looked_up(struct process_table *table, uint32_t pid)
{
	struct process *process = lookup(table, pid);

	if (!process || !process->published || !process->mappings)
		return 0;
	process->mappings->changed = true;
	return process_table_want_publish(table, process);
}

void process_table_read_details(struct process_table *table, struct process *process)
{
	const bool has_main = process->main_executable != NULL;

	/* Its file may be found later than its labels. */
	if (!has_main)
		process_image_find_main(&table->context, process);
	if (process->details_read) {
		if (!has_main && process->main_executable)
			process->first_sent_sequence = 0;
		return;
	}
	process->details_read = true;
	if (!process->exited && !process->retired)
		process_image_read_labels(&table->context, process);
}

int process_table_note_path(struct process *process, uint32_t executable_number)
{
	return process_image_note_path(process, executable_number);
}

void process_table_sweep(struct process_table *table, uint64_t current_window)
{
	struct process **link = &table->retired;
	size_t cursor = 0;
	void *value;

	table->current_window = current_window;
	while (hash_table_next(table->by_pid, &cursor, NULL, &value)) {
		struct process *process = *(struct process **)value;

		if (process->leader_exited && !process->exited && !proc_has_live_threads(process->pid))
			note_exit(table, process);
		if (!process->exited || process->last_window + SWEEP_AFTER_WINDOWS > current_window)
			continue;
		process_image_free(&table->context, process);
		hash_table_remove_at_cursor(table->by_pid, &cursor);
	}
	while (*link) {
		struct process *process = *link;

		if (process->last_window + SWEEP_AFTER_WINDOWS > current_window) {
			link = &process->next_retired;
			continue;
		}
		*link = process->next_retired;
		process_image_free(&table->context, process);
	}
}

int process_table_each(struct process_table *table, int (*function)(void *arg, struct process *process), void *arg)
{
	size_t cursor = 0;
	void *value;
	int r;

	while (hash_table_next(table->by_pid, &cursor, NULL, &value)) {
		r = function(arg, *(struct process **)value);
		if (r < 0)
			return r;
	}
	for (struct process *process = table->retired; process; process = process->next_retired) {
		r = function(arg, process);
		if (r < 0)
			return r;
	}
	return 0;
}

struct compaction {
	const struct string_table *old;
	struct string_table *fresh;
	uint64_t number;
};

static int move_string(struct compaction *compaction, string_id *id)
{
	return string_table_intern(compaction->fresh, string_table_text(compaction->old, *id),
				   string_table_length(compaction->old, *id), id);
}

static int move_strings_of(void *arg, struct process *process)
{
	struct process_mappings *mappings = process->mappings;
	struct compaction *compaction = arg;
	int r;

	r = move_string(compaction, &process->executable_path);
	for (size_t i = 0; i < process->n_labels && r == 0; i++) {
		r = move_string(compaction, &process->labels[i].name);
		if (r == 0)
			r = move_string(compaction, &process->labels[i].value);
	}
	for (size_t i = 0; i < process->n_paths && r == 0; i++)
		r = move_string(compaction, &process->paths[i].path);
	/* Shared by forked children: once is enough. */
	if (!mappings || mappings->compaction == compaction->number)
		return r;
	mappings->compaction = compaction->number;
	for (size_t i = 0; i < mappings->count && r == 0; i++)
		r = move_string(compaction, &mappings->items[i].path);
	return r;
}

int process_table_compact_strings(struct process_table *table, size_t limit_bytes, size_t max_bytes)
{
	struct compaction compaction = { .old = table->context.strings, .number = ++table->compaction };
	int r;

	if (string_table_bytes(table->context.strings) <= limit_bytes)
		return 0;
	/*
	 * The live ones fit: they fitted before. No error can come between but want of memory, which ends the agent.
	 */
	r = string_table_new(max_bytes, &compaction.fresh);
	if (r < 0)
		return r;
	r = process_table_each(table, move_strings_of, &compaction);
	if (r < 0) {
		(void)string_table_free(compaction.fresh);
		return r;
	}
	string_table_replace_take(table->context.strings, compaction.fresh);
	return 0;
}

static int apply_rules_to(void *arg, struct process *process)
{
	struct process_table *table = arg;
	bool without_stacks = process->without_stacks;
	bool without_waits = process->without_waits;
	char name[PROCESS_NAME_SIZE];

	memcpy(name, process->name, sizeof(name));
	process_image_apply_rules(&table->rules, process);
	if (without_stacks == process->without_stacks && without_waits == process->without_waits &&
	    strcmp(name, process->name) == 0)
		return 0;
	process->first_sent_sequence = 0;
	return process->published ? process_table_want_publish(table, process) : 0;
}

static int forget_superseded_of(void *arg, struct process *process)
{
	struct process_table *table = arg;

	process_image_forget_superseded(&table->context, process);
	/* Those that share the set are published again too: the set gets another number. */
	if (process->published && process->mappings && process->mappings->changed)
		return process_table_want_publish(table, process);
	return 0;
}

int process_table_forget_superseded(struct process_table *table)
{
	return process_table_each(table, forget_superseded_of, table);
}

void process_table_set_rules(struct process_table *table, const struct process_rules *rules)
{
	table->rules = *rules;
	(void)process_table_each(table, apply_rules_to, table);
}
