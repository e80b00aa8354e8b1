/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A thread that reads the files of walks over all threads of the host, one file at a time.
 *
 * The kernel visits the threads while the file is read, and copies stacks of other processes. A
 * page of a stack may lie on a swap device that does not answer, or be supplied by another process
 * (userfaultfd): then the read waits without end. The caller waits a bounded time for the next
 * bytes and asks for them again later. Functions are called by one thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct walk_thread;

/*
 * Starts the thread, which takes no signals and, unless @keep_capabilities, has no capabilities.
 * Negative errno: there are no threads or no memory.
 */
int walk_thread_new(bool keep_capabilities, struct walk_thread **ret_thread);

/*
 * Ends the thread. If it is still reading it is left behind, with its memory and its file: it ends
 * with the process.
 */
struct walk_thread *walk_thread_free(struct walk_thread *thread);

/* Begins to read @fd, which is closed when the walk ends. The walk before must have ended. */
void walk_thread_begin_take(struct walk_thread *thread, int fd);

/* Whether a walk has begun and not ended. */
bool walk_thread_is_busy(const struct walk_thread *thread);

/*
 * Waits up to @patience_ns for the next bytes of the walk. Returns their number and *@ret_bytes,
 * which is valid until the next call; 0: the walk has ended; -EINPROGRESS: the thread is still
 * reading; or the error of read(2), with which the walk has ended.
 */
ssize_t walk_thread_next(struct walk_thread *thread, uint64_t patience_ns,
			 const uint8_t **ret_bytes);

/*
 * CPU time of the thread in ns, as of the last bytes that were returned: nearly all is the kernel's
 * for the walks.
 */
uint64_t walk_thread_cpu_ns(const struct walk_thread *thread);

#include "common/scoped.h"
DEFINE_SCOPED(struct walk_thread *, walk_thread_free);
