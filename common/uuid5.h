/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * UUIDs of version 5 (RFC 4122 §4.3, SHA-1) in the OID namespace
 * 6ba7b812-9dad-11d1-80b4-00c04fd430c8.
 *
 * A name is hashed in parts. A struct uuid5 is the hash so far, and can be copied by assignment:
 * names with a common begin then hash this begin once.
 */

#include <nettle/sha1.h>

#include "common/base.h"

#define UUID_TEXT_SIZE 37 /* 36 characters and NUL */

struct uuid5 {
	struct sha1_ctx hash;
};

/* Begins an empty name. */
void uuid5_init(struct uuid5 *name);
void uuid5_add(struct uuid5 *name, const char *text, size_t length);

/* Writes the UUID of the name so far, in lower case. The name can be continued. */
void uuid5_text(const struct uuid5 *name, char ret_text[UUID_TEXT_SIZE]);
