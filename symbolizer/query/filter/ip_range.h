/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * IPv4 and IPv6 addresses, and ranges of them in CIDR notation. An IPv4-mapped address such as
 * "::ffff:10.0.0.1" is treated as the IPv4 address.
 */

#include "common/base.h"

struct ip_range {
	uint8_t bytes[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint8_t prefix;    /* leading bits of @bytes that are significant, 0..128 */
	bool v4;
};

/* Parses "10.0.0.0/8", "fe80::/10" or "10.1.2.3", and clears the bits beyond the prefix. */
bool ip_range_parse(const char *text, struct ip_range *ret_range);

/* True if both are of one family and agree in the first range->prefix bits. */
bool ip_range_contains(const struct ip_range *range, const struct ip_range *address);

/* IPv4 before IPv6, then by value. */
int ip_range_compare(const struct ip_range *a, const struct ip_range *b);
