/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Content hashes (XXH3) and hexadecimal text. A hash128 is stored in XXH128's canonical
 * (big-endian) byte order.
 */

#include "common/bytes.h"

struct hash128 {
	uint8_t bytes[16];
};

struct hash128 hash128_of(const void *data, size_t size);
bool hash128_equal(const struct hash128 *a, const struct hash128 *b);
uint64_t hash64_of(const void *data, size_t size);

/*
 * For hash tables with untrusted keys: each table has a random seed, so an attacker cannot prepare
 * keys that collide. hash_seed() returns a new seed on each call. Seeded hashes are never stored.
 */
uint64_t hash_seed(void);
uint64_t hash64_seeded(const void *data, size_t size, uint64_t seed);

/* Lower-case hex with NUL into @ret_text[2 * size + 1]. */
void hex_encode(const void *data, size_t size, char *ret_text);

/*
 * Decodes @length hex digits of either case. Returns the number of bytes; -EINVAL: @length is odd,
 * or a character is no digit; -ENOSPC: more than @capacity bytes.
 */
int hex_decode(const char *text, size_t length, void *ret_data, size_t capacity);
