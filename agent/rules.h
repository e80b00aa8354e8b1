/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The compiled patterns of on_cpu.regex, off_cpu.regex and process_matcher. */

#include "agent/config.h"
#include "agent/process/process_table.h"

struct rules {
	struct pattern *with_stacks;
	struct pattern *with_waits;
	struct process_rename *renames; /* owns names and patterns */
	size_t n_renames;
	struct process_rules view; /* borrows from the fields above */
};

/* Logs failures. -EINVAL: the message has the position in the pattern. */
int rules_init(struct rules *rules, const struct agent_config *config);
void rules_release(struct rules *rules);
