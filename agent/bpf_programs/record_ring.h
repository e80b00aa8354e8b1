/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The reading end of a BPF ring buffer. libbpf maps the data twice in a row, so that every record
 * is contiguous; for a ring of 4 MiB the kernel would count 8 MiB as ours. This reader maps it once
 * and copies a record that wraps around the end into a buffer.
 */

#include "common/base.h"

struct record_ring;

/* @record is valid during the call. A negative return value ends the reading. */
typedef int (*record_function)(void *arg, void *record, size_t size);

/* @map_fd is borrowed. @bytes is the size of the ring. */
int record_ring_new(int map_fd, size_t bytes, record_function function, void *arg,
		    struct record_ring **ret_ring);
struct record_ring *record_ring_free(struct record_ring *ring);

/*
 * Passes each waiting record to the function. Returns the number of records, the negative value
 * that the function returned, or -ENOMEM.
 */
int record_ring_read(struct record_ring *ring);

#include "common/scoped.h"
DEFINE_SCOPED(struct record_ring *, record_ring_free);
