/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the interpreter's loop, luaV_execute(), in a file without symbols, by its code. */

#include "agent/interpreter/lua/lua_layout.h"
#include "common/elf/elf_file.h"

/* 1: *ret_loop; 0: it is not found; -ENODATA: the file was truncated; -ENOMEM. */
int loop_code_find(const struct elf_file *elf, const struct lua_layout *layout,
		   struct abi_code_range *ret_loop);
