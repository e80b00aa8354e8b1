/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads functions of JavaScript from the memory of a process: name, file, and first line.
 */

#include "agent/interpreter/runtime/read_code.h"
#include "agent/interpreter/v8/v8_heap.h"
#include "agent/interpreter/v8/v8_lines.h"

/*
 * Reads the function whose SharedFunctionInfo is at @pointer, as python_code_read(). Its name is
 * the one that the script gives it, or else the one that V8 derived from an assignment; "(script)"
 * is the code of a script outside functions. function_bytes is 0 if the function is in no script:
 * it is one of V8's built-in functions.
 */
int v8_code_read(const struct v8_memory *memory, struct v8_lines *lines, uint64_t pointer,
		 uint64_t known_mark, struct read_code *ret_code, uint8_t *content);
