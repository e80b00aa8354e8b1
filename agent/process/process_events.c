/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Per-CPU perf rings -> one queue sorted by time.
 *
 * Each ring is sorted already; records of all rings are appended to a vector and sorted when
 * somebody asks. A record may wrap around the ring's end: it is then put together in a buffer
 * first.
 */
#include "agent/process/process_events.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "common/bytes.h"
#include "common/vec.h"

/*
 * Data of one ring: 128 KiB hold a thousand mappings. The fewer CPUs there are, the more of what
 * happens is on each, and the longer we may have to wait for one of them ourselves. All rings
 * together take 1 MiB, with more than 16 CPUs 64 KiB for each of them, and 8 MiB at most.
 */
#define RING_MIN_BYTES      ((size_t)(8 * KIB))
#define RING_MAX_BYTES      ((size_t)(512 * KIB))
#define RING_BYTES_PER_CPU  ((size_t)(64 * KIB))
#define ALL_RINGS_MIN_BYTES ((size_t)(1 * MIB))
#define ALL_RINGS_MAX_BYTES ((size_t)(8 * MIB))

struct ring {
	int fd;
	uint32_t cpu;
	bool suspect;
	struct perf_event_mmap_page *page;
	size_t data_bytes; /* a power of two */
	size_t mapped_bytes;
};

VEC_DEFINE(ring_vec, struct ring);

VEC_DEFINE(event_vec, struct process_event);

struct process_events {
	struct ring_vec rings;
	struct event_vec queue;
	size_t next; /* first event not handed out */
	bool sorted;
	uint64_t n_queued;
	uint64_t lost;
	uint8_t record[UINT16_MAX + 1]; /* perf_event_header.size has 16 bits */
};

/* Trailer of every record (sample_id_all with PERF_SAMPLE_TID | PERF_SAMPLE_TIME). */
struct record_trailer {
	uint32_t pid, tid;
	uint64_t time_ns;
};

struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t address, length, file_offset;
	uint32_t device_major, device_minor;
	uint64_t inode, inode_generation;
	uint32_t protection, flags;
	char path[];
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char comm[];
};

struct task_record {
	struct perf_event_header header;
	uint32_t pid, parent_pid, tid, parent_tid;
	uint64_t time_ns;
};

