/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The reading end of a BPF ring buffer. The data is mapped once, where libbpf maps it twice in a
 * row to have every record in one piece: with 4 MiB of it that would be twice the memory the kernel
 * counts as ours. A record that goes round the end is put together in a buffer.
 */

#include "common/base.h"

struct record_ring;

/* @record is valid during the call. A negative value ends the reading. */
typedef int (*record_function)(void *arg, void *record, size_t size);

/* @map_fd is borrowed; @bytes is its size. */
int record_ring_new(int map_fd, size_t bytes, record_function function, void *arg,
		    struct record_ring **ret_ring);
struct record_ring *record_ring_free(struct record_ring *ring);

/*
 * Hands over each waiting record. Their number, or the negative value that the function returned,
 * or -ENOMEM.
 */
int record_ring_read(struct record_ring *ring);

#include "common/scoped.h"
DEFINE_SCOPED(struct record_ring *, record_ring_free);
