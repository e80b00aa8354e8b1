/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What process_table does to one image: its mappings, its names and labels. Used by the
 * process_table_*.c files only.
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
	struct process_identifier identifier; /* its `ask` is NULL: files are identified at once */
	struct process_files files;           /* read NULL: none */
	struct cgroup_cache *cgroups;
};

struct process_mapping_source {
	uint64_t start, end, file_offset;
	const char *path;
	struct reported_file reported;
};

/* Unknown (0) fits everything. */
bool process_image_same_start(uint64_t a_ns, uint64_t b_ns);

/*
 * Adds a mapping in its place; what it overlaps is cut back. The set is copied first when others
 * share it.
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

/*
 * Takes over what is known of mappings of the same inode: files identified before. @from may be
 * NULL.
 */
void process_image_inherit(const struct process_image_context *context,
			   struct process_mappings *mappings, const struct process_mappings *from);

/* Finds the file behind a mapping, and sets its kind, unless a look-up is in progress. */
void process_image_identify(const struct process_image_context *context, struct process *process,
			    struct process_mapping *mapping);

/*
 * A sample taken at @now_ns needs a mapping that is unavailable: some seconds after the first such
 * sample all unavailable mappings are taken for not looked up, so that their next use begins a
 * look-up.
 */
void process_image_look_up_again(struct process_mappings *mappings, uint64_t now_ns);

/* Mappings of superseded executables are not identified any more. */
void process_image_forget_superseded(const struct process_image_context *context,
				     struct process *process);

/* Memory without a file whose pcs mean nothing outside the process. */
bool process_mapping_is_anonymous(const struct process_image_context *context,
				  const struct process_mapping *mapping);

/* Memory with a file, or a copy of one. */
bool process_mapping_has_file(const struct process_image_context *context,
			      const struct process_mapping *mapping);

/* Index of the first mapping that ends above @pc. */
size_t process_mappings_first_above(const struct process_mappings *mappings, uint64_t pc);

/* The mapping that holds @pc, or NULL. */
struct process_mapping *process_image_search(const struct process *process, uint64_t pc);

/* Whether a file other than @reported is mapped somewhere in [@start, @end). */
bool process_image_replaces(const struct process_image_context *context,
			    const struct process *process, uint64_t start, uint64_t end,
			    const struct reported_file *reported);

/* fork: shares the mappings, copies names and labels. */
int process_image_copy(struct process *child, const struct process *parent);
int process_image_copy_labels(struct process *process, const struct process *from);

/*
 * Names a process that was running before us: its comm, unless the main thread renamed itself (the
 * comm then fits neither the program nor its arguments), in which case the program's name is what
 * the comm was at exec.
 */
void process_image_name_running(const struct process_image_context *context,
				struct process *process, const char *comm);

/* proc_maps_read() within bounded time; the mappings that are not executable may be missing. */
int process_image_read_maps(const struct process_image_context *context, uint32_t pid,
			    int (*function)(void *arg, const struct proc_mapping *mapping),
			    void *arg);

/* Service name and stacks or not, by the rules. */
void process_image_apply_rules(const struct process_rules *rules, struct process *process);

void process_image_find_main(const struct process_image_context *context, struct process *process);
void process_image_read_labels(const struct process_image_context *context,
			       struct process *process);

/* See process_table_note_path(). */
int process_image_note_path(struct process *process, uint32_t executable_number);

struct process *process_image_free(const struct process_image_context *context,
				   struct process *process);
