/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the agent is allowed to do, as capabilities (common/privilege_table.h). It checks at start
 * that it has them, says in one sentence for each that is missing how to grant it, and gives up all
 * others before it creates a thread. What system calls it may make is agent/system_calls.h.
 */

#include "common/privilege_table.h"

/* Longest sentence about one missing capability, with the path of the program. */
#define PRIVILEGE_MESSAGE_SIZE 1024

/*
 * Logs each missing capability. -EPERM when one of them is required, or when this is not the host's
 * user namespace, where capabilities do not allow BPF.
 */
int privileges_check(void);

/*
 * Logs that @privilege is missing, with what is lost and how to grant it. Returns whether it is
 * missing.
 */
bool privileges_log_if_missing(enum privilege privilege);

/* After the kernel refused a perf event: why, and what allows it. Part of a sentence. */
const char *privileges_perf_remedy(void);

/* Gives up all capabilities but those that the table keeps. 0 or negative errno (logged). */
int privileges_limit(void);

/* ---- parts without side effects, for tests ---- */

/*
 * The mask of the capabilities of @permitted that the agent keeps, where the sysctl
 * kernel.perf_event_paranoid is @perf_event_paranoid.
 */
uint64_t privileges_to_keep(uint64_t permitted, int perf_event_paranoid);

/* The same, for a process with the capabilities @permitted. */
const char *privilege_perf_remedy(uint64_t permitted, int perf_event_paranoid);

/* The sentence about @privilege, for the program at @program. */
void privilege_format(enum privilege privilege, const char *program,
		      char ret_message[PRIVILEGE_MESSAGE_SIZE]);
