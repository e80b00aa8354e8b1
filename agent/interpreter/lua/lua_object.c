/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/interpreter/lua/lua_object.h"

/* CommonHeader: the next object, the type, marks of the garbage collector. */
#define OBJECT_TYPE  8
#define OBJECT_BYTES 24

/* A short text, which exists once, and a long one. */
#define TYPE_TEXT      4
#define TYPE_LONG_TEXT 20

/* struct TString */
#define TEXT_SHORT_LENGTH 11
#define TEXT_LENGTH       16
#define TEXT_BYTES        24

#define PAGE_BYTES 4096

int lua_read(const struct lua_memory *memory, uint64_t address, void *to, size_t size)
{
	if (address < PAGE_BYTES || address % sizeof(uint64_t) != 0)
		return -EBADMSG;
	return memory->read(memory->arg, address, to, size);
}

int lua_proto_read(const struct lua_memory *memory, uint64_t address,
		   uint8_t proto[LUA_PROTO_BYTES])
{
	const uint32_t max = LUA_MAX_INSTRUCTIONS;
	uint32_t n;
	int r = lua_read(memory, address, proto, LUA_PROTO_BYTES);

	if (r < 0)
		return r;
	n = lua_proto_instructions(memory, proto);
	return proto[OBJECT_TYPE] == memory->layout->code.type && n > 0 && n <= max ? 0 : -EBADMSG;
}

int lua_text_read(const struct lua_memory *memory, uint64_t address, size_t max_bytes, char *to,
		  size_t *ret_bytes)
{
	uint8_t head[OBJECT_BYTES];
	uint64_t length;
	int r = lua_read(memory, address, head, sizeof(head));

	if (r < 0)
		return r;
	if (head[OBJECT_TYPE] != TYPE_TEXT && head[OBJECT_TYPE] != TYPE_LONG_TEXT)
		return -EBADMSG;
	length = memory->layout->code.short_texts && head[OBJECT_TYPE] == TYPE_TEXT
			 ? head[TEXT_SHORT_LENGTH]
			 : word_at(head, TEXT_LENGTH);
	if (length == 0)
		return -EBADMSG;
	*ret_bytes = (size_t)MIN(length, (uint64_t)max_bytes);
	return memory->read(memory->arg, address + TEXT_BYTES, to, *ret_bytes);
}
