/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Service names of kernel threads.
 *
 * Each kernel thread is a process, and many of them are instances of one kind:
 * kworker/u8:1-events_unbound is worker 1 of a pool of workqueues, and the part after '-' is the
 * workqueue that it serves at that moment. The kind is the service. The whole name is the name of
 * the thread, which samples carry.
 *
 * The kind is the first of these that applies: the row of kernel_threads.def that matches; the name
 * up to the first '/' ("ksoftirqd/0" -> "ksoftirqd"); the name without a number at its end and the
 * '_', '-' or ':' before that ("kswapd0" -> "kswapd", "scsi_eh_2" -> "scsi_eh").
 */

#include "common/base.h"

/* Writes the kind of @comm, cut to @size. @ret_kind may be @comm itself. */
void kernel_thread_kind(const char *comm, char *ret_kind, size_t size);
