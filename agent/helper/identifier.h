/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Identifies the files behind mappings without waiting: asks helpers (helper_pool.h) to look at them, open them and
 * parse them, and puts what they answer into the cache of executables.
 *
 * Who wants to know asks once, gets the number of a look-up, and asks again with that number; a look-up ends within
 * some seconds, whatever files do. A file system that does not answer, and a file that kills the parser, are left alone
 * for a time that doubles with each failure (avoid_list.h).
 *
 * Used by the agent's main thread.
 */

#include "agent/executable/executable.h"
#include "agent/helper/helper_pool.h"

struct identifier;

/* A look-up of a mapping of @pid has ended. */
typedef void (*identifier_ended)(void *arg, uint32_t pid);

int identifier_new(struct executable_cache *executables, struct helper_pool *pool, struct identifier **ret_identifier);
struct identifier *identifier_free(struct identifier *identifier);

void identifier_on_end(struct identifier *identifier, identifier_ended function, void *arg);

/*
 * The executable behind @file; @arg is the identifier. *number: 0 at first, afterwards as it was left. 1:
 * *ret_executable (borrowed); 0: there is none, or none that can be known; EXECUTABLE_UNAVAILABLE;
 * -EINPROGRESS: ask again. -ENOMEM.
 */
int identifier_ask(void *arg, const struct mapped_file *file, uint32_t *number, struct executable **ret_executable);

/* Hands out what was asked since the last time: to be called before waiting for anything. @now_ns: monotonic. */
void identifier_flush(struct identifier *identifier, uint64_t now_ns);

/* Look-ups in progress. */
size_t identifier_n_pending(const struct identifier *identifier);

struct identifier_stats {
	uint64_t looked_up;
	uint64_t hung;		/* files whose file system did not answer in time */
	uint64_t left_alone;	/* files not looked at, as their file system did not answer a moment ago */
	uint64_t parser_failed; /* files that the parser died of, or took too long for */
	uint64_t refused;	/* files not parsed, as the parser had died of them */
};

void identifier_stats(const struct identifier *identifier, struct identifier_stats *ret_stats);

DEFINE_SCOPED(struct identifier *, identifier_free);
