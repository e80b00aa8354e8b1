/* SPDX-License-Identifier: Apache-2.0 */
#include "common/uuid5.h"

#define UUID_BYTES 16

void uuid5_init(struct uuid5 *name)
{
	static const uint8_t oid_namespace[UUID_BYTES] = { 0x6b, 0xa7, 0xb8, 0x12, 0x9d, 0xad,
							   0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0,
							   0x4f, 0xd4, 0x30, 0xc8 };

	sha1_init(&name->hash);
	sha1_update(&name->hash, sizeof(oid_namespace), oid_namespace);
}

void uuid5_add(struct uuid5 *name, const char *text, size_t length)
{
	sha1_update(&name->hash, length, (const uint8_t *)text);
}

static bool has_dash_before(size_t byte)
{
	return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

void uuid5_text(const struct uuid5 *name, char ret_text[UUID_TEXT_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	struct sha1_ctx hash = name->hash;
	uint8_t uuid[UUID_BYTES];

	sha1_digest(&hash, sizeof(uuid), uuid);
	uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x50); /* the version */
	uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80); /* the variant of RFC 4122 */
	for (size_t i = 0; i < sizeof(uuid); i++) {
		if (has_dash_before(i))
			*ret_text++ = '-';
		*ret_text++ = digits[uuid[i] >> 4];
		*ret_text++ = digits[uuid[i] & 0x0f];
	}
	*ret_text = '\0';
}
