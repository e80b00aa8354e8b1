/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Puts functions of PHP beside the call of the interpreter's loop that executes them.
 *
 * PHP adds the frame of a function to its list before it calls the loop, and removes it before the
 * loop returns. A stack that is sampled in between has one function more, or one less, than calls
 * of the loop, so that each call got the functions of the next one (bpf/include/php_walk.bpf.h):
 *
 *   begins    compare, loop, usort, main, loop, start, ..., main
 *             a call of the loop has not begun yet: the functions of the outermost call are at the
 *             end of the stack. Those of the innermost call are removed.
 *   returns   loop, usort, main, loop, start
 *             should be: loop, usort, loop, start with main at the second loop: the outermost call
 *             has none
 */

#include <stddef.h>

#include "agent/sample/window.h"

/* @frames: @count frames of one stack, leaf first. Returns how many remain. */
size_t loop_frames_align(struct window_frame *frames, size_t count);
