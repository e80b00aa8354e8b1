/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The agent's seccomp filter: a list of the system calls it makes (agent/system_calls.def).
 *
 *   listed              allowed
 *   forbidden           the kernel ends the agent (SIGSYS, a line in the audit log): only an attacker makes these
 *   anything else       fails with ENOSYS, as on a kernel that lacks the call, because glibc then uses an older one
 *
 * The filter is installed in the first thread before there are others, so that all threads and all
 * processes that the agent forks inherit it. No Landlock: a process in a Landlock domain may not
 * look into processes outside it, and /proc/PID/maps of others is what the agent lives from.
 */

#include "common/base.h"

/*
 * Sets no_new_privs and installs the filter. 1 done, 0 this kernel has no seccomp, or negative
 * errno.
 */
int system_calls_restrict(void);
