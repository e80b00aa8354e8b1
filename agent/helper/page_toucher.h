/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pages that a stack could not be read from, because they are not resident: reading a byte of them
 * on behalf of their process faults them in, and the next sample finds them. A fault may wait for a
 * disk, or for a file system that does not answer, so helpers do it (reader_process.h), one
 * process's pages at a time. A process whose pages do not come in time is left alone: a helper may
 * be lost with it for as long as the file system does not answer. What comes while too much waits
 * is dropped. Everything is counted.
 *
 * Used by the thread of the helper pool.
 */

#include <sys/types.h>

#include "agent/helper/helper_pool.h"

struct page_toucher;

struct page_toucher_stats {
	uint64_t touched;
	uint64_t absent;  /* nothing is mapped there */
	uint64_t gone;    /* the process ended before */
	uint64_t failed;  /* most likely a missing permission (CAP_SYS_PTRACE) */
	uint64_t dropped; /* too many waited */
	uint64_t hung;    /* not there in time, or of a process that is left alone */
};

/* @pool is borrowed; it ends before the toucher does. */
int page_toucher_new(struct helper_pool *pool, struct page_toucher **ret_toucher);
struct page_toucher *page_toucher_free(struct page_toucher *toucher);

/* The page of @address in process @pid, and some above it, after the next flush. */
void page_toucher_add(struct page_toucher *toucher, pid_t pid, uint64_t address);

/* Hands out what waits: to be called before the pool runs. @now_ns: monotonic. */
void page_toucher_flush(struct page_toucher *toucher, uint64_t now_ns);

void page_toucher_stats(const struct page_toucher *toucher, struct page_toucher_stats *ret_stats);

DEFINE_SCOPED(struct page_toucher *, page_toucher_free);
