/* SPDX-License-Identifier: Apache-2.0 */
/* Names, rules and labels of one program image. process_mappings.c has its mappings. */
#include "agent/process/process_image.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/executable/file_finder.h"
#include "agent/process/kernel_thread.h"
#include "agent/process/proc_files.h"
#include "agent/process/process_labels.h"
#include "common/clock.h"
#include "common/vec.h"

/* The start of a process differs between samples and /proc, which has steps of 10 ms. */
#define START_TIME_TOLERANCE_NS (20 * NSEC_PER_MSEC)

bool process_image_same_start(uint64_t a_ns, uint64_t b_ns)
{
	uint64_t distance_ns = a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns;

	return a_ns == 0 || b_ns == 0 || distance_ns <= START_TIME_TOLERANCE_NS;
}

int process_image_copy_labels(struct process *process, const struct process *from)
{
	if (from->n_labels == 0)
		return 0;
	process->labels = malloc(from->n_labels * sizeof(*from->labels));
	if (!process->labels)
		return -ENOMEM;
	memcpy(process->labels, from->labels, from->n_labels * sizeof(*from->labels));
	process->n_labels = from->n_labels;
	process->n_cgroup_labels = from->n_cgroup_labels;
	return 0;
}

int process_image_copy(struct process *child, const struct process *parent)
{
	memcpy(child->image_name, parent->image_name, sizeof(child->image_name));
	memcpy(child->name, parent->name, sizeof(child->name));
	child->executable_path = parent->executable_path;
	child->kernel_thread = parent->kernel_thread;
	child->excluded = parent->excluded;
	child->unprofiled = parent->unprofiled;
	if (parent->main_executable) {
		child->main_executable = parent->main_executable;
		executable_ref(child->main_executable);
	}
	if (parent->mappings) {
		child->mappings = parent->mappings;
		child->mappings->references++;
		child->mappings->n_running++;
	}
	return process_image_copy_labels(child, parent);
}

static void copy_name(char *to, size_t size, const char *from)
{
	(void)snprintf(to, size, "%.*s", (int)size - 1, from);
}

static void scoped_bytes_release(struct bytes *bytes)
{
	bytes_release(bytes);
}

static int read_argument_names(const struct process_image_context *context, uint32_t pid,
			       char *ret_first, char *ret_second, size_t size)
{
	scoped(scoped_bytes_release) struct bytes text = BYTES_INIT(64 * KIB);
	int r;

	if (!context->files.read)
		return proc_argument_names_read(pid, ret_first, ret_second, size);
	r = context->files.read(context->files.arg, pid, "cmdline", &text);
	if (r == 0)
		proc_argument_names_parse(&text, ret_first, ret_second, size);
	return r;
}

int process_image_read_maps(const struct process_image_context *context, uint32_t pid,
			    int (*function)(void *arg, const struct proc_mapping *mapping),
			    void *arg)
{
	scoped(scoped_bytes_release) struct bytes text = BYTES_INIT(PROC_MAPS_MAX_BYTES);
	int r;

	if (!context->files.read)
		return proc_maps_read(pid, function, arg);
	r = context->files.read(context->files.arg, pid, "maps", &text);
	return r < 0 ? r : proc_maps_parse(&text, function, arg);
}

/* comm has the first 15 bytes of the name. The argv[0] of a login shell begins with '-'. */
static bool is_named(const struct process *process, const char *name)
{
	return strncmp(name[0] == '-' ? name + 1 : name, process->image_name,
		       sizeof(process->image_name) - 1) == 0;
}

void process_image_name_running(const struct process_image_context *context,
				struct process *process, const char *comm)
{
	char exe[PATH_MAX];
	char first[NAME_MAX + 1];
	char second[NAME_MAX + 1];
	const char *base;

	if (process->kernel_thread) {
		kernel_thread_kind(comm, process->image_name, sizeof(process->image_name));
		return;
	}
	copy_name(process->image_name, sizeof(process->image_name), comm);
	if (proc_exe_read(process->pid, exe, sizeof(exe)) < 0)
		return;
	base = strrchr(exe, '/');
	base = base ? base + 1 : exe;
	if (is_named(process, base) ||
	    (read_argument_names(context, process->pid, first, second, sizeof(first)) == 0 &&
	     (is_named(process, first) || is_named(process, second))))
		return;
	copy_name(process->image_name, sizeof(process->image_name), base);
}

