/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Asks the upstream servers for a file that the store lacks, and waits for a bounded time. */

#include "symbolizer/api/api.h"

enum upstream_help {
	UPSTREAM_NONE,     /* no upstream server was asked */
	UPSTREAM_ANSWERED, /* a file may have been fetched: look it up again */
	UPSTREAM_CROWDED,  /* the file is being fetched, and too many requests wait */
};

/* Waits for context->upstream_wait_ns, in at most max_upstream_waits workers at a time. */
enum upstream_help upstream_help_ask(struct api_context *context,
				     const struct http_request *request,
				     const struct debuginfo_key *key);
