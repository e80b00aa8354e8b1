/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Restricts a process that parses bytes of others. Afterwards the process can compute, read its
 * open descriptors, write to one of them, and exit. The kernel kills it if it makes any other
 * system call. Call it in a process that was created for this work only, before it reads any of
 * those bytes, and while it has one thread.
 */

#include <sys/types.h>

#include "common/base.h"

/* Restrictions that a kernel may lack. */
enum sandbox_fence {
	SANDBOX_LANDLOCK = 1 << 0,
	SANDBOX_SECCOMP = 1 << 1,
};

/* Most open descriptors of a process with sandbox_rules.serves. */
#define SANDBOX_MAX_FILES 16

struct sandbox_rules {
	int out_fd; /* the only descriptor that may be written to, besides stderr */
	/*
	 * out_fd is a socket from which the process receives descriptors. It may write to all
	 * descriptors above out_fd, and have SANDBOX_MAX_FILES in total.
	 */
	bool serves;
	uint64_t address_space_bytes; /* beyond it, allocations fail */
	uint64_t written_bytes;       /* per file; beyond it: SIGXFSZ */
	uint64_t cpu_s;               /* beyond it: SIGXCPU */
	unsigned int without;         /* mask of enum sandbox_fence to omit, for tests */
};

/*
 * Restricts the process permanently. Returns the mask of the fences that the kernel lacks; resource
 * limits are always set. Negative errno: a restriction failed, and the process must exit.
 */
int sandbox_enter(const struct sandbox_rules *rules);

/*
 * Changes to the user nobody, if the process is root, and drops all capabilities. 0 or negative
 * errno. Call it before sandbox_end_with_parent(), because a change of user clears that setting.
 */
int sandbox_drop_user(void);

/*
 * Makes the kernel kill this process when the thread that created it ends. 0; -ESRCH: @parent has
 * already ended; another negative errno.
 */
int sandbox_end_with_parent(pid_t parent);

/*
 * Makes the process the first victim of the OOM killer. Does not lower its CPU priority: queries
 * wait for its work, and on a busy host a process of low priority would not finish it.
 */
void sandbox_yield_to_others(void);
