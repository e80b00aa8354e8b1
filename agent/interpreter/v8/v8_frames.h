/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which functions code executes that V8's optimizing compilers, Maglev and TurboFan, have made:
 * they inline functions into each other, and write for each part of the code from which position in
 * which function it was made.
 */

#include "agent/executable/compiled_frame.h"
#include "agent/interpreter/v8/v8_heap.h"
#include "agent/interpreter/v8/v8_lines.h"

/* A position in the text of a script, and the inlined function that has it. */
struct v8_position {
	uint32_t inlined; /* index + 1 in the list of inlined functions; 0: the outer function */
	uint32_t offset;  /* in the script, in characters, if has_offset */
	bool has_offset;
};

/*
 * Finds the position of the code at @pc_offset in the source position table @size bytes @table: a
 * list of differences of offsets in the code and of positions (src/codegen/source-position-table.cc
 * of V8), variable in length. *ret_position is that of the last element up to @pc_offset, and of
 * the outer function without an offset if there is none. 0; or -EBADMSG: the table is malformed
 * before that element.
 */
int v8_position_find(const uint8_t *table, size_t size, uint32_t pc_offset,
		     struct v8_position *ret_position);

/*
 * Reads which functions the Code object to which @pointer points executes @pc_offset bytes after
 * the beginning of its instructions, the innermost first: SharedFunctionInfos and lines. Returns
 * their number, at least 1; -EBADMSG: there is no such code, or no longer; or the negative errno of
 * memory->read.
 */
int v8_frames_read(const struct v8_memory *memory, struct v8_lines *lines, uint64_t pointer,
		   uint32_t pc_offset, struct compiled_frame ret_frames[COMPILED_MAX_INLINED]);
