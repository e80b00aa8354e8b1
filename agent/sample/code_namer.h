/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names code that a process generated, which lies in no executable. The collector reports each
 * address of such code when a stack with it is added to the open window, and asks for the frame
 * when the window closes. agent/jit implements the functions.
 */

#include "agent/process/process_table.h"
#include "agent/sample/window.h"

struct code_namer {
	void *arg;
	/* A stack of @process with @pc was sampled at @time_ns. To be called once or more. */
	void (*want)(void *arg, const struct process *process, uint64_t pc, uint64_t time_ns);
	/*
	 * Sets the frame of @pc in the process with the number @process. False: nothing is known of
	 * it, and *frame is not changed.
	 */
	bool (*find)(void *arg, uint32_t process, uint64_t pc, struct window_frame *frame);
};
