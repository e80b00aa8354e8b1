/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The compiled patterns of the event sources (on_cpu.regex and the like) and of process_matcher. */

#include "agent/config.h"
#include "agent/event/event_sources.h"
#include "agent/process/process_table.h"

struct rules {
	struct pattern *names[EVENT_SOURCE_COUNT]; /* of the processes of each source; NULL: all */
	struct process_rename *renames;            /* owns names and patterns */
	size_t n_renames;
	struct process_rules view; /* borrows from the fields above */
};

/* Logs failures. -EINVAL: the message has the position in the pattern. */
int rules_init(struct rules *rules, const struct agent_config *config);
void rules_release(struct rules *rules);
