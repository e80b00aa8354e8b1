/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live images are in a hash table by pid. An image is retired when its process executes another
 * program or its pid is reused. It is then in a list until no window refers to it.
 */
#include "agent/process/process_table_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/process/kernel_thread.h"
#include "agent/process/proc_files.h"

/*
 * Number of windows for which the image of an exited process is kept: its last samples may still be
 * in the ring buffer.
 */
#define SWEEP_AFTER_WINDOWS 2

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
	r = cgroup_cache_new(&table->context.cgroups);
	if (r < 0)
		return r;
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
	(void)cgroup_cache_free(table->context.cgroups);
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

struct process *process_table_lookup(const struct process_table *table, uint32_t pid)
{
	struct process **slot = hash_table_find(table->by_pid, &pid);

	return slot ? *slot : NULL;
}

int process_table_start_image(struct process_table *table, uint32_t pid,
			      struct process **ret_process)
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

void process_table_note_exit(struct process_table *table, struct process *process)
{
	process->exited = true;
	process->last_window = MAX(process->last_window, table->current_window);
	if (table->observer.process_gone)
		table->observer.process_gone(table->observer.arg, process);
	process_image_leave_mappings(&table->context, process);
}

void process_table_hold(struct process_table *table, uint32_t pid, int change)
{
	struct process *process = process_table_lookup(table, pid);

	/* An exec after the event was parked has started a new image, which begins with 0. */
	if (process && (change > 0 || process->n_held > 0))
		process->n_held += (uint32_t)change;
}

bool process_table_is_held(const struct process_table *table, uint32_t pid)
{
	const struct process *process = process_table_lookup(table, pid);

	return process && process->n_held > 0;
}

/* Names a process that neither an exec event nor /proc has named. */
static void name_by_sample(struct process_table *table, struct process *process, const char *comm,
			   bool kernel_thread)
{
	process->kernel_thread = kernel_thread;
	if (kernel_thread)
		kernel_thread_kind(comm, process->image_name, sizeof(process->image_name));
	else
		(void)snprintf(process->image_name, sizeof(process->image_name), "%s", comm);
	process_image_apply_rules(&table->rules, process);
}

int process_table_find(struct process_table *table, uint32_t pid, uint32_t parent_pid,
		       uint64_t start_time_ns, const char *comm, bool kernel_thread,
		       struct process **ret_process)
{
	struct process *process = process_table_lookup(table, pid);
	int r;

	if (process && !process_image_same_start(process->start_time_ns, start_time_ns))
		process = NULL;
	if (!process) {
		r = process_table_adopt(table, pid, &process);
		if (r == -ENOMEM)
			return r;
		if (r == 0 && !process_image_same_start(process->start_time_ns, start_time_ns))
			r = -ESRCH;
		if (r < 0) {
			r = process_table_start_image(table, pid, &process);
			if (r < 0)
				return r;
			process->exited = true;
			process->parent_pid = parent_pid;
			name_by_sample(table, process, comm, kernel_thread);
		}
	}
	/* The sample has the exact time; /proc rounds it down to 10 ms. */
	process->start_time_ns = start_time_ns;
	/*
	 * A kernel thread has the name of kthreadd until it renames itself, which the kernel does
	 * not report.
	 */
	if (process->image_name[0] == '\0' || (kernel_thread && !process->number))
		name_by_sample(table, process, comm, kernel_thread);
	if (!process->number)
		process->number = table->next_number++;
	*ret_process = process;
	return 0;
}

struct process *process_table_image_at(struct process_table *table, struct process *process,
				       uint64_t time_ns)
{
	struct process *image = table->retired;

	if (time_ns >= process->began_ns)
		return process;
	/* The image that was retired last is first in the list. */
	while (image && (image->pid != process->pid || image->began_ns > time_ns ||
			 !process_image_same_start(image->start_time_ns, process->start_time_ns)))
		image = image->next_retired;
	if (!image)
		return process;
	if (!image->number)
		image->number = table->next_number++;
	return image;
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
		struct process *process =
			process_table_lookup(table, table->wanting.items[table->next_wanting++]);

		/* It may have exited, or executed another program, since it was queued. */
		if (!process || !process->wants_publish || process->exited)
			continue;
		process->wants_publish = false;
		return process;
	}
	vec_clear(&table->wanting);
	table->next_wanting = 0;
	return NULL;
}

void process_table_set_identifier(struct process_table *table,
				  const struct process_identifier *identifier)
{
	table->context.identifier = *identifier;
}

