/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/proto_arena.h"

/* protobuf-c reports only that it failed: this remembers whether the arena was full. */
struct watched_arena {
	struct arena *arena;
	bool is_full;
};

static void *allocate_in_arena(void *arg, size_t size)
{
	struct watched_arena *watched = arg;
	void *memory = arena_alloc(watched->arena, size);

	watched->is_full |= !memory;
	return memory;
}

static void forget(void *arg, void *pointer)
{
	(void)arg;
	(void)pointer;
}

void *proto_arena_unpack(const ProtobufCMessageDescriptor *descriptor, struct arena *arena,
			 struct bytes_view data, bool *ret_is_full)
{
	struct watched_arena watched = { .arena = arena };
	ProtobufCAllocator allocator = {
		.alloc = allocate_in_arena,
		.free = forget,
		.allocator_data = &watched,
	};
	void *message = protobuf_c_message_unpack(descriptor, &allocator, data.size, data.data);

	if (ret_is_full)
		*ret_is_full = !message && watched.is_full;
	return message;
}
