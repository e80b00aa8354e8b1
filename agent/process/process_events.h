/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What processes do, as the kernel tells it: forks, execs, executable mappings and exits, through
 * one dummy perf event per CPU (perf_event_open(2): PERF_COUNT_SW_DUMMY with mmap2, comm_exec and
 * task records). No polling, and no tax on anybody's system calls; a mapping comes with the file's
 * device, inode and generation, so that a file that was met before is known again, and another one
 * under its name is not taken for it.
 *
 * The kernel would tell the build-ID instead (attr.build_id, 5.12). It is not asked to: it then
 * flags the records of other tools' events as well, which have inodes (Linux 6.18,
 * perf_event_mmap_output() leaves PERF_RECORD_MISC_MMAP_BUILD_ID set for the events after ours),
 * and perf 6.1 dies of them.
 *
 * Events come out in the order of their time over all CPUs. Used by the agent's main thread.
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
	uint64_t order;               /* among events of equal time */
	char comm[PROCESS_COMM_SIZE]; /* EXECED */
	/* MAPPED: executable mappings only */
	uint64_t start, end, file_offset;
	uint64_t device, inode, inode_generation; /* 0: no file */
	/* owned by the queue; as the process sees it, "//anon", "[vdso]" */
	char *path;
	/* KERNEL_CODE_MADE and FREED: start and end, and its name as path */
};

struct process_events;

int process_events_new(struct process_events **ret_events);
struct process_events *process_events_free(struct process_events *events);

/*
 * The fds of the CPUs' events, which become readable when a ring is half full: for the caller's
 * epoll, which a closed one leaves by itself. A negative value is passed on.
 */
typedef int (*process_events_fd_function)(void *arg, int fd);

/*
 * Watches @cpus, which are online, and no others. The kernel ends the events of a CPU that goes
 * offline: what its ring still holds is read, and a CPU that is back gets a new one. Each new fd
 * goes to @function, which may be NULL. Returns how many were opened, or the negative errno of the
 * first that could not be: -EPERM, -EACCES (no CAP_PERFMON), ... What happened on a CPU before its
 * event was opened is missing: the caller must look at /proc.
 */
int process_events_follow(struct process_events *events, const uint32_t *cpus, size_t n_cpus,
			  process_events_fd_function function, void *arg);

/*
 * This CPU was offline since: its event is dead, whether the CPU is back or not. The next follow
 * opens a new one.
 */
void process_events_suspect(struct process_events *events, uint32_t cpu);

/* Moves all records from the rings into the queue. 0 or -ENOMEM. */
int process_events_read(struct process_events *events);

/* The oldest queued event with time <= @until_ns, or NULL; valid until the next call. */
const struct process_event *process_events_next(struct process_events *events, uint64_t until_ns);

/*
 * Records that the kernel could not write since the last call: the caller must look at /proc again.
 */
uint64_t process_events_lost(struct process_events *events);

/* Memory of the rings. */
/* Data of each ring where @n_cpus are online: a power of two. */
size_t process_events_ring_bytes(size_t n_cpus);

size_t process_events_memory_bytes(const struct process_events *events);

#include "common/scoped.h"
DEFINE_SCOPED(struct process_events *, process_events_free);
