/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process table as its own files see it; nobody else includes this.
 *
 *   process_table.c           the table: find, publish, sweep, rules
 *   process_table_events.c    what an event of the kernel changes
 *   process_table_proc.c      what /proc says: processes of before the agent, events that were lost, mappings
 *   process_table_strings.c   moves the strings that are in use to a new string table
 */
#pragma once

#include "agent/process/process_image.h"
#include "agent/process/process_table.h"
#include "common/hash_table.h"
#include "common/vec.h"

VEC_DEFINE(pid_vec, uint32_t);

struct process_table {
	struct process_image_context context;
	struct process_rules rules;
	struct process_observer observer;
	struct process_table_stats stats;
	struct hash_table *by_pid; /* uint32_t -> struct process * */
	struct process *retired;
	/* pids to be published, in order of request: busy processes ask first */
	struct pid_vec wanting;
	size_t next_wanting;
	uint64_t current_window;
	uint64_t scan; /* number of the last scan of /proc */
	uint64_t compaction;
	uint32_t next_number;
};

/* The live image of @pid, or NULL. */
struct process *process_table_lookup(const struct process_table *table, uint32_t pid);

/* Gives @pid a new, empty image; the image that it had is retired. -ENOMEM. */
int process_table_start_image(struct process_table *table, uint32_t pid,
			      struct process **ret_process);

/* Notes that the process has ended. Its image is kept for its last samples. */
void process_table_note_exit(struct process_table *table, struct process *process);

/*
 * Applies a PROCESS_EXECED event: the pid has a new image with the labels of the one before.
 * -ENOMEM.
 */
int process_table_apply_exec(struct process_table *table, const struct process_event *event);

/*
 * Makes the image of a process that no event reported: it started before the agent, or its events
 * were lost. -ESRCH: there is no such process; -ENOMEM.
 */
int process_table_adopt(struct process_table *table, uint32_t pid, struct process **ret_process);
