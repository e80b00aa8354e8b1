/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The ring of one CPU with the perf records of all its processes (perf_event_open(2)): executable
 * mappings, comm changes, forks, exits, and kernel code that is loaded. Used by process_events.c
 * only.
 */

#include <linux/perf_event.h>

#include "common/base.h"

struct event_ring {
	int fd;
	uint32_t cpu;
	bool suspect; /* the CPU was offline since the ring was opened */
	struct perf_event_mmap_page *page;
	size_t data_bytes; /* a power of two */
	size_t mapped_bytes;
};

/*
 * Opens the ring of @cpu with @data_bytes. If others have used up the memory that a user may lock,
 * opens a smaller one. 0 or negative errno; -ENODEV, -ENXIO: the CPU is offline.
 */
int event_ring_open(uint32_t cpu, size_t data_bytes, struct event_ring *ret_ring);
void event_ring_close(struct event_ring *ring);

/* The size of a record has 16 bits. */
#define EVENT_RECORD_MAX_BYTES (UINT16_MAX + 1)

/*
 * Calls @function for each record in the ring, until it returns < 0. The record is valid during the
 * call. A record that wraps around the end of the ring is copied to @buffer. 0, or the first error
 * of @function; its record is removed from the ring.
 */
int event_ring_read(struct event_ring *ring, uint8_t buffer[EVENT_RECORD_MAX_BYTES],
		    int (*function)(void *arg, const struct perf_event_header *record), void *arg);

/* Data of each ring if @n_cpus are online: a power of two. */
size_t event_ring_bytes(size_t n_cpus);
