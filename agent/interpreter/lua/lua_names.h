/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The name of a function is that of the variable or the field that the caller's instruction calls:
 * functions of Lua have none themselves.
 */

#include "agent/interpreter/lua/lua_code.h"

/*
 * Reads the name of the function that @caller calls: at most @max_bytes, not UTF-8 in any case.
 * 1; 0: it has no name; or a negative errno.
 */
int lua_name_read(const struct lua_memory *memory, const struct lua_caller *caller,
		  size_t max_bytes, char *to, size_t *ret_bytes);
