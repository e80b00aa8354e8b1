/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/regular_work.h"

static unsigned int take(uint64_t *at_ns, uint64_t interval_ns, uint64_t now_ns,
			 enum regular_task task)
{
	if (now_ns < *at_ns)
		return 0;
	*at_ns = now_ns + interval_ns;
	return task;
}

unsigned int regular_work_take(struct regular_work *work, uint64_t now_ns)
{
	return take(&work->tokens_at_ns, TOKENS_INTERVAL_NS, now_ns, REGULAR_TOKENS) |
	       take(&work->prune_at_ns, PRUNE_INTERVAL_NS, now_ns, REGULAR_PRUNE);
}

uint64_t regular_work_wait_ns(const struct regular_work *work, uint64_t now_ns)
{
	uint64_t next_ns = MIN(work->tokens_at_ns, work->prune_at_ns);

	return next_ns > now_ns ? next_ns - now_ns : 0;
}
