/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads functions of Lua (Proto) from the memory of a process: file, first line, lines of the
 * instructions, and the name by which a caller calls them. The process may have freed them, or may
 * have prepared false ones: types are checked, everything is bounded.
 */

#include "agent/interpreter/lua/lua_layout.h"
#include "agent/interpreter/runtime/read_code.h"

struct lua_memory {
	const struct lua_layout *layout; /* of the version of Lua in the process */
	memory_read read;
	void *arg;
};

/* The instruction of a Lua function that calls another one. */
struct lua_caller {
	uint64_t code; /* the Proto; 0: a function in C has called it */
	uint32_t position;
};

/*
 * Reads the Proto at @address, as python_code_read(). The names are "main chunk", or that of the
 * variable or the field that @caller calls, or "function <shop.lua:12>". The file is the name of
 * the chunk: that of the file, or "[string "first line"]". The line table is as that of "ruby"
 * (symbolizer/symbols/line_table/line_table.h).
 *
 * A function that has a name keeps it while @known_mark is that of its last reading.
 */
int lua_code_read(const struct lua_memory *memory, uint64_t address,
		  const struct lua_caller *caller, uint64_t known_mark, struct read_code *ret_code,
		  uint8_t *content);
