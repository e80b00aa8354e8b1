/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Identifies the files behind mappings without blocking: lets helpers (helper_pool.h) find, open
 * and parse them, and adds the results to the cache of executables.
 *
 * The first call for a file begins a look-up and returns its number. The caller calls again with
 * that number until there is a result. Each look-up ends within some seconds, even if a file system
 * hangs. A device that does not answer and a file that kills the parser are avoided for a time that
 * doubles with each failure (avoid_list.h).
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
 * Returns the executable behind @file, or begins or continues a look-up. @arg is the identifier.
 * *number must be 0 in the first call; later calls pass the value that the previous call stored. 1:
 * *ret_executable (borrowed); 0: the file is no executable, or was not found;
 * EXECUTABLE_UNAVAILABLE; -EINPROGRESS: call again later; -ENOMEM.
 */
int identifier_find(void *arg, const struct mapped_file *file, uint32_t *number,
		    struct executable **ret_executable);

/*
 * Submits new look-ups to helpers. Call it before the main loop waits. @now_ns: monotonic.
 */
void identifier_flush(struct identifier *identifier, uint64_t now_ns);

/* Number of look-ups in progress. */
size_t identifier_n_pending(const struct identifier *identifier);

struct identifier_stats {
	uint64_t looked_up;
	uint64_t hung; /* look-ups without an answer from a finder in time */
	/* look-ups not tried, because the device did not answer a short time ago */
	uint64_t avoided;
	uint64_t parser_failed; /* files for which the parser died or took too long */
	uint64_t watched;       /* files that are watched now (file_watch.h) */
	uint64_t refused;       /* files not parsed, because the parser failed on them before */
};

void identifier_stats(const struct identifier *identifier, struct identifier_stats *ret_stats);

DEFINE_SCOPED(struct identifier *, identifier_free);
