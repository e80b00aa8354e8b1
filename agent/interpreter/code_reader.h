/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Turns the addresses of code objects of interpreters into numbers of code objects of this run
 * (agent/sample/code_objects.h). A helper reads the objects from the memory of the process, because
 * a page fault there may wait for a disk, or for a file system that does not answer.
 *
 * A process may free a code object, and make another one at the same address. Therefore each
 * object is read again in each window in which a new stack refers to it: if the addresses of its
 * names and its line table are the same, nothing else is read. A sample waits for this
 * (agent/agent_helpers.c).
 *
 * Used by the agent's main thread.
 */

#include "agent/interpreter/code_jobs.h"
#include "agent/sample/code_objects.h"

struct code_reader;

/* @pool and @objects are borrowed; the pool must be freed before the reader. 0 or -ENOMEM. */
int code_reader_new(struct helper_pool *pool, struct code_objects *objects,
		    struct code_reader **ret_reader);
struct code_reader *code_reader_free(struct code_reader *reader);

/*
 * Whether the object was read in window @window, or could not be read. Begins to read it with the
 * layout of @source. 1: code_reader_get() has a result; 0: it is being read; or -ENOMEM.
 */
int code_reader_want(struct code_reader *reader, const struct code_key *key,
		     const struct code_source *source, uint64_t window);

/* A function of the runtime itself, which also has a native frame. */
#define CODE_IS_BUILTIN 2

/*
 * 1: *ret_number is the number of the code object; 0: its content is not known; or CODE_IS_BUILTIN.
 */
int code_reader_get(struct code_reader *reader, const struct code_key *key, uint32_t *ret_number);

/* Submits requests to helpers. Call it before helper_pool_run(). @now_ns: monotonic. */
void code_reader_flush(struct code_reader *reader, uint64_t now_ns);

/* Forgets objects that were not used in recent windows, if there are many. */
void code_reader_begin_window(struct code_reader *reader, uint64_t window);

struct code_reader_stats {
	uint64_t read;
	uint64_t unchanged; /* found at the same address with the same content as before */
	uint64_t gone;      /* the process had ended */
	uint64_t failed;    /* the memory could not be read, or has no code object */
	uint64_t hung;      /* not read in time, or of a process that is avoided */
	uint64_t dropped;   /* too many were waiting, or memory was short */
};

void code_reader_stats(const struct code_reader *reader, struct code_reader_stats *ret_stats);

DEFINE_SCOPED(struct code_reader *, code_reader_free);
