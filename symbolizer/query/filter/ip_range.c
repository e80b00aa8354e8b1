/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of both families are stored as 128 bits, IPv4 in ::ffff:0:0/96, so that one comparison
 * works for both. */

#include "symbolizer/query/filter/ip_range.h"

#include <arpa/inet.h>
#include <string.h>

#define V4_PREFIX_BITS 96

static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };

/* Reads one to three decimal digits, without sign or blanks, as a number up to @max. */
static bool parse_prefix(const char *text, unsigned int max, unsigned int *ret_prefix)
{
	unsigned int prefix = 0;

	if (*text == '\0' || strlen(text) > 3)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		prefix = prefix * 10 + (unsigned int)(*text - '0');
	}
	*ret_prefix = prefix;
	return prefix <= max;
}

static void clear_from(uint8_t bytes[16], unsigned int bit)
{
	for (; bit < 128; bit++)
		bytes[bit / 8] &= (uint8_t) ~(0x80u >> bit % 8);
}

bool ip_range_parse(const char *text, struct ip_range *ret_range)
{
	struct ip_range range = {};
	char address[INET6_ADDRSTRLEN];
	const char *slash = strchr(text, '/');
	size_t length = slash ? (size_t)(slash - text) : strlen(text);
	unsigned int prefix;

	if (length >= sizeof(address))
		return false;
	memcpy(address, text, length);
	address[length] = '\0';

	range.v4 = inet_pton(AF_INET, address, range.bytes + sizeof(v4_mapped)) == 1;
	if (range.v4)
		memcpy(range.bytes, v4_mapped, sizeof(v4_mapped));
	else if (inet_pton(AF_INET6, address, range.bytes) != 1)
		return false;

	prefix = range.v4 ? 32 : 128;
	if (slash && !parse_prefix(slash + 1, prefix, &prefix))
		return false;
	if (range.v4)
		prefix += V4_PREFIX_BITS;
	else
		range.v4 = prefix >= V4_PREFIX_BITS &&
			   memcmp(range.bytes, v4_mapped, sizeof(v4_mapped)) == 0;
	clear_from(range.bytes, prefix);
	range.prefix = (uint8_t)prefix;
	*ret_range = range;
	return true;
}

bool ip_range_contains(const struct ip_range *range, const struct ip_range *address)
{
	uint8_t bytes[16];

	if (range->v4 != address->v4 || address->prefix < range->prefix)
		return false;
	memcpy(bytes, address->bytes, sizeof(bytes));
	clear_from(bytes, range->prefix);
	return memcmp(bytes, range->bytes, sizeof(bytes)) == 0;
}

int ip_range_compare(const struct ip_range *a, const struct ip_range *b)
{
	if (a->v4 != b->v4)
		return a->v4 ? -1 : 1;
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}
