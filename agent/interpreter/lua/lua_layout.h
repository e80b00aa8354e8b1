/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The layouts of Lua's structures, by version (layouts.def). A further version is a row there.
 */

#include "bpf/abi/interpreter.h"
#include "common/base.h"

/* The release, the third number of a version, is in the bits of versions from here on. */
#define LUA_RELEASE_SHIFT 16

/* Of struct Proto: offsets, and what is in its arrays. */
struct lua_code_layout {
	uint8_t type;
	uint8_t constants, first_line, source;
	uint8_t lines, line_bytes, absolute_lines;
	uint8_t locals, upvalues, upvalue_bytes;
	uint8_t n_constants, n_lines, n_absolute_lines, n_locals, n_upvalues;
	bool short_texts; /* they have their length in one byte */
};

/* Numbers of instructions. */
struct lua_opcodes {
	uint8_t bits; /* of the number */
	uint8_t move, get_upvalue, get_global, get_field, self, jump, call, closure;
	uint8_t extra_argument; /* 0: there is none */
};

struct lua_layout {
	uint32_t version;       /* major << 8 | minor */
	uint32_t first_release; /* the layout is that of this and later ones */
	struct abi_lua_layout walk;
	struct lua_code_layout code;
	struct lua_opcodes opcodes;
};

/* @version: release << LUA_RELEASE_SHIFT | major << 8 | minor. NULL: it is not known. */
const struct lua_layout *lua_layout_of(uint32_t version);
