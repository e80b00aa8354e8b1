/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Identifies the files behind mappings without blocking: has helpers (helper_pool.h) find, open and
 * parse them, and adds the results to the cache of executables.
 *
 * A caller asks for a file, gets the number of a look-up, and asks again with that number. Each
 * look-up ends within some seconds, also when a file system hangs. A file system that does not
 * answer, and a file that kills the parser, are not tried again for a time that doubles with each
 * failure (avoid_list.h).
 *
 * Used by the agent's main thread.
 */

#include "agent/executable/executable.h"
#include "agent/helper/helper_pool.h"

struct identifier;

/* Called when a look-up of a mapping of @pid has ended. */
typedef void (*identifier_ended)(void *arg, uint32_t pid);

int identifier_new(struct executable_cache *executables, struct helper_pool *pool,
		   struct identifier **ret_identifier);
struct identifier *identifier_free(struct identifier *identifier);

void identifier_on_end(struct identifier *identifier, identifier_ended function, void *arg);

/*
 * Asks for the executable behind @file. @arg is the identifier. *number is 0 in the first call;
 * later calls pass what the call before has left there. 1: *ret_executable (borrowed); 0: the file
 * is no executable, or was not found; EXECUTABLE_UNAVAILABLE; -EINPROGRESS: call again later;
 * -ENOMEM.
 */
int identifier_ask(void *arg, const struct mapped_file *file, uint32_t *number,
		   struct executable **ret_executable);

/*
 * Submits the look-ups that were asked for. To be called before the main loop waits. @now_ns:
 * monotonic.
 */
void identifier_flush(struct identifier *identifier, uint64_t now_ns);

/* Look-ups in progress. */
size_t identifier_n_pending(const struct identifier *identifier);

struct identifier_stats {
	uint64_t looked_up;
	uint64_t hung; /* look-ups that a finder did not answer in time */
	/* look-ups not tried, because the device did not answer a short time ago */
	uint64_t left_alone;
	uint64_t parser_failed; /* files at which the parser died or took too long */
	uint64_t watched;       /* files that are watched now (file_watch.h) */
	uint64_t refused;       /* files not parsed, because the parser failed at them before */
};

void identifier_stats(const struct identifier *identifier, struct identifier_stats *ret_stats);

DEFINE_SCOPED(struct identifier *, identifier_free);
