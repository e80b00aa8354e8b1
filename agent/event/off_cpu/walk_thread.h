/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A thread of the agent that reads the files of walks, one file at a time. A walk is one run of a
 * BPF iterator over all threads of the host (bpf/off_cpu_walk.bpf.c).
 *
 * During read(2) of the file, the kernel visits the threads and copies stacks of other processes. A
 * page of a stack may be on a swap device that does not answer, or another process may have to
 * supply it (userfaultfd). Then read(2) may never return. Therefore the caller waits only a bounded
 * time for the next bytes, and tries again later. Call the functions from one thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct walk_thread;

/*
 * Starts the thread. It blocks all signals and, unless @keep_capabilities, has no capabilities.
 * Negative errno: the thread could not be created, or there is no memory.
 */
int walk_thread_new(bool keep_capabilities, struct walk_thread **ret_thread);

/*
 * Ends the thread. If read(2) has not returned, detaches the thread instead; its memory and file
 * are then kept until the process ends.
 */
struct walk_thread *walk_thread_free(struct walk_thread *thread);

/* Begins to read @fd, which is closed when the walk ends. The previous walk must have ended. */
void walk_thread_begin_take(struct walk_thread *thread, int fd);

/* Whether a walk has begun and not ended. */
bool walk_thread_is_busy(const struct walk_thread *thread);

/*
 * Waits up to @patience_ns for the next bytes of the walk. Returns their number and *ret_bytes,
 * which is valid until the next call. 0: the walk has ended. -EINPROGRESS: the thread is still
 * reading. Otherwise the error of read(2), with which the walk has ended.
 */
ssize_t walk_thread_next(struct walk_thread *thread, uint64_t patience_ns,
			 const uint8_t **ret_bytes);

/*
 * CPU time of the thread in ns, measured when it read the last returned bytes. Nearly all of it is
 * time that the kernel spends in walks.
 */
uint64_t walk_thread_cpu_ns(const struct walk_thread *thread);

#include "common/scoped.h"
DEFINE_SCOPED(struct walk_thread *, walk_thread_free);
