/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The address of a client, as far as it distinguishes clients: an IPv4 address, stored as
 * ::ffff:a.b.c.d, or the /64 network of an IPv6 address, because a network operator assigns at
 * least a /64 to a customer.
 */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct client_address {
	struct in6_addr address;
};

struct client_address client_address_of(const struct sockaddr *address);
bool client_address_equal(const struct client_address *a, const struct client_address *b);

/* Only the upper bits are hash bits. */
uint64_t client_address_hash(const struct client_address *client);

#define CLIENT_ADDRESS_TEXT_SIZE (INET6_ADDRSTRLEN + sizeof("/64"))

/* "192.0.2.1" or "2001:db8::/64" */
void client_address_format(const struct client_address *client,
			   char ret_text[CLIENT_ADDRESS_TEXT_SIZE]);
