/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pages that a stack could not be read from, because they are not resident: reading a byte of them on behalf of their
 * process faults them in, and the next sample finds them. A fault may wait for a disk, or for a server that does not
 * answer, so that a thread of its own does it; what comes while too much waits is dropped and counted.
 */

#include <sys/types.h>

#include "common/base.h"

struct page_toucher;

struct page_toucher_stats {
	uint64_t touched;
	uint64_t absent;  /* nothing is mapped there */
	uint64_t gone;	  /* the process ended before */
	uint64_t failed;  /* most likely a missing permission (CAP_SYS_PTRACE) */
	uint64_t dropped; /* too many waited */
};

/* Starts the thread. */
int page_toucher_new(struct page_toucher **ret_toucher);

/* Waits for the page that is being touched, a second at most. What waits is left. */
struct page_toucher *page_toucher_free(struct page_toucher *toucher);

/* The page of @address in process @pid, and some above it, soon. Never blocks. */
void page_toucher_add(struct page_toucher *toucher, pid_t pid, uint64_t address);

void page_toucher_stats(struct page_toucher *toucher, struct page_toucher_stats *ret_stats);

#include "common/scoped.h"
DEFINE_SCOPED(struct page_toucher *, page_toucher_free);
