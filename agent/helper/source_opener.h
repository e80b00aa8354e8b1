/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Opens the file of a known executable again, for its unwind table or an upload, without blocking.
 * A finder tries one way after the other (file_finder_open_source()) until a parser confirms that
 * the file still has the content of the executable. Used by the agent's main thread.
 */

#include "agent/executable/executable.h"
#include "agent/helper/helper_pool.h"
#include "agent/helper/protocol.h"

/*
 * @fd: the file that @source describes; the callee owns it. -ENOENT: no way leads to the file any
 * more. Another negative errno: helpers failed (-ECONNRESET, -ETIMEDOUT: as in helper_done), and a
 * later attempt may succeed.
 */
typedef void (*source_opened)(void *arg, int fd, const struct parser_source *source);

struct source_request {
	source_opened opened;
	struct unwind_options unwind; /* of which struct parser_source has the key */
	void (*forget)(void *arg);    /* as in struct helper_job */
	void *arg;
};

/*
 * 0: @opened will be called. -ENOENT: the executable has no file; -ENOMEM; -EBUSY: the queue for
 * helpers is full.
 */
int source_open(struct helper_pool *pool, const struct executable *executable,
		const struct source_request *request);
