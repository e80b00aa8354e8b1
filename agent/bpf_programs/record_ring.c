/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the kernel's layout (kernel/bpf/ringbuf.c): a page with the consumer's position, which
 * this code writes; a page with the producers' position; then the data. Each record begins at a
 * multiple of 8 with a header of 8 bytes. The first 4 bytes of the header are the record's length
 * and two flags.
 */
#include "agent/bpf_programs/record_ring.h"

#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>

#include "common/bytes.h"

struct record_ring {
	record_function function;
	void *arg;
	uint64_t *consumer; /* one page */
	uint64_t *producer; /* one page; the data follows it */
	uint8_t *data;
	size_t data_bytes;
	size_t page_bytes;
	struct bytes whole; /* a copy of a record that wraps around the end of the ring */
};

int record_ring_new(int map_fd, size_t bytes, record_function function, void *arg,
		    struct record_ring **ret_ring)
{
	scoped(record_ring_freep) struct record_ring *ring = calloc(1, sizeof(*ring));
	void *address;

	if (!ring)
		return -ENOMEM;
	ring->function = function;
	ring->arg = arg;
	ring->data_bytes = bytes;
	ring->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	ring->whole = BYTES_INIT(bytes);
	address = mmap(NULL, ring->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (address == MAP_FAILED)
		return -errno;
	ring->consumer = address;
	address = mmap(NULL, ring->page_bytes + bytes, PROT_READ, MAP_SHARED, map_fd,
		       (off_t)ring->page_bytes);
	if (address == MAP_FAILED)
		return -errno;
	ring->producer = address;
	ring->data = (uint8_t *)address + ring->page_bytes;
	*ret_ring = take_ptr(ring);
	return 0;
}

struct record_ring *record_ring_free(struct record_ring *ring)
{
	if (!ring)
		return NULL;
	if (ring->consumer)
		munmap(ring->consumer, ring->page_bytes);
	if (ring->producer)
		munmap(ring->producer, ring->page_bytes + ring->data_bytes);
	bytes_release(&ring->whole);
	free(ring);
	return NULL;
}

/* Returns NULL if there is no memory. */
static void *record_at(struct record_ring *ring, uint64_t position, size_t size)
{
	size_t offset = position & (ring->data_bytes - 1);
	size_t first = MIN(size, ring->data_bytes - offset);

	if (first == size)
		return ring->data + offset;
	bytes_clear(&ring->whole);
	if (bytes_append(&ring->whole, ring->data + offset, first) < 0 ||
	    bytes_append(&ring->whole, ring->data, size - first) < 0)
		return NULL;
	return ring->whole.data;
}

/* @header is the header of the record at @position. */
static int hand_over(struct record_ring *ring, uint64_t position, uint32_t header)
{
	size_t size = header & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
	void *record;

	if (header & BPF_RINGBUF_DISCARD_BIT)
		return 0;
	record = record_at(ring, position + BPF_RINGBUF_HDR_SZ, size);
	return record ? ring->function(ring->arg, record, size) : -ENOMEM;
}

int record_ring_read(struct record_ring *ring)
{
	uint64_t position = *ring->consumer;
	int count = 0;

	while (position < __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE)) {
		const uint32_t *header_address =
			(const uint32_t *)(ring->data + (position & (ring->data_bytes - 1)));
		uint32_t header = __atomic_load_n(header_address, __ATOMIC_ACQUIRE);
		int r;

		/* This record is still being written, so the records after it must wait. */
		if (header & BPF_RINGBUF_BUSY_BIT)
			break;
		r = hand_over(ring, position, header);
		position += ROUND_UP((header & ~BPF_RINGBUF_DISCARD_BIT) + BPF_RINGBUF_HDR_SZ, 8u);
		__atomic_store_n(ring->consumer, position, __ATOMIC_RELEASE);
		if (r < 0)
			return r;
		count++;
	}
	return count;
}
