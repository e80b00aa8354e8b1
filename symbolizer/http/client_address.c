/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/http/client_address.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

struct client_address client_address_of(const struct sockaddr *address)
{
	struct client_address client = {};

	if (address->sa_family == AF_INET) {
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;

		client.address.s6_addr[10] = client.address.s6_addr[11] = 0xff;
		memcpy(&client.address.s6_addr[12], &v4->sin_addr, sizeof(v4->sin_addr));
	} else if (address->sa_family == AF_INET6) {
		client.address = ((const struct sockaddr_in6 *)address)->sin6_addr;
		if (!IN6_IS_ADDR_V4MAPPED(&client.address))
			memset(&client.address.s6_addr[8], 0, 8);
	}
	return client;
}

void client_address_format(const struct client_address *client,
			   char ret_text[CLIENT_ADDRESS_TEXT_SIZE])
{
	char text[INET6_ADDRSTRLEN] = "?";
	bool is_v4 = IN6_IS_ADDR_V4MAPPED(&client->address);

	(void)inet_ntop(is_v4 ? AF_INET : AF_INET6,
			is_v4 ? (const void *)&client->address.s6_addr[12] : &client->address, text,
			sizeof(text));
	(void)snprintf(ret_text, CLIENT_ADDRESS_TEXT_SIZE, "%s%s", text, is_v4 ? "" : "/64");
}

bool client_address_equal(const struct client_address *a, const struct client_address *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

uint64_t client_address_hash(const struct client_address *client)
{
	uint64_t high, low;

	memcpy(&high, &client->address.s6_addr[0], sizeof(high));
	memcpy(&low, &client->address.s6_addr[8], sizeof(low));
	/* The upper bits of a product depend on all bits of its factors. */
	return (high ^ low) * UINT64_C(0x9e3779b97f4a7c15);
}
