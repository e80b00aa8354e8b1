/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The queue of requests to helpers about code in processes. Waiting codes are in order of request.
 * Those of the first one's process are submitted together, in one job.
 */

#include "agent/helper/helper_pool.h"
#include "agent/helper/process_facts.h"
#include "agent/helper/protocol.h"
#include "common/vec.h"

/* A code object of an image of a process. */
struct code_key {
	uint64_t start_time_ns;
	uint64_t address;
	uint32_t pid;
	uint32_t exec_count;
};

/* How the objects of a process are read. */
struct code_source {
	uint32_t runtime;                    /* enum interpreter_runtime */
	uint32_t version;                    /* of CPython, V8, PHP, CRuby, Perl or Lua */
	const struct hotspot_layout *layout; /* of a JVM; lives as long as the queue */
	/* Lua: the function that calls this one, and the index of its instruction; 0: none */
	uint64_t caller;
	uint32_t caller_position;
};

struct waiting_code {
	struct code_key key;
	struct code_source source;
	uint32_t pc_offset; /* of compiled code, else 0 */
};

VEC_DEFINE(waiting_vec, struct waiting_code);

struct code_jobs {
	/* constant */
	struct helper_pool *pool; /* borrowed */
	void *owner;
	enum reader_file file; /* READER_CODE or READER_COMPILED_FRAMES */
	size_t max_waiting, max_per_job;
	void (*done)(void *job, int error, struct helper_message *answer); /* frees the job */

	struct waiting_vec waiting;
	unsigned int n_in_flight; /* `done` decreases it */
	struct helper_message message;
};

/* Codes of one process. Allocated with malloc(). */
struct code_job {
	void *owner;
	struct process_key process; /* set and used by the owner */
	size_t count;
	struct waiting_code codes[];
};

void code_jobs_release(struct code_jobs *jobs);

/* 0; -ENOSPC: too many are waiting; -ENOMEM. */
int code_jobs_add(struct code_jobs *jobs, const struct waiting_code *code);

/* Takes a job from the queue. NULL: none waits or may be submitted now, or memory is short. */
struct code_job *code_jobs_next(struct code_jobs *jobs);

/*
 * Submits a job that code_jobs_next() returned. @items: @item_size bytes for each code, as
 * agent/helper/protocol.h describes. Negative errno: the caller still owns the job.
 */
int code_jobs_submit(struct code_jobs *jobs, struct code_job *job, const void *items,
		     size_t item_size);