struct ksymbol_record {
	struct perf_event_header header;
	uint64_t address;
	uint32_t length;
	uint16_t type, flags;
	char name[];
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

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

static void ring_close(struct ring *ring)
{
	if (ring->page)
		munmap(ring->page, ring->mapped_bytes);
	ring->page = NULL;
	scoped_close(&ring->fd);
	ring->fd = -1;
}

static int ring_open(uint32_t cpu, size_t data_bytes, struct ring *ret_ring)
{
	struct ring ring = { .cpu = cpu, .data_bytes = data_bytes };
	void *address;

	ring.fd = open_event(cpu, data_bytes);
	if (ring.fd < 0)
		return ring.fd;
	ring.mapped_bytes = (size_t)sysconf(_SC_PAGESIZE) + data_bytes;
	address = mmap(NULL, ring.mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
	if (address == MAP_FAILED) {
		int r = -errno;

		ring_close(&ring);
		return r;
	}
	ring.page = address;
	*ret_ring = ring;
	return 0;
}

size_t process_events_ring_bytes(size_t n_cpus)
{
	size_t all_bytes =
		MIN(MAX(n_cpus * RING_BYTES_PER_CPU, ALL_RINGS_MIN_BYTES), ALL_RINGS_MAX_BYTES);
	size_t bytes = RING_MAX_BYTES;

	while (bytes > RING_MIN_BYTES && bytes * n_cpus > all_bytes)
		bytes /= 2;
	return bytes;
}

/*
 * Without CAP_IPC_LOCK a user has 516 KiB for each CPU (kernel.perf_event_mlock_kb) and what
 * RLIMIT_MEMLOCK allows for the rings of all programs. Where others use them, ours are smaller.
 */
static int ring_open_smaller(uint32_t cpu, size_t data_bytes, struct ring *ret_ring)
{
	int r = ring_open(cpu, data_bytes, ret_ring);

	while (r == -EPERM && data_bytes > RING_MIN_BYTES) {
		data_bytes /= 2;
		r = ring_open(cpu, data_bytes, ret_ring);
	}
	return r;
}

int process_events_new(struct process_events **ret_events)
{
	struct process_events *events = calloc(1, sizeof(*events));

	if (!events)
		return -ENOMEM;
	*ret_events = events;
	return 0;
}

struct process_events *process_events_free(struct process_events *events)
{
	if (!events)
		return NULL;
	for (size_t i = 0; i < events->rings.count; i++)
		ring_close(&events->rings.items[i]);
	vec_release(&events->rings);
	for (size_t i = 0; i < events->queue.count; i++)
		free(events->queue.items[i].path);
	vec_release(&events->queue);
	free(events);
	return NULL;
}

static int queue_event(struct process_events *events, const struct process_event *event)
{
	size_t last = events->queue.count;
	struct process_event queued = *event;

	queued.order = events->n_queued++;
	if (last > events->next && events->queue.items[last - 1].time_ns > event->time_ns)
		events->sorted = false;
	return vec_push(&events->queue, queued);
}

static int queue_mapping(struct process_events *events, const struct mmap2_record *record,
			 uint64_t time_ns)
{
	size_t path_capacity =
		record->header.size - sizeof(*record) - sizeof(struct record_trailer);
	struct process_event event = {
		.type = PROCESS_MAPPED,
		.pid = record->pid,
		.time_ns = time_ns,
		.start = record->address,
		.end = record->address + record->length,
		.file_offset = record->file_offset,
	};
	int r;

	if (!(record->protection & PROT_EXEC))
		return 0;
	/*
	 * Never by its flag PERF_RECORD_MISC_MMAP_BUILD_ID: it may be that of somebody else's
	 * event.
	 */
	event.device = makedev(record->device_major, record->device_minor);
	event.inode = record->inode;
	event.inode_generation = record->inode_generation;
	event.path = strndup(record->path, path_capacity);
	if (!event.path)
		return -ENOMEM;
	r = queue_event(events, &event);
	if (r < 0)
		free(event.path);
	return r;
}

static int queue_exec(struct process_events *events, const struct comm_record *record,
		      uint64_t time_ns)
{
	size_t comm_capacity =
		record->header.size - sizeof(*record) - sizeof(struct record_trailer);
	struct process_event event = {
		.type = PROCESS_EXECED,
		.pid = record->pid,
		.time_ns = time_ns,
	};

	if (!(record->header.misc & PERF_RECORD_MISC_COMM_EXEC))
		return 0; /* a thread renamed itself: samples carry thread names */
	memcpy(event.comm, record->comm, MIN(comm_capacity, sizeof(event.comm) - 1));
	return queue_event(events, &event);
}

static int queue_kernel_code(struct process_events *events, const struct ksymbol_record *record,
			     uint64_t time_ns)
{
	size_t name_capacity =
		record->header.size - sizeof(*record) - sizeof(struct record_trailer);
	struct process_event event = {
		.type = record->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER ? KERNEL_CODE_FREED
									     : KERNEL_CODE_MADE,
		.time_ns = time_ns,
		.start = record->address,
		.end = record->address + record->length,
		.path = strndup(record->name, name_capacity),
	};
	int r;

	if (!event.path)
		return -ENOMEM;
	r = queue_event(events, &event);
	if (r < 0)
		free(event.path);
	return r;
}

static int queue_task(struct process_events *events, const struct task_record *record,
		      enum process_event_type type)
{
	struct process_event event = {
		.type = type,
		.pid = record->pid,
		.parent = record->parent_pid,
		.time_ns = record->time_ns,
	};

	/* A process that never had a second thread ends with its leader. */
	if (record->pid != record->tid && type == PROCESS_FORKED)
		event.type = PROCESS_THREADED;
	else if (record->pid != record->tid)
		return 0;
	return queue_event(events, &event);
}

static int queue_record(struct process_events *events, const struct perf_event_header *header)
{
	const uint8_t *bytes = (const uint8_t *)header;
	struct record_trailer trailer;
	uint64_t time_ns;

	if (header->size < sizeof(*header) + sizeof(trailer))
		return 0;
	memcpy(&trailer, bytes + header->size - sizeof(trailer), sizeof(trailer));
	time_ns = trailer.time_ns;

	switch (header->type) {
	case PERF_RECORD_MMAP2:
		if (header->size < sizeof(struct mmap2_record) + sizeof(trailer))
			return 0;
		return queue_mapping(events, (const struct mmap2_record *)header, time_ns);
	case PERF_RECORD_COMM:
		if (header->size < sizeof(struct comm_record) + sizeof(trailer))
			return 0;
		return queue_exec(events, (const struct comm_record *)header, time_ns);
	case PERF_RECORD_FORK:
		return queue_task(events, (const struct task_record *)header, PROCESS_FORKED);
	case PERF_RECORD_EXIT:
		return queue_task(events, (const struct task_record *)header, PROCESS_EXITED);
	case PERF_RECORD_KSYMBOL:
		if (header->size < sizeof(struct ksymbol_record) + sizeof(trailer))
			return 0;
		return queue_kernel_code(events, (const struct ksymbol_record *)header, time_ns);
	case PERF_RECORD_LOST:
		events->lost += ((const struct lost_record *)header)->lost;
		return 0;
	default:
		return 0;
	}
}

/* The record at @tail, put together when it wraps around the end. */
static const struct perf_event_header *record_at(struct process_events *events, const uint8_t *data,
						 size_t data_bytes, uint64_t tail)
{
	size_t offset = tail % data_bytes;
	const struct perf_event_header *header = (const struct perf_event_header *)(data + offset);
	size_t size = header->size; /* records are 8-byte aligned, so the header never wraps */
	size_t first = MIN(size, data_bytes - offset);

	if (first == size)
		return header;
	memcpy(events->record, data + offset, first);
	memcpy(events->record + first, data, size - first);
	return (const struct perf_event_header *)events->record;
}

static int ring_read(struct process_events *events, struct ring *ring)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	const uint8_t *data = (const uint8_t *)ring->page + page_bytes;
	size_t data_bytes = ring->data_bytes;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	int r = 0;

	while (tail < head && r == 0) {
		const struct perf_event_header *header = record_at(events, data, data_bytes, tail);

		if (header->size == 0)
			break;
		r = queue_record(events, header);
		tail += header->size;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
	return r;
}

static void drop_handed_out(struct process_events *events)
{
	for (size_t i = 0; i < events->next; i++)
		free(events->queue.items[i].path);
	memmove(events->queue.items, events->queue.items + events->next,
		(events->queue.count - events->next) * sizeof(*events->queue.items));
	events->queue.count -= events->next;
	events->next = 0;
}

int process_events_read(struct process_events *events)
{
	int r;

	if (events->next > 0)
		drop_handed_out(events);
	if (events->queue.count == 0)
		events->sorted = true;
	for (size_t i = 0; i < events->rings.count; i++) {
		r = ring_read(events, &events->rings.items[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool contains(const uint32_t *cpus, size_t n_cpus, uint32_t cpu)
{
	/* As a rule all CPUs are online, and stand at their numbers. */
	if (cpu < n_cpus && cpus[cpu] == cpu)
		return true;
	for (size_t i = 0; i < n_cpus; i++) {
		if (cpus[i] == cpu)
			return true;
	}
	return false;
}

static struct ring *find_ring(struct process_events *events, uint32_t cpu)
{
	for (size_t i = 0; i < events->rings.count; i++) {
		if (events->rings.items[i].cpu == cpu)
			return &events->rings.items[i];
	}
	return NULL;
}

void process_events_suspect(struct process_events *events, uint32_t cpu)
{
	struct ring *ring = find_ring(events, cpu);

	if (ring)
		ring->suspect = true;
}

/* What a dead ring holds happened before its CPU went offline. */
static int close_dead(struct process_events *events, const uint32_t *cpus, size_t n_cpus)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < events->rings.count; i++) {
		struct ring *ring = &events->rings.items[i];

		if (!ring->suspect && contains(cpus, n_cpus, ring->cpu)) {
			events->rings.items[kept++] = *ring;
			continue;
		}
		if (r == 0)
			r = ring_read(events, ring);
		ring_close(ring);
	}
	events->rings.count = kept;
	return r;
}

int process_events_follow(struct process_events *events, const uint32_t *cpus, size_t n_cpus,
			  process_events_fd_function function, void *arg)
{
	size_t data_bytes = process_events_ring_bytes(n_cpus);
	int opened = 0;
	int r;

	r = close_dead(events, cpus, n_cpus);
	for (size_t i = 0; i < n_cpus && r == 0; i++) {
		struct ring ring;

		if (find_ring(events, cpus[i]))
			continue;
		r = ring_open_smaller(cpus[i], data_bytes, &ring);
		if (r == -ENODEV || r == -ENXIO) {
			r = 0; /* the CPU went offline meanwhile */
			continue;
		}
		if (r < 0)
			break;
		r = vec_push(&events->rings, ring);
		if (r < 0)
			ring_close(&ring);
		else if (function)
			r = function(arg, ring.fd);
		opened++;
	}
	return r < 0 ? r : opened;
}

/* Events of one CPU with equal times keep their order. */
static int compare_events(const void *left, const void *right)
{
	const struct process_event *a = left;
	const struct process_event *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? 1 : -1;
	return (a->order > b->order) - (a->order < b->order);
}

const struct process_event *process_events_next(struct process_events *events, uint64_t until_ns)
{
	if (events->next >= events->queue.count)
		return NULL;
	if (!events->sorted) {
		qsort(events->queue.items + events->next, events->queue.count - events->next,
		      sizeof(*events->queue.items), compare_events);
		events->sorted = true;
	}
	if (events->queue.items[events->next].time_ns > until_ns)
		return NULL;
	return &events->queue.items[events->next++];
}

size_t process_events_memory_bytes(const struct process_events *events)
{
	size_t total = 0;

	for (size_t i = 0; i < events->rings.count; i++)
		total += events->rings.items[i].mapped_bytes;
	return total;
}

uint64_t process_events_lost(struct process_events *events)
{
	uint64_t lost = events->lost;

	events->lost = 0;
	return lost;
}
