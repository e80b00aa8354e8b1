/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges the rings of all CPUs into one queue by time. Each ring is sorted. The records of all
 * rings are appended to a vector, which is sorted before the next event is taken from it.
 */
#include "agent/process/process_events.h"

#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "agent/process/event_ring.h"
#include "common/bytes.h"
#include "common/vec.h"

VEC_DEFINE(ring_vec, struct event_ring);
VEC_DEFINE(event_vec, struct process_event);

struct process_events {
	struct ring_vec rings;
	struct event_vec queue;
	size_t next; /* first event that was not returned yet */
	bool sorted;
	uint64_t n_queued;
	uint64_t lost;
	uint8_t record[EVENT_RECORD_MAX_BYTES]; /* buffer of event_ring_read() */
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
		event_ring_close(&events->rings.items[i]);
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
	 * PERF_RECORD_MISC_MMAP_BUILD_ID is ignored: the kernel may have left the flag set for
	 * another program's event, and this record has an inode all the same.
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
		return 0; /* a thread renamed itself: samples have the names of threads */
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

	/*
	 * Exits of other threads than the leader are not needed: a process without a second thread
	 * ends with its leader, and /proc has the state of others.
	 */
	if (record->pid != record->tid && type == PROCESS_FORKED)
		event.type = PROCESS_THREADED;
	else if (record->pid != record->tid)
		return 0;
	return queue_event(events, &event);
}

static int queue_record(void *arg, const struct perf_event_header *header)
{
	struct process_events *events = arg;
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

static int read_ring(struct process_events *events, struct event_ring *ring)
{
	return event_ring_read(ring, events->record, queue_record, events);
}

static void drop_returned(struct process_events *events)
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
		drop_returned(events);
	if (events->queue.count == 0)
		events->sorted = true;
	for (size_t i = 0; i < events->rings.count; i++) {
		r = read_ring(events, &events->rings.items[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool contains(const uint32_t *cpus, size_t n_cpus, uint32_t cpu)
{
	/* The usual case: all CPUs are online, so that index and number are equal. */
	if (cpu < n_cpus && cpus[cpu] == cpu)
		return true;
	for (size_t i = 0; i < n_cpus; i++) {
		if (cpus[i] == cpu)
			return true;
	}
	return false;
}

static struct event_ring *find_ring(struct process_events *events, uint32_t cpu)
{
	for (size_t i = 0; i < events->rings.count; i++) {
		if (events->rings.items[i].cpu == cpu)
			return &events->rings.items[i];
	}
	return NULL;
}

void process_events_suspect(struct process_events *events, uint32_t cpu)
{
	struct event_ring *ring = find_ring(events, cpu);

	if (ring)
		ring->suspect = true;
}

/*
 * Closes the rings of CPUs that went offline. Their records are of the time before, and are read
 * first.
 */
static int close_dead(struct process_events *events, const uint32_t *cpus, size_t n_cpus)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < events->rings.count; i++) {
		struct event_ring *ring = &events->rings.items[i];

		if (!ring->suspect && contains(cpus, n_cpus, ring->cpu)) {
			events->rings.items[kept++] = *ring;
			continue;
		}
		if (r == 0)
			r = read_ring(events, ring);
		event_ring_close(ring);
	}
	events->rings.count = kept;
	return r;
}

/* 1: the ring was opened; 0: the CPU went offline meanwhile; or negative errno. */
static int open_ring(struct process_events *events, uint32_t cpu, size_t data_bytes,
		     process_events_fd_function function, void *arg)
{
	struct event_ring ring;
	int r;

	r = event_ring_open(cpu, data_bytes, &ring);
	if (r == -ENODEV || r == -ENXIO)
		return 0;
	if (r < 0)
		return r;
	r = vec_push(&events->rings, ring);
	if (r < 0) {
		event_ring_close(&ring);
		return r;
	}
	r = function ? function(arg, ring.fd) : 0;
	return r < 0 ? r : 1;
}

int process_events_follow(struct process_events *events, const uint32_t *cpus, size_t n_cpus,
			  process_events_fd_function function, void *arg)
{
	size_t data_bytes = event_ring_bytes(n_cpus);
	int n_opened = 0;
	int r;

	r = close_dead(events, cpus, n_cpus);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n_cpus; i++) {
		if (find_ring(events, cpus[i]))
			continue;
		r = open_ring(events, cpus[i], data_bytes, function, arg);
		if (r < 0)
			return r;
		n_opened += r;
	}
	return n_opened;
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
