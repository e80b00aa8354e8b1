/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/proto_arena.h"

static void *allocate_in_arena(void *arena, size_t size)
{
	return arena_alloc(arena, size);
}

static void forget(void *arena, void *pointer)
{
	(void)arena;
	(void)pointer;
}

ProtobufCAllocator proto_arena_allocator(struct arena *arena)
{
	return (ProtobufCAllocator){
		.alloc = allocate_in_arena,
		.free = forget,
		.allocator_data = arena,
	};
}
