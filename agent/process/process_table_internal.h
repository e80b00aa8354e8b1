/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The state of the process table, for its own files only:
 *
 *   process_table.c           finds, publishes and frees images, applies rules
 *   process_table_events.c    applies events of the kernel
 *   process_table_proc.c      reads /proc: processes older than the agent, lost events, mappings
 *   process_table_strings.c   moves strings that are in use to a new string table
 */

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
	struct hash_table *by_pid; /* uint32_t -> struct process *: live images */
	struct process *retired;   /* list of retired images, the last retired one first */
	/*
	 * pids of processes to be published, in order of request: a busy process is sampled, and
	 * therefore requested, earlier
	 */
	struct pid_vec wanting;
	size_t next_wanting; /* index of the first pid that was not taken yet */
	uint64_t current_window;
	uint64_t scan;        /* number of the last scan of /proc */
	uint64_t compaction;  /* number of the last move of strings to a new table */
	uint32_t next_number; /* to be assigned to the next image with a sample */
};

/* The live image of @pid, or NULL. */
struct process *process_table_lookup(const struct process_table *table, uint32_t pid);

/* Starts a new, empty image for @pid, and retires its previous image. 0 or -ENOMEM. */
int process_table_start_image(struct process_table *table, uint32_t pid,
			      struct process **ret_process);

/* Marks the process as exited. Its image is kept for samples that are processed later. */
void process_table_note_exit(struct process_table *table, struct process *process);

/*
 * Applies a PROCESS_EXECED event: starts a new image with the labels of the previous one. 0 or
 * -ENOMEM.
 */
int process_table_apply_exec(struct process_table *table, const struct process_event *event);

/*
 * Makes an image from /proc for a process without events: it started before the agent, or its
 * events were lost. 0, -ENOMEM, or another negative errno, such as -ESRCH: there is no such
 * process.
 */
int process_table_adopt(struct process_table *table, uint32_t pid, struct process **ret_process);
