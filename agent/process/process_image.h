/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Operations of the process table on one image: its mappings, names and labels. Used by the files
 * of the process table only.
 */

#include "agent/process/cgroup_cache.h"
#include "agent/process/proc_files.h"
#include "agent/process/process_table.h"

struct process_image_context {
	struct executable_cache *executables;
	struct string_table *strings;
	const struct process_rules *rules;
	const struct process_observer *observer;
	struct process_table_stats *stats;
	struct process_identifier identifier; /* find is NULL: files are identified at once */
	struct process_files files;           /* read is NULL: files are read at once */
	struct process_pods pods;             /* find is NULL: Pods have no labels */
	struct cgroup_cache *cgroups;
};

struct process_mapping_source {
	uint64_t start, end, file_offset;
	const char *path;
	struct reported_file reported;
};

/* Whether both may be the start of one process. 0 is unknown, and equal to any time. */
bool process_image_same_start(uint64_t a_ns, uint64_t b_ns);

/*
 * Adds a mapping. Mappings that it overlaps are cut or removed. The mappings are copied first if
 * other images share them. 0 or -ENOMEM.
 */
int process_image_add_mapping(const struct process_image_context *context, struct process *process,
			      const struct process_mapping_source *source);

void process_image_drop_mappings(const struct process_image_context *context,
				 struct process *process);

/* Releases the former mappings of a process that still runs. @mappings may be NULL. */
void process_image_release_mappings(const struct process_image_context *context,
				    struct process_mappings *mappings);

/*
 * To be called when the image has ended. If no running process shares its mappings, they are
 * removed from the BPF maps.
 */
void process_image_leave_mappings(const struct process_image_context *context,
				  struct process *process);

/* Takes over identified files from equal mappings in @from, which may be NULL. */
void process_image_inherit(const struct process_image_context *context,
			   struct process_mappings *mappings, const struct process_mappings *from);

/* Identifies the file behind a mapping and sets its kind, unless a look-up is in progress. */
void process_image_identify(const struct process_image_context *context, struct process *process,
			    struct process_mapping *mapping);

/*
 * To be called when a sample needs an unavailable mapping at @now_ns. Some seconds after the first
 * call, marks all unavailable mappings as not looked up, so that their next use begins a look-up.
 */
void process_image_look_up_again(struct process_mappings *mappings, uint64_t now_ns);

/* Marks mappings of superseded executables as not identified. */
void process_image_forget_superseded(const struct process_image_context *context,
				     struct process *process);

/* Whether it is memory without a file. A pc there has no meaning outside the process. */
bool process_mapping_is_anonymous(const struct process_image_context *context,
				  const struct process_mapping *mapping);

/* Whether it is a mapping of a file, or a copy of one. */
bool process_mapping_has_file(const struct process_image_context *context,
			      const struct process_mapping *mapping);

/* Index of the first mapping that ends above @pc. */
size_t process_mappings_first_above(const struct process_mappings *mappings, uint64_t pc);

/* The mapping that contains @pc, or NULL. */
struct process_mapping *process_image_search(const struct process *process, uint64_t pc);

/* Whether a file other than @reported is mapped somewhere in [@start, @end). */
bool process_image_replaces(const struct process_image_context *context,
			    const struct process *process, uint64_t start, uint64_t end,
			    const struct reported_file *reported);

/* For a fork: shares the mappings, copies names and labels. 0 or -ENOMEM. */
int process_image_copy(struct process *child, const struct process *parent);
int process_image_copy_labels(struct process *process, const struct process *from);

/*
 * Names a process that was running before the agent. The name is @comm, unless the main thread has
 * renamed itself: @comm is then the start of neither the program's name nor of its first two
 * arguments. In that case the name is the program's, which was the comm at the exec.
 */
void process_image_name_running(const struct process_image_context *context,
				struct process *process, const char *comm);

/* proc_maps_read() in bounded time. Mappings that are not executable may be missing. */
int process_image_read_maps(const struct process_image_context *context, uint32_t pid,
			    int (*function)(void *arg, const struct proc_mapping *mapping),
			    void *arg);

/* Sets name, excluded and unprofiled by the rules. */
void process_image_apply_rules(const struct process_rules *rules, struct process *process);

void process_image_find_main(const struct process_image_context *context, struct process *process);
/*
 * Sets the labels of the process's Pod, by the label pod_uid (process_pod.c). Keeps the labels that
 * it has if the Pod is not known. 1: they changed; 0; or -ENOMEM.
 */
int process_image_find_pod(const struct process_image_context *context, struct process *process);

void process_image_read_labels(const struct process_image_context *context,
			       struct process *process);

/* See process_table_note_path(). */
int process_image_note_path(struct process *process, uint32_t executable_number);

struct process *process_image_free(const struct process_image_context *context,
				   struct process *process);
