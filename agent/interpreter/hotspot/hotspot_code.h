/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the methods of a JVM, and which of them generated code executes, from the memory of a
 * process. The process may have freed them, or prepared false ones: everything is bounded, and
 * nothing but sizes is believed.
 */

#include "agent/executable/compiled_frame.h"
#include "agent/interpreter/hotspot/hotspot_layout.h"
#include "agent/interpreter/runtime/read_code.h"

/*
 * Reads the method at @address, or the name of the stub at @address if it has the mark
 * ABI_HOTSPOT_STUB. As python_code_read(); the line table is in the form of java_line_find()
 * (symbolizer/symbols/line_table).
 */
int hotspot_code_read(const struct hotspot_memory *memory, uint64_t address, uint64_t known_mark,
		      struct read_code *ret_code, uint8_t *content);

/*
 * Reads which methods the compiled code at @nmethod executes @pc_offset bytes after its start, the
 * innermost first. Returns their number, at least 1; -EBADMSG: there is no such code; or the
 * negative errno of memory->read.
 */
int hotspot_frames_read(const struct hotspot_memory *memory, uint64_t nmethod, uint32_t pc_offset,
			struct compiled_frame ret_frames[COMPILED_MAX_INLINED]);
