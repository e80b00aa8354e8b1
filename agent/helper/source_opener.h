/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Opens the file of an executable again, for its unwind table or an upload, without waiting: a finder opens it by one
 * way after the other, and a parser looks whether it is the executable still. Used by the agent's main thread.
 */

#include "agent/executable/executable.h"
#include "agent/helper/helper_pool.h"
#include "agent/helper/protocol.h"

/* @fd: the caller's from now on, and @source what was found in it; or -ENOENT: no copy is left. */
typedef void (*source_opened)(void *arg, int fd, const struct parser_source *source);

struct source_request {
	source_opened opened;
	void (*forget)(void *arg); /* as in struct helper_job */
	void *arg;
};

/* 0: @opened will be called. -ENOENT: it has no file; -ENOMEM, -EBUSY. */
int source_open(struct helper_pool *pool, const struct executable *executable, const struct source_request *request);
