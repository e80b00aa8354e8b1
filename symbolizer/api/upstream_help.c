/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/api/upstream_help.h"

/* A request that was forwarded by other servers waits only for this time, because those servers
 * wait too. This ends a loop of servers that does not carry our name (elfutils' debuginfod
 * forwards no Via header). */
#define FORWARDED_PATIENCE_NS (2 * NSEC_PER_SEC)

/* Only max_upstream_waits workers may wait for other servers; the others continue to serve stored
 * files. Returns false if all of these wait already. */
static bool begin_wait(struct api_context *context)
{
	if (atomic_fetch_add(&context->n_upstream_waits, 1) < context->max_upstream_waits)
		return true;
	atomic_fetch_sub(&context->n_upstream_waits, 1);
	return false;
}

enum upstream_help upstream_help_ask(struct api_context *context,
				     const struct http_request *request,
				     const struct debuginfo_key *key)
{
	const struct debuginfo_hops hops = {
		.via = http_request_header(request, "Via"),
		.forwarded_for = http_request_header(request, "X-Forwarded-For"),
	};
	uint64_t patience_ns = context->upstream_wait_ns;

	if (!context->upstream ||
	    debuginfo_upstream_want(context->upstream, key, &hops) != UPSTREAM_IS_ASKED)
		return UPSTREAM_NONE;
	if (hops.forwarded_for)
		patience_ns = MIN(patience_ns, FORWARDED_PATIENCE_NS);
	if (patience_ns == 0)
		return UPSTREAM_NONE;
	if (!begin_wait(context))
		return UPSTREAM_CROWDED;
	debuginfo_upstream_wait(context->upstream, key, patience_ns);
	atomic_fetch_sub(&context->n_upstream_waits, 1);
	return UPSTREAM_ANSWERED;
}
