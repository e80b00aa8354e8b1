/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The process that forks the agent's helpers.
 *
 * It is forked itself before the agent reads its configuration, starts a thread or gives up privileges: so helpers hold
 * nothing of the agent's memory, can be given another user, and cost a fork of a small process. It reads nothing but
 * orders of the agent: to fork a helper that serves a socket, and to kill one. It ends with the agent, and its helpers
 * with it.
 *
 * The agent never waits for it: orders are sent, and a helper that could not be forked is a socket whose other end is
 * closed. A helper that hangs in the kernel, where no signal reaches it, is a child of this process and not a thread of
 * the agent: it does not keep the agent from ending.
 */

#include "common/base.h"

enum helper_kind {
	HELPER_FINDER, /* finds and opens files of other processes (finder_process.h); may hang in a file system */
	HELPER_PARSER, /* parses files in a sandbox for their identity (parser_process.h) */
	HELPER_COMPILER, /* the same, for unwind tables; each parses one file and ends */
	HELPER_SLOW_COMPILER, /* the same, for those that take long */
	HELPER_KINDS,
};

struct nursery;

/* Forks the process. To be called first in main(): @argc and @argv are overwritten in it, and so is the environment. */
int nursery_start(int argc, char **argv, struct nursery **ret_nursery);

/* Lets it end, and its helpers with it. Does not wait. */
struct nursery *nursery_free(struct nursery *nursery);

/*
 * Asks for a helper. *ret_socket: the connection to it, close-on-exec; *ret_id: for nursery_kill(). 0 or negative
 * errno; -EPIPE: the process is gone. Thread-safe.
 */
int nursery_fork(struct nursery *nursery, enum helper_kind kind, uint32_t *ret_id, int *ret_socket);

/* Asks for the helper's end. Thread-safe. */
void nursery_kill(struct nursery *nursery, uint32_t id);

#include "common/scoped.h"
DEFINE_SCOPED(struct nursery *, nursery_free);