void process_image_apply_rules(const struct process_rules *rules, struct process *process)
{
	size_t length = strlen(process->image_name);

	copy_name(process->name, sizeof(process->name), process->image_name);
	for (size_t i = 0; i < rules->n_renames; i++) {
		if (pattern_matches(rules->renames[i].pattern, process->image_name, length) == 1) {
			copy_name(process->name, sizeof(process->name), rules->renames[i].name);
			break;
		}
	}
	process->excluded = 0;
	process->unprofiled = rules->n_sources > 0;
	for (size_t i = 0; i < rules->n_sources; i++) {
		const struct process_source *source = &rules->sources[i];

		if (source->names &&
		    pattern_matches(source->names, process->image_name, length) != 1)
			process->excluded |= source->excluded_flag;
		else
			process->unprofiled = false;
	}
}

/*
 * Whether @mapping has @path. The kernel adds " (deleted)" to the path of a deleted file or of a
 * memfd in events, and @path is without it.
 */
static bool is_path_of(const struct process_image_context *context,
		       const struct process_mapping *mapping, const char *path)
{
	const char *mapped = string_table_text(context->strings, mapping->path);
	bool deleted;
	size_t length = mapped_path_length(mapped, &deleted);

	return strlen(path) == length && memcmp(mapped, path, length) == 0;
}

void process_image_find_main(const struct process_image_context *context, struct process *process)
{
	char exe[PATH_MAX];

	if (process->kernel_thread)
		return;
	if (!process->exited && !process->retired && !process->executable_path &&
	    !process->details_read && proc_exe_read(process->pid, exe, sizeof(exe)) == 0)
		(void)string_table_intern(context->strings, exe, strlen(exe),
					  &process->executable_path);
	if (process->main_executable || !process->executable_path || !process->mappings)
		return;
	for (size_t i = 0; i < process->mappings->count; i++) {
		struct process_mapping *mapping = &process->mappings->items[i];

		if (!is_path_of(context, mapping,
				string_table_text(context->strings, process->executable_path)))
			continue;
		if (mapping->kind == 0)
			process_image_identify(context, process, mapping);
		if (mapping->executable) {
			process->main_executable = mapping->executable;
			executable_ref(mapping->executable);
			return;
		}
	}
}

static void set_label(const struct process_image_context *context, struct process *process,
		      const char *name, const char *value)
{
	struct process_label label = {};

	if (value[0] == '\0' || process->n_labels >= PROCESS_MAX_LABELS)
		return;
	if (string_table_intern(context->strings, name, strlen(name), &label.name) < 0 ||
	    string_table_intern(context->strings, value, strlen(value), &label.value) < 0)
		return;
	process->labels[process->n_labels++] = label;
}

void process_image_read_labels(const struct process_image_context *context, struct process *process)
{
	struct cgroup_labels found;
	char path[PATH_MAX];

	if (process->kernel_thread || proc_cgroup_read(process->pid, path, sizeof(path)) < 0)
		return;
	process->labels_read_ns = process->cgroups ? clock_monotonic_ns(&system_clock) : 0;
	cgroup_labels_parse(path, &found);
	free(process->labels);
	process->n_labels = process->n_cgroup_labels = 0;
	process->labels = calloc(PROCESS_MAX_LABELS, sizeof(*process->labels));
	if (!process->labels)
		return;
	set_label(context, process, "container_id", found.container_id);
	set_label(context, process, "pod_uid", found.pod_uid);
	set_label(context, process, "unit", found.unit);
	process->n_cgroup_labels = process->n_labels;
	(void)process_image_find_pod(context, process);
}

int process_image_note_path(struct process *process, uint32_t executable_number)
{
	string_id path = 0;
	struct process_path *grown;

	for (size_t i = 0; i < process->n_paths; i++) {
		if (process->paths[i].executable == executable_number)
			return 0;
	}
	for (size_t i = 0; process->mappings && i < process->mappings->count; i++) {
		const struct process_mapping *mapping = &process->mappings->items[i];

		if (mapping->executable && mapping->executable->number == executable_number) {
			path = mapping->path;
			break;
		}
	}
	if (path == 0)
		return 0;
	if (process->n_paths == process->paths_capacity) {
		size_t capacity = process->paths_capacity ? process->paths_capacity * 2 : 4;

		grown = realloc(process->paths, capacity * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		process->paths = grown;
		process->paths_capacity = capacity;
	}
	process->paths[process->n_paths++] = (struct process_path){
		.executable = executable_number,
		.path = path,
	};
	process->first_sent_sequence = 0;
	return 1;
}

struct process *process_image_free(const struct process_image_context *context,
				   struct process *process)
{
	if (!process)
		return NULL;
	process_image_drop_mappings(context, process);
	if (process->main_executable)
		executable_unref(context->executables, process->main_executable);
	free(process->labels);
	free(process->paths);
	free(process);
	return NULL;
}
