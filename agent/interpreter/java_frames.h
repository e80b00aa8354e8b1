/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which Java methods are executed at an address of compiled code: a helper reads them from the
 * memory of the process, because a compiled method has others inlined into it. As with code objects
 * (agent/interpreter/code_reader.h), each address is read again in each window in which a new stack
 * refers to it, because the JVM may have replaced the code, and a sample waits for this.
 *
 * Used by the agent's main thread.
 */

#include "agent/interpreter/code_reader.h"
#include "agent/interpreter/hotspot/hotspot_code.h"

struct java_frames;

/* An address of compiled code. */
struct java_pc {
	struct code_key code; /* address: of the nmethod */
	uint32_t pc_offset;
	uint32_t zero;
};

/* @pool is borrowed and must be freed before the table. 0 or -ENOMEM. */
int java_frames_new(struct helper_pool *pool, struct java_frames **ret_frames);
struct java_frames *java_frames_free(struct java_frames *frames);

/*
 * Whether the methods were read in window @window, or could not be read. Begins to read them. 1:
 * java_frames_get() has a result; 0: they are being read; or -ENOMEM. @layout lives as long as the
 * table.
 */
int java_frames_want(struct java_frames *frames, const struct java_pc *pc,
		     const struct hotspot_layout *layout, uint64_t window);

/*
 * The methods, the innermost first, valid until java_frames_begin_window(). Returns their number, 0
 * if they are not known.
 */
size_t java_frames_get(const struct java_frames *frames, const struct java_pc *pc,
		       const struct hotspot_frame **ret_methods);

/* Submits requests to helpers. Call it before helper_pool_run(). */
void java_frames_flush(struct java_frames *frames);

/* Forgets addresses that were not used in the last window. */
void java_frames_begin_window(struct java_frames *frames, uint64_t window);

DEFINE_SCOPED(struct java_frames *, java_frames_free);
