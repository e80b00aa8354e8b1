/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A process that gives up what its work does not need, for work on bytes that somebody sent. From
 * then on it can calculate, read the descriptors that it has, write to one of them, and end; what
 * else it tries kills it. To be called by a process made for this work alone, before it has read
 * any of those bytes, while it has one thread.
 */

#include <sys/types.h>

#include "common/base.h"

/* What a kernel may not have. */
enum sandbox_fence {
	SANDBOX_LANDLOCK = 1 << 0,
	SANDBOX_SECCOMP = 1 << 1,
};

/* Most descriptors of a process that serves (struct sandbox_rules). */
#define SANDBOX_MAX_FILES 16

struct sandbox_rules {
	int out_fd;  /* the only one that may be written to, besides 2 */
	bool serves; /* out_fd is a socket that brings descriptors: the process may write to those
					 above out_fd, and may have SANDBOX_MAX_FILES in all */
	uint64_t address_space_bytes; /* more: no memory */
	uint64_t written_bytes;       /* per file; more: SIGXFSZ */
	uint64_t cpu_s;               /* more: SIGXCPU */
	unsigned int without;         /* enum sandbox_fence, or-ed: so that tests see each alone */
};

/*
 * Gives up, for good. Returns the fences that there are not, or-ed; limits hold in any case. A
 * negative errno: something failed that should be there; the process is not to go on.
 */
int sandbox_enter(const struct sandbox_rules *rules);

/*
 * Becomes the user nobody, if the process is root, and gives up all capabilities. 0 or negative
 * errno. A change of user undoes sandbox_end_with_parent(), which must be called afterwards.
 */
int sandbox_drop_user(void);

/* Ends with the thread that started us, however that ends. -ESRCH: @parent is gone already. */
int sandbox_end_with_parent(pid_t parent);

/*
 * First to go when memory is short. No niceness: names that nobody waits for are not made, and on a
 * busy host a nice helper would not get to them.
 */
void sandbox_yield_to_others(void);
