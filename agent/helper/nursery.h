/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The nursery is the process that forks the agent's helpers and kills them.
 *
 * The agent forks it before it reads its configuration, starts a thread or gives up privileges.
 * Therefore helpers contain nothing of the agent's memory, can run as another user, and are forked
 * from a small process. The nursery reads only orders of the agent: fork a helper that serves a
 * socket, kill a helper, report the resource usage of all helpers. It ends when the agent ends, and
 * its helpers end with it.
 *
 * The agent never waits for the nursery. If a helper cannot be forked, the other end of its socket
 * is closed. A helper that hangs in the kernel, where no signal reaches it, is a child of the
 * nursery and not a thread of the agent, so that it cannot keep the agent from ending.
 */

#include "common/base.h"

enum helper_kind {
	/* finds and opens files of other processes (finder_process.h); may hang in a file system */
	HELPER_FINDER,
	HELPER_PARSER,        /* parses files in a sandbox for their identity (parser_process.h) */
	HELPER_COMPILER,      /* a parser that compiles the unwind table of one file, then ends */
	HELPER_SLOW_COMPILER, /* the same, for tables that take longer than a second */
	/* reads maps and command lines of processes (reader_process.h); may hang on a lock */
	HELPER_READER,
	HELPER_TOUCHER, /* the same program, for pages of their memory; may hang in a file system */
	HELPER_KINDS,
};

struct nursery;

/*
 * Forks the nursery. Must be called first in main(). The new process overwrites its copy of @argv
 * and of the environment.
 */
int nursery_start(int argc, char **argv, struct nursery **ret_nursery);

/* Ends the nursery and its helpers, without waiting for their end. */
struct nursery *nursery_free(struct nursery *nursery);

/*
 * Orders a helper to be forked. *ret_socket: the connection to it, close-on-exec; *ret_id: for
 * nursery_kill(). 0 or negative errno; -EPIPE: the nursery has ended. Thread-safe.
 */
int nursery_fork(struct nursery *nursery, enum helper_kind kind, uint32_t *ret_id, int *ret_socket);

/*
 * Orders the helper to be killed (SIGKILL). If the order cannot be sent now, it is kept for
 * nursery_flush(). Thread-safe.
 */
void nursery_kill(struct nursery *nursery, uint32_t id);

/*
 * Sends kept orders. Call it regularly. Returns the number of orders still kept. Thread-safe.
 */
size_t nursery_flush(struct nursery *nursery);

/* Resources used by the nursery and its helpers. */
struct nursery_usage {
	/* CPU time since the start, including helpers that have ended, without compilers */
	uint64_t cpu_ns;
	uint64_t memory_bytes; /* resident memory that is not backed by files, without compilers */
	uint64_t compilers_cpu_ns;
	uint64_t compilers_memory_bytes;
	uint64_t n_helpers; /* alive */
};

/* Returns the latest report (at first all zero) and orders the next one. For one thread. */
void nursery_usage(struct nursery *nursery, struct nursery_usage *ret_usage);

#include "common/scoped.h"
DEFINE_SCOPED(struct nursery *, nursery_free);
