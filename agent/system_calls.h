/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The agent's seccomp filter, made from a list of system calls (agent/system_calls.def):
 *
 *   allowed     the agent makes the call
 *   forbidden   only an attacker makes it: the kernel ends the agent (SIGSYS, an audit record)
 *   other       fails with ENOSYS, as on a kernel without the call: glibc then uses an older one
 *
 * The filter is installed in the first thread before others are created, so that all threads and
 * child processes inherit it. The agent does not use Landlock: a process in a Landlock domain
 * cannot read /proc/PID/maps of processes outside of the domain.
 */

#include "common/base.h"

/*
 * Sets no_new_privs and installs the filter. 1: installed; 0: the kernel has no seccomp; or
 * negative errno.
 */
int system_calls_restrict(void);
