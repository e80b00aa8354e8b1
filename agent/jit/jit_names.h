/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names code that processes generate at run time, by the files in which their runtimes describe it:
 * /tmp/perf-PID.map, and a jitdump that the process has mapped.
 *
 * When a stack of a process has an address in no executable, a look-up of the process begins: a
 * finder opens its files, a parser reads what was written since the last look-up, and then the
 * names of the sampled functions (agent/helper/jit_protocol.h). Another look-up runs when the
 * window is due, so that it includes code that was generated in the window. No function here waits.
 *
 * Of each file the agent keeps the ranges of addresses (jit_ranges.h) and the names that samples
 * needed. The bytes read in a second are bounded for each process and for all.
 *
 * Used by the agent's main thread.
 */

#include "agent/helper/helper_pool.h"
#include "agent/sample/code_namer.h"
#include "common/clock.h"

struct jit_names;

struct jit_names_options {
	struct helper_pool *pool; /* all are borrowed; the pool must be freed first */
	const struct string_table *strings;
	struct code_objects *objects;
	const struct clock *clock;
};

int jit_names_new(const struct jit_names_options *options, struct jit_names **ret_names);
struct jit_names *jit_names_free(struct jit_names *names);

/* The functions for the collector. */
struct code_namer jit_names_namer(struct jit_names *names);

/* Begins look-ups of all processes with wanted addresses. To be called when the window is due. */
void jit_names_begin(struct jit_names *names);

/*
 * Begins look-ups of processes with an address that was wanted since their last look-up began, and
 * that has no name: samples arrive while look-ups run, and code is generated. Returns whether there
 * is any. To be called when look-ups have ended, and the window should close.
 */
bool jit_names_begin_again(struct jit_names *names);

/* Whether look-ups are in progress. */
bool jit_names_is_busy(const struct jit_names *names);

/* Forgets the wanted addresses, and processes without any for a while. */
void jit_names_begin_window(struct jit_names *names, uint64_t window);

struct jit_names_stats {
	uint64_t named, unnamed; /* addresses of closed windows, counted once in each */
	uint64_t bytes_read;
	uint64_t limited; /* look-ups that ended before the end of a file, to bound their cost */
	uint64_t refused; /* perf maps that were not read: another owner, not a regular file */
	uint64_t failed;  /* files that helpers could not read */
	uint64_t dropped; /* entries of files, and processes, without room */
	uint64_t processes, ranges; /* now */
};

void jit_names_stats(const struct jit_names *names, struct jit_names_stats *ret_stats);

DEFINE_SCOPED(struct jit_names *, jit_names_free);
