/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names the frames in code objects: functions of interpreters and JIT compilers, and code that the
 * kernel generated.
 */

#include "symbolizer/query/frame_table.h"

/*
 * Loads the code objects of all frames, and gives each frame in an object with a name a function:
 * the object's name and file, and the line at the position of the frame. Returns 0 or a negative
 * errno.
 */
int code_names_resolve(struct frame_table *table, const struct frame_names *names);