void process_table_set_pods(struct process_table *table, const struct process_pods *pods)
{
	table->context.pods = *pods;
}

static int find_pod_again_of(void *arg, struct process *process)
{
	const struct process_table *table = arg;
	int r = process_image_find_pod(&table->context, process);

	if (r == 1)
		process->first_sent_sequence = 0;
	return MIN(r, 0);
}

int process_table_find_pods_again(struct process_table *table)
{
	return process_table_each(table, find_pod_again_of, table);
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
	struct process *process = process_table_lookup(table, pid);

	if (!process || !process->published || !process->mappings)
		return 0;
	process->mappings->changed = true;
	return process_table_want_publish(table, process);
}

void process_table_read_details(struct process_table *table, struct process *process)
{
	const bool has_main = process->main_executable != NULL;

	/* Each time: its file may be identified later than its labels are read. */
	if (!has_main)
		process_image_find_main(&table->context, process);
	if (process->details_read) {
		if (!has_main && process->main_executable)
			process->first_sent_sequence = 0;
		return;
	}
	process->details_read = true;
	if (cgroup_cache_find(table->context.cgroups, process) == 1)
		(void)process_image_find_pod(&table->context, process);
	else if (!process->exited && !process->retired)
		process_image_read_labels(&table->context, process);
}

int process_table_note_cgroups(struct process_table *table, struct process *process,
			       uint64_t cgroups, uint64_t time_ns)
{
	if (cgroups == 0)
		return 0;
	if (!process->details_read) {
		process->cgroups = cgroups;
		return 0;
	}
	if (process->labels_read_ns == 0 || time_ns <= process->labels_read_ns)
		return 0;
	process->labels_read_ns = 0;
	if (process->cgroups == cgroups)
		cgroup_cache_add(table->context.cgroups, process);
	/* Published again, without the flag that has the kernel add cgroups to samples. */
	return process->published ? process_table_want_publish(table, process) : 0;
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

		if (process->leader_exited && !process->exited &&
		    !proc_has_live_threads(process->pid))
			process_table_note_exit(table, process);
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

int process_table_each(struct process_table *table,
		       int (*function)(void *arg, struct process *process), void *arg)
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

static int apply_rules_to(void *arg, struct process *process)
{
	struct process_table *table = arg;
	bool unprofiled = process->unprofiled;
	uint32_t excluded = process->excluded;
	char name[PROCESS_NAME_SIZE];

	memcpy(name, process->name, sizeof(name));
	process_image_apply_rules(&table->rules, process);
	if (excluded == process->excluded && unprofiled == process->unprofiled &&
	    strcmp(name, process->name) == 0)
		return 0;
	process->first_sent_sequence = 0;
	return process->published ? process_table_want_publish(table, process) : 0;
}

static int forget_superseded_of(void *arg, struct process *process)
{
	struct process_table *table = arg;

	process_image_forget_superseded(&table->context, process);
	/* Processes that share the set are published again too: it gets another number. */
	if (process->published && process->mappings && process->mappings->changed)
		return process_table_want_publish(table, process);
	return 0;
}

struct mapping_search {
	struct process_table *table;
	const struct executable *executable;
	uint32_t except_pid;
	struct mapped_file *file;
};

/* Returns -ECANCELED, which ends the walk, once the mapping is found. */
static int find_mapping_in(void *arg, struct process *process)
{
	const struct mapping_search *search = arg;
	const struct process_mappings *mappings = process->mappings;

	if (process->exited || process->retired || process->pid == search->except_pid)
		return 0;
	for (size_t i = 0; mappings && i < mappings->count; i++) {
		const struct process_mapping *mapping = &mappings->items[i];

		if (mapping->executable != search->executable || mapping->is_copy)
			continue;
		*search->file = (struct mapped_file){
			.pid = process->pid,
			.parent_pid = process->parent_pid,
			.start = mapping->start,
			.end = mapping->end,
			.file_offset = mapping->file_offset,
			.path = string_table_text(search->table->context.strings, mapping->path),
			.reported = mapping->reported,
		};
		return -ECANCELED;
	}
	return 0;
}

int process_table_find_mapping_of(struct process_table *table, const struct executable *executable,
				  uint32_t except_pid, struct mapped_file *ret_file)
{
	struct mapping_search search = {
		.table = table,
		.executable = executable,
		.except_pid = except_pid,
		.file = ret_file,
	};

	return process_table_each(table, find_mapping_in, &search) == -ECANCELED;
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
