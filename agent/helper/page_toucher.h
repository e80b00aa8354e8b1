/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes pages resident from which a stack could not be read. A helper reads one byte of each page
 * of the process; the page fault loads the page, and the next sample can read it. A page fault may
 * wait for a disk, or for a file system that does not answer, so helpers do it (reader_process.h),
 * one process at a time. If the pages of a process are not loaded in time, the process is avoided
 * for a while, because each attempt may block a helper until the file system answers. Requests are
 * dropped while too many are waiting. Everything is counted.
 *
 * Used by the thread of the helper pool.
 */

#include <sys/types.h>

#include "agent/helper/helper_pool.h"

struct page_toucher;

struct page_toucher_stats {
	uint64_t touched;
	uint64_t absent;  /* pages with no mapping */
	uint64_t gone;    /* the process ended before */
	uint64_t failed;  /* most likely a missing permission (CAP_SYS_PTRACE) */
	uint64_t dropped; /* too many pages were waiting */
	uint64_t hung;    /* not loaded in time, or of a process that is avoided */
};

/* @pool is borrowed; it must be freed before the toucher. */
int page_toucher_new(struct helper_pool *pool, struct page_toucher **ret_toucher);
struct page_toucher *page_toucher_free(struct page_toucher *toucher);

/* Adds the page of @address in process @pid, and some pages above it, to the next flush. */
void page_toucher_add(struct page_toucher *toucher, pid_t pid, uint64_t address);

/* Submits waiting pages to helpers. Call it before helper_pool_run(). @now_ns: monotonic. */
void page_toucher_flush(struct page_toucher *toucher, uint64_t now_ns);

void page_toucher_stats(const struct page_toucher *toucher, struct page_toucher_stats *ret_stats);

DEFINE_SCOPED(struct page_toucher *, page_toucher_free);
