/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/import/foreign_unpack.h"

#include "proto/proto_arena.h"
#include "symbolizer/import/gunzip.h"

int foreign_unpack(struct foreign_profile *profile, const ProtobufCMessageDescriptor *descriptor,
		   struct bytes_view data, const char *what, void *ret_message)
{
	bool is_full;
	void *message = proto_arena_unpack(descriptor, profile->arena, data, &is_full);

	if (is_full)
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
