/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The kernel's reports of forks, execs, executable mappings and exits, through one dummy perf event
 * per CPU (perf_event_open(2): PERF_COUNT_SW_DUMMY with mmap2, comm_exec and task records). Nothing
 * is polled, and no system call of a process gets slower. The report of a mapping has the device,
 * inode and generation of its file, so that a known file is recognized, and another file with the
 * same path is not mistaken for it.
 *
 * The agent does not request build-IDs in place of inodes (attr.build_id, Linux 5.12). Linux 6.18
 * would then set the flag PERF_RECORD_MISC_MMAP_BUILD_ID also in records for events of other
 * programs, which have inodes (perf_event_mmap_output() does not reset it), and perf 6.1 crashes on
 * such records.
 *
 * Events of all CPUs are returned in the order of their times. Used by the agent's main thread.
 */

#include "common/base.h"

#define PROCESS_COMM_SIZE 16

enum process_event_type {
	PROCESS_FORKED = 1,
	PROCESS_EXECED = 2,
	PROCESS_MAPPED = 3,
	PROCESS_EXITED = 4,
	PROCESS_THREADED = 5, /* the process has started a second thread */
	KERNEL_CODE_MADE = 6, /* of no process: a BPF program or a trampoline was loaded */
	KERNEL_CODE_FREED = 7,
};

struct process_event {
	enum process_event_type type;
	uint32_t pid;                 /* kernel tgid */
	uint32_t parent;              /* FORKED: the parent's tgid */
	uint64_t time_ns;             /* CLOCK_MONOTONIC */
	uint64_t order;               /* position among events with equal times */
	char comm[PROCESS_COMM_SIZE]; /* EXECED */
	/* MAPPED: executable mappings only */
	uint64_t start, end, file_offset;
	uint64_t device, inode, inode_generation; /* 0: no file */
	/* owned by the queue: the path that the process sees, "//anon", "[vdso]" */
	char *path;
	/* KERNEL_CODE_MADE and FREED have start and end, and a name in path. */
};

struct process_events;

int process_events_new(struct process_events **ret_events);
struct process_events *process_events_free(struct process_events *events);

/*
 * Called for each new descriptor, for the epoll of the caller: it becomes readable when the ring is
 * half full. The kernel removes a closed descriptor from an epoll. process_events_follow() returns
 * a negative value of the function.
 */
typedef int (*process_events_fd_function)(void *arg, int fd);

/*
 * Watches @cpus, which are online, and no others. The kernel ends the event of a CPU that goes
 * offline: the records in its ring are read, and it gets a new event when it is online again.
 * @function may be NULL. Returns the number of events that were opened, or a negative errno;
 * -EPERM, -EACCES: no CAP_PERFMON. The events of a CPU before its perf event was opened are
 * missing: the caller must read /proc.
 */
int process_events_follow(struct process_events *events, const uint32_t *cpus, size_t n_cpus,
			  process_events_fd_function function, void *arg);

/*
 * To be called when @cpu was offline for a moment: its event has ended, even if it is online again.
 * The next process_events_follow() opens a new one.
 */
void process_events_suspect(struct process_events *events, uint32_t cpu);

/* Moves all records from the rings into the queue. 0 or -ENOMEM. */
int process_events_read(struct process_events *events);

/* The oldest queued event with time <= @until_ns, or NULL; valid until the next call. */
const struct process_event *process_events_next(struct process_events *events, uint64_t until_ns);

/*
 * Number of records that the kernel could not write since the last call. If there are any, the
 * caller must read /proc again.
 */
uint64_t process_events_lost(struct process_events *events);

/* Memory of all rings. */
size_t process_events_memory_bytes(const struct process_events *events);

#include "common/scoped.h"
DEFINE_SCOPED(struct process_events *, process_events_free);
