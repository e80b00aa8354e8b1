/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads objects of Lua from the memory of a process: functions (Proto) and texts. */

#include "agent/interpreter/lua/lua_code.h"
#include "agent/interpreter/runtime/words.h"

/* The fields of a Proto that are read are in its first bytes. */
#define LUA_PROTO_BYTES 120

/* Instructions from which no function has more. */
#define LUA_MAX_INSTRUCTIONS (1U << 22)

#define LUA_INSTRUCTION_BYTES 4

/* Lines from which no function has more. */
#define LUA_MAX_LINE (1U << 30)

/* Reads [@address, @address + @size) of an object, which is aligned. 0 or a negative errno. */
int lua_read(const struct lua_memory *memory, uint64_t address, void *to, size_t size);

/* Reads the Proto at @address. 0; -EBADMSG: it is none; or another errno. */
int lua_proto_read(const struct lua_memory *memory, uint64_t address,
		   uint8_t proto[LUA_PROTO_BYTES]);

static inline uint32_t lua_proto_instructions(const struct lua_memory *memory, const uint8_t *proto)
{
	return half_at(proto, memory->layout->walk.code_count);
}

/* Reads the beginning of the text (TString) at @address. 0 or a negative errno. */
int lua_text_read(const struct lua_memory *memory, uint64_t address, size_t max_bytes, char *to,
		  size_t *ret_bytes);
