/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which functions of Java or JavaScript are executed at an address of compiled code: a helper reads
 * them from the memory of the process, because a compiled function has others inlined into it. As
 * with code objects (agent/interpreter/code_reader.h), each address is read again in each window in
 * which a new stack refers to it, because the runtime may have replaced the code, and a sample
 * waits for this.
 *
 * Used by the agent's main thread.
 */

#include "agent/executable/compiled_frame.h"
#include "agent/interpreter/code_reader.h"

struct compiled_frames;

/* An address of compiled code. */
struct compiled_pc {
	struct code_key code; /* address: of the nmethod, or pointer to the Code of V8 */
	uint32_t pc_offset;
	uint32_t zero;
};

/* @pool is borrowed and must be freed before the table. 0 or -ENOMEM. */
int compiled_frames_new(struct helper_pool *pool, struct compiled_frames **ret_frames);
struct compiled_frames *compiled_frames_free(struct compiled_frames *frames);

/*
 * Whether the functions were read in window @window, or could not be read. Begins to read them. 1:
 * compiled_frames_get() has a result; 0: they are being read; or -ENOMEM. The layout of @source
 * lives as long as the table.
 */
int compiled_frames_want(struct compiled_frames *frames, const struct compiled_pc *pc,
			 const struct code_source *source, uint64_t window);

/*
 * The functions, the innermost first, valid until compiled_frames_begin_window(). Returns their
 * number, 0 if they are not known.
 */
size_t compiled_frames_get(const struct compiled_frames *frames, const struct compiled_pc *pc,
			   const struct compiled_frame **ret_functions);

/* Submits requests to helpers. Call it before helper_pool_run(). */
void compiled_frames_flush(struct compiled_frames *frames);

/* Forgets addresses that were not used in the last window. */
void compiled_frames_begin_window(struct compiled_frames *frames, uint64_t window);

DEFINE_SCOPED(struct compiled_frames *, compiled_frames_free);
