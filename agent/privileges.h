/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The capabilities of the agent (common/privilege_table.h). At start the agent checks that it has
 * them, logs for each missing one how to grant it, and gives up all others before it creates a
 * thread. agent/system_calls.h restricts its system calls.
 */

#include "common/privilege_table.h"

/* Size of the message about one missing capability, with the path of the program. */
#define PRIVILEGE_MESSAGE_SIZE 1024

/*
 * Logs each missing capability. -EPERM: one of them is required, or the process is not in the
 * host's user namespace, so its capabilities do not allow BPF; or another negative errno (logged).
 */
int privileges_check(void);

/*
 * Logs that @privilege is missing, with what is lost and how to grant it. Returns whether it is
 * missing.
 */
bool privileges_log_if_missing(enum privilege privilege);

/*
 * Text for a log message after the kernel refused a perf event: the reason, and how to allow it.
 */
const char *privileges_perf_remedy(void);

/* Gives up all capabilities but those that the table keeps. 0 or negative errno (logged). */
int privileges_limit(void);

/* ---- parts without side effects, for tests ---- */

/*
 * The mask of those capabilities in @permitted that the agent keeps. @perf_event_paranoid: the
 * sysctl kernel.perf_event_paranoid.
 */
uint64_t privileges_to_keep(uint64_t permitted, int perf_event_paranoid);

/* privileges_perf_remedy() for a process with the capabilities @permitted. */
const char *privilege_perf_remedy(uint64_t permitted, int perf_event_paranoid);

/* Writes the message about a missing @privilege of the program at @program. */
void privilege_format(enum privilege privilege, const char *program,
		      char ret_message[PRIVILEGE_MESSAGE_SIZE]);
