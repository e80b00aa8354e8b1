/* SPDX-License-Identifier: Apache-2.0 */
#include "common/uuid5.h"

#include <uuid/uuid.h>

static_assert(UUID_TEXT_SIZE == UUID_STR_LEN, "libuuid writes 36 characters and NUL");

void uuid5_oid(const char *name, size_t length, char ret_text[UUID_TEXT_SIZE])
{
	static const uuid_t oid_namespace = { 0x6b, 0xa7, 0xb8, 0x12, 0x9d, 0xad, 0x11, 0xd1,
					      0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8 };
	uuid_t uuid;

	uuid_generate_sha1(uuid, oid_namespace, name, length);
	uuid_unparse_lower(uuid, ret_text);
}
