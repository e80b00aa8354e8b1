/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * IPv4 and IPv6 addresses, and ranges of them in CIDR notation. "::ffff:10.0.0.1" is the IPv4
 * address it means.
 */

#include "common/base.h"

struct ip_range {
	uint8_t bytes[16]; /* an IPv4 address in its mapped form */
	uint8_t prefix;    /* bits of @bytes that count, 0..128 */
	bool v4;
};

/* "10.0.0.0/8", "fe80::/10", "10.1.2.3". Bits beyond the prefix are cleared. */
bool ip_range_parse(const char *text, struct ip_range *ret_range);

/* Of one family, and all bits that count are equal. */
bool ip_range_contains(const struct ip_range *range, const struct ip_range *address);

/* IPv4 before IPv6, then by value. */
int ip_range_compare(const struct ip_range *a, const struct ip_range *b);
