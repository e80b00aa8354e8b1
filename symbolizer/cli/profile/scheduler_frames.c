/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Parents precede children, so the loop goes from the last node to the first: a value moves up
 * through several scheduler frames.
 */

#include "symbolizer/cli/profile/scheduler_frames.h"

#include <string.h>

/*
 * Prefixes of functions in kernel/sched/core.c and kernel/time/sleep_timeout.c. Linux has
 * _cond_resched until 5.11 and rt_mutex_schedule since 6.7.
 */
static const char *const prefixes[] = {
	"schedule",       "__schedule",    "io_schedule",       "preempt_schedule",
	"__cond_resched", "_cond_resched", "rt_mutex_schedule",
};

static const char kernel_prefix[] = "[k] ";

bool scheduler_frame_matches(const char *label)
{
	if (strncmp(label, kernel_prefix, strlen(kernel_prefix)) != 0)
		return false;
	label += strlen(kernel_prefix);
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (strncmp(label, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

static bool is_frame(const struct call_function *function)
{
	return !strchr("HPT", function->type);
}

void scheduler_frames_charge_callers(struct call_tree *tree)
{
	for (uint32_t i = tree->n_nodes; i-- > 1;) {
		struct call_node *node = &tree->nodes[i];
		struct call_node *caller = &tree->nodes[node->parent];
		struct call_function *function = &tree->functions[node->function];
		struct call_function *calling = &tree->functions[caller->function];

		if (node->self == 0 || !scheduler_frame_matches(function->name) ||
		    !is_frame(calling))
			continue;
		function->self -= MIN(node->self, function->self);
		calling->self += node->self;
		caller->self += node->self;
		node->self = 0;
	}
}
