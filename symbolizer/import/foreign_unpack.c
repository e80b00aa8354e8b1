/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/import/foreign_unpack.h"

#include "symbolizer/import/gunzip.h"

/* protobuf-c reports only that it failed: this remembers whether the arena was full. */
struct watched_arena {
	struct arena *arena;
	bool full;
};

static void *watched_alloc(void *arg, size_t size)
{
	struct watched_arena *watched = arg;
	void *memory = arena_alloc(watched->arena, size);

	watched->full |= !memory;
	return memory;
}

static void watched_free(void *arg, void *memory)
{
	(void)arg;
	(void)memory;
}

int foreign_unpack(struct foreign_profile *profile, const ProtobufCMessageDescriptor *descriptor,
		   struct bytes_view data, const char *what, void *ret_message)
{
	struct watched_arena watched = { .arena = profile->arena };
	ProtobufCAllocator allocator = {
		.alloc = watched_alloc,
		.free = watched_free,
		.allocator_data = &watched,
	};
	void *message = protobuf_c_message_unpack(descriptor, &allocator, data.size, data.data);

	if (!message && watched.full)
		return foreign_no_room(profile);
	if (!message)
		return foreign_bad(profile, "%s: no valid protobuf message, or cut short", what);
	*(void **)ret_message = message;
	return 0;
}

int foreign_expand(struct foreign_profile *profile, struct bytes_view data, struct bytes *plain,
		   struct bytes_view *ret_data)
{
	int r = 0;

	*ret_data = data;
	if (!is_gzip(data))
		return 0;
	r = gunzip(data, plain);
	if (r == -EBADMSG)
		return foreign_bad(profile, "the profile's gzip is damaged or cut short");
	if (r == -EFBIG)
		return foreign_too_much(profile, "the profile has more than %llu MiB when expanded",
					(unsigned long long)(IMPORT_MAX_PLAIN_BYTES / MIB));
	*ret_data = bytes_view_of(plain);
	return r;
}
