/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process/event_ring.h"

#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/scoped.h"

/*
 * Data of one ring: 128 KiB hold a thousand mappings. With fewer CPUs, more events happen on each
 * of them, and the agent may wait longer for a CPU to read them. All rings together take 1 MiB;
 * with more than 16 CPUs 64 KiB for each CPU, and 8 MiB at most.
 */
#define RING_MIN_BYTES      ((size_t)(8 * KIB))
#define RING_MAX_BYTES      ((size_t)(512 * KIB))
#define RING_BYTES_PER_CPU  ((size_t)(64 * KIB))
#define ALL_RINGS_MIN_BYTES ((size_t)(1 * MIB))
#define ALL_RINGS_MAX_BYTES ((size_t)(8 * MIB))

size_t event_ring_bytes(size_t n_cpus)
{
	size_t all_bytes =
		MIN(MAX(n_cpus * RING_BYTES_PER_CPU, ALL_RINGS_MIN_BYTES), ALL_RINGS_MAX_BYTES);
	size_t bytes = RING_MAX_BYTES;

	while (bytes > RING_MIN_BYTES && bytes * n_cpus > all_bytes)
		bytes /= 2;
	return bytes;
}

static int open_event(uint32_t cpu, size_t ring_bytes)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
	};
	long fd;

	attr.wakeup_watermark = (uint32_t)(ring_bytes / 2);
	fd = syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

void event_ring_close(struct event_ring *ring)
{
	if (ring->page)
		munmap(ring->page, ring->mapped_bytes);
	ring->page = NULL;
	scoped_close(&ring->fd);
	ring->fd = -1;
}

static int open_with(uint32_t cpu, size_t data_bytes, struct event_ring *ret_ring)
{
	struct event_ring ring = { .cpu = cpu, .data_bytes = data_bytes };
	void *address;

	ring.fd = open_event(cpu, data_bytes);
	if (ring.fd < 0)
		return ring.fd;
	ring.mapped_bytes = (size_t)sysconf(_SC_PAGESIZE) + data_bytes;
	address = mmap(NULL, ring.mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
	if (address == MAP_FAILED) {
		int r = -errno;

		event_ring_close(&ring);
		return r;
	}
	ring.page = address;
	*ret_ring = ring;
	return 0;
}

/*
 * Without CAP_IPC_LOCK a user may lock 516 KiB for each CPU (kernel.perf_event_mlock_kb) and
 * RLIMIT_MEMLOCK for the rings of all programs. mmap() fails with EPERM above that.
 */
int event_ring_open(uint32_t cpu, size_t data_bytes, struct event_ring *ret_ring)
{
	int r = open_with(cpu, data_bytes, ret_ring);

	while (r == -EPERM && data_bytes > RING_MIN_BYTES) {
		data_bytes /= 2;
		r = open_with(cpu, data_bytes, ret_ring);
	}
	return r;
}

/* The record at @tail; in @buffer if it wraps around the end of the ring. */
static const struct perf_event_header *record_at(const uint8_t *data, size_t data_bytes,
						 uint64_t tail, uint8_t *buffer)
{
	size_t offset = tail % data_bytes;
	const struct perf_event_header *header = (const struct perf_event_header *)(data + offset);
	size_t size = header->size; /* records are 8-byte aligned, so the header never wraps */
	size_t first = MIN(size, data_bytes - offset);

	if (first == size)
		return header;
	memcpy(buffer, data + offset, first);
	memcpy(buffer + first, data, size - first);
	return (const struct perf_event_header *)buffer;
}

int event_ring_read(struct event_ring *ring, uint8_t buffer[EVENT_RECORD_MAX_BYTES],
		    int (*function)(void *arg, const struct perf_event_header *record), void *arg)
{
	const uint8_t *data = (const uint8_t *)ring->page + sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	int r = 0;

	while (tail < head && r == 0) {
		const struct perf_event_header *header =
			record_at(data, ring->data_bytes, tail, buffer);

		if (header->size == 0)
			break;
		r = function(arg, header);
		tail += header->size;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
	return r;
}
