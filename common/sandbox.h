/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Restricts a process that parses untrusted bytes. After sandbox_enter() the process can compute,
 * create threads, read its open descriptors, write to one of them and to stderr, and exit. The
 * kernel kills the process at any other system call, except clone3(), which fails.
 *
 * Create a process for the parsing only. Call sandbox_enter() before the process reads untrusted
 * bytes, and while it has one thread, because the kernel restricts only the calling thread and the
 * threads that it creates later.
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
	int out_fd; /* the process may write to this descriptor and to stderr */
	/*
	 * out_fd is a socket, from which the process receives descriptors. The process may also
	 * write to every descriptor above out_fd, and have SANDBOX_MAX_FILES descriptors in total.
	 */
	bool serves;
	uint64_t address_space_bytes; /* RLIMIT_AS: allocations beyond it fail */
	uint64_t written_bytes;       /* RLIMIT_FSIZE, per file: longer writes cause SIGXFSZ */
	uint64_t cpu_s;               /* RLIMIT_CPU: more CPU time causes SIGXCPU */
	unsigned int without;         /* for tests: mask of enum sandbox_fence to omit */
};

/*
 * Restricts the process permanently. Returns the mask of the restrictions (enum sandbox_fence) that
 * the kernel lacks or that @rules omits. Resource limits are always set. Negative errno: setting a
 * restriction failed, and the process must exit.
 */
int sandbox_enter(const struct sandbox_rules *rules);

/*
 * Changes to the user nobody, if the process is root, and drops all capabilities. 0 or negative
 * errno. Call it before sandbox_end_with_parent(): when the user changes, the kernel clears
 * PR_SET_PDEATHSIG, which that function sets.
 */
int sandbox_drop_user(void);

/*
 * Makes the kernel kill this process when the thread that created it ends. 0; -ESRCH: @parent has
 * already ended; another negative errno.
 */
int sandbox_end_with_parent(pid_t parent);

/*
 * Makes the OOM killer select this process before others (oom_score_adj 1000). The CPU priority
 * stays the same, because requests wait for the result, and on a busy host a process of low
 * priority might not finish.
 */
void sandbox_yield_to_others(void);
