/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * on_cpu.regex, off_cpu.regex and process_matcher, compiled.
 */

#include "agent/config.h"
#include "agent/process/process_table.h"

struct rules {
	struct pattern *with_stacks;
	struct pattern *with_waits;
	struct process_rename *renames; /* names and patterns owned */
	size_t n_renames;
	struct process_rules view; /* borrows from the above */
};

/* -EINVAL was logged with the place of the error. */
int rules_init(struct rules *rules, const struct agent_config *config);
void rules_release(struct rules *rules);
