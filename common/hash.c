/* SPDX-License-Identifier: Apache-2.0 */
#include "common/hash.h"

#include <sys/random.h>
#include <time.h>
#include <xxhash.h>

struct hash128 hash128_of(const void *data, size_t size)
{
	XXH128_canonical_t canonical;
	struct hash128 hash;

	XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, size));
	static_assert(sizeof(hash.bytes) == sizeof(canonical.digest), "XXH128 has 16 bytes");
	memcpy(hash.bytes, canonical.digest, sizeof(hash.bytes));
	return hash;
}

bool hash128_equal(const struct hash128 *a, const struct hash128 *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

uint64_t hash64_of(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

uint64_t hash_seed(void)
{
	struct timespec now;
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed))
		return seed;
	/* Early at boot the kernel's generator is not ready. The time and the address still differ
	 * between hosts. */
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_nsec * UINT64_C(0x9e3779b97f4a7c15) ^ (uintptr_t)&seed;
}

uint64_t hash64_seeded(const void *data, size_t size, uint64_t seed)
{
	return XXH3_64bits_withSeed(data, size, seed);
}

void hex_encode(const void *data, size_t size, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *bytes = data;

	for (size_t i = 0; i < size; i++) {
		ret_text[2 * i] = digits[bytes[i] >> 4];
		ret_text[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_text[2 * size] = '\0';
}

static int hex_digit_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -EINVAL;
}

int hex_decode(const char *text, size_t length, void *ret_data, size_t capacity)
{
	uint8_t *bytes = ret_data;

	if (length % 2 != 0)
		return -EINVAL;
	if (length / 2 > capacity || length / 2 > INT32_MAX)
		return -ENOSPC;
	/* Check all digits first, because the output must not change on failure. */
	for (size_t i = 0; i < length; i++)
		if (hex_digit_value(text[i]) < 0)
			return -EINVAL;

	for (size_t i = 0; i < length / 2; i++)
		bytes[i] = (uint8_t)(hex_digit_value(text[2 * i]) << 4 |
				     hex_digit_value(text[2 * i + 1]));
	return (int)(length / 2);
}
