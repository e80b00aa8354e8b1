/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The configured upstream servers, in the order in which they are asked. A server that cannot be
 * reached is skipped for a while, and for longer after each further failure.
 */

#include <pthread.h>

#include "common/backoff.h"

#define UPSTREAM_MAX_SERVERS 16

struct upstream_server {
	char *url;           /* without a slash at the end */
	char *authorization; /* a header line, or NULL */
	struct backoff backoff;
	uint64_t not_before_ns; /* monotonic; under the lock, as is backoff */
};

struct upstream_servers {
	pthread_mutex_t lock;
	struct upstream_server items[UPSTREAM_MAX_SERVERS];
	unsigned int count;
};

/*
 * Parses @list: one server per line, "URL" or "URL TOKEN_FILE". Release in any case. -EINVAL and
 * errors of the token file with a message, -ENOMEM without.
 */
int upstream_servers_init(struct upstream_servers *servers, const char *list, char *message);
void upstream_servers_release(struct upstream_servers *servers);

/* Returns whether server @i may be asked at @now_ns. */
bool upstream_server_is_due(struct upstream_servers *servers, unsigned int i, uint64_t now_ns);

/* Records whether server @i could be asked. */
void upstream_server_asked(struct upstream_servers *servers, unsigned int i, uint64_t now_ns,
			   bool failed);
