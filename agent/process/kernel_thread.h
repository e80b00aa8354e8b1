/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names of kernel threads.
 *
 * Every kernel thread is a process of its own, and many are instances of one kind:
 * kworker/u8:1-events_unbound is worker 1 of a pool of workqueues, and the part after '-' is the
 * queue whose work it does at the moment. The kind is the service; the instance is the thread's
 * name, which samples carry.
 *
 * The kind is what kernel_threads.def says, else the name up to the first '/' ("ksoftirqd/0" ->
 * "ksoftirqd"), else the name without a number at its end and the '_', '-' or ':' before it
 * ("kswapd0" -> "kswapd", "scsi_eh_2" -> "scsi_eh").
 */

#include "common/base.h"

/* Writes the kind of @comm, cut to @size. @ret_kind may be @comm itself. */
void kernel_thread_kind(const char *comm, char *ret_kind, size_t size);
