/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * State that off_cpu.bpf.c (threads leave their CPU and resume) and off_cpu_walk.bpf.c (the agent
 * visits waiting threads) share: one struct thread_waits per thread. It is in task storage, which
 * the kernel frees with the thread. If the kernel has no task storage for tracing programs, it is
 * in a hash map by thread ID (config.hash_threads): created at fork, removed when the thread's task
 * is freed, and distinguished from the state of an earlier thread with the same ID by the thread's
 * start time.
 *
 * since_ns decides which program reports a part of a wait. A thread that resumes takes it by atomic
 * exchange; the walk advances it by compare-and-exchange. So no part is reported twice. All other
 * fields belong to the wait that began at start_ns and are written before since_ns. Kernels before
 * 5.12 have no atomic exchange: if a thread resumes within the few nanoseconds between the walk's
 * read of since_ns and its write, a part of its wait, at most a second, is reported twice. Only the
 * walk uses the fields walk_*; they are valid for the wait that began at walk_start_ns.
 */

#include "bpf/include/sample.bpf.h"

/* include/linux/sched.h */
#define TASK_INTERRUPTIBLE   0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_DEAD            0x80

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* include/linux/bpf.h, kernel/bpf/task_iter.c */
struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#define OFF_CPU_MAX_WAIT_NS (3600 * 1000000000ULL)

enum wait_stack {
	/* not chosen: other waits of its site represent it, unless the walk captures it */
	WAIT_STACK_NONE = 0,
	/* stack_hash is set; it was chosen with probability 1/2^weight_shift */
	WAIT_STACK_TAKEN = 1,
	WAIT_STACK_LOST = 2,    /* captured, but the ring buffer was full */
	WAIT_STACK_IGNORED = 3, /* excluded by off_cpu.regex, or has no user frames */
	/*
	 * captured, but cut where mappings or pages were not available: the walk captures it again
	 */
	WAIT_STACK_CUT = 4,
};

/*
 * Only waits of similar length represent each other. Otherwise a wait that took a thousand times as
 * long as most, because the holder of the lock was preempted, would represent a thousand others if
 * its stack happened to be captured. The classes are: below 131 us, 1 ms, 8 ms, and above.
 */
#define N_WAIT_CLASSES 4

static __always_inline __u8 wait_class(__u64 duration_ns)
{
	if (duration_ns < 1 << 20)
		return duration_ns < 1 << 17 ? 0 : 1;
	return duration_ns < 1 << 23 ? 2 : 3;
}

/*
 * A site: a point in user code where a thread waits, identified by program counter and stack
 * pointer. That is cheap, and enough to distinguish a lock that is waited for a thousand times a
 * second from a queue that is waited for once. Sites beyond N_WAIT_SITES share one entry.
 */
struct wait_site {
	__u64 tag;     /* 0: free */
	__u64 last_ns; /* start of the last wait here; 0: none */
	__u64 gap_ns;  /* mean time between the starts of two waits */
	/* time of waits without a stack since it was last reported, by class */
	__u64 others_ns[N_WAIT_CLASSES];
	__u32 n_others[N_WAIT_CLASSES];
	__u64 reported_ns; /* when the time of all classes was last reported */
	/*
	 * when a copy of the stack was last sent to the agent, because mappings or unwind tables
	 * were missing here
	 */
	__u64 copied_ns;
	__u64 queued_ns; /* run-queue time at the ends of waits here that was not reported yet */
};

#define N_WAIT_SITES 8

struct thread_waits {
	__u64 thread_start_ns; /* start of the thread, CLOCK_BOOTTIME; used in the hash map only */
	__u64 since_ns;        /* beginning of the unreported part of the wait; 0: not waiting */
	__u64 start_ns;        /* start of the last wait; 0: none */
	/* how long the thread had run at that time; the thread has resumed if this has grown */
	__u64 ran_ns;
	__u64 stack_hash;
	/* run-queue time of the thread's life, when it was last put on a CPU */
	__u64 run_delay_ns;
	__u64 throttled_ns; /* throttled_ns() of the thread at that time, plus one; 0: not known */
	__u64 walk_start_ns;
	/*
	 * hash of the stack of the wait that began at walk_start_ns; this wait represents only
	 * itself
	 */
	__u64 walk_hash;
	__u32 capture_ns;
	__u32 cpu; /* the CPU that the thread left */
	__u8 site;
	__u8 stack; /* enum wait_stack */
	__u8 weight_shift;
	__u8 zero[5];
	struct wait_site sites[N_WAIT_SITES];
};

struct thread_waits_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_waits);
};

extern struct thread_waits_map thread_waits SEC(".maps");

/*
 * Maximum number of threads in the hash map. Its buckets take 16 bytes each, an element about 1
 * KiB.
 */
#define MAX_HASHED_THREADS 32768

struct hashed_waits_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MAX_HASHED_THREADS);
	__type(key, __u32);
	__type(value, struct thread_waits);
};

/* All zero: the initial value of an element of hashed_waits. */
struct blank_waits_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct thread_waits);
};

extern struct hashed_waits_map hashed_waits SEC(".maps");
extern struct blank_waits_map blank_waits SEC(".maps");

/* Returns NULL if there is no state yet. */
static __always_inline struct thread_waits *find_waits(struct task_struct *task)
{
	struct thread_waits *waits;
	__u32 tid = task->pid;

	if (!config.hash_threads)
		return bpf_task_storage_get(&thread_waits, task, NULL, 0);
	waits = bpf_map_lookup_elem(&hashed_waits, &tid);
	return waits && waits->thread_start_ns == task->start_boottime ? waits : NULL;
}

/* Allocates memory, so it must not be called under the scheduler's locks. */
static __always_inline struct thread_waits *make_waits(struct task_struct *task)
{
	struct thread_waits *waits;
	__u32 tid = task->pid, key = 0;

	if (!config.hash_threads)
		return bpf_task_storage_get(&thread_waits, task, NULL,
					    BPF_LOCAL_STORAGE_GET_F_CREATE);
	waits = find_waits(task);
	if (waits)
		return waits;
	/* The existing element belongs to an earlier thread with this ID. */
	waits = bpf_map_lookup_elem(&blank_waits, &key);
	if (!waits || bpf_map_update_elem(&hashed_waits, &tid, waits, BPF_ANY))
		return NULL;
	waits = bpf_map_lookup_elem(&hashed_waits, &tid);
	if (waits)
		waits->thread_start_ns = task->start_boottime;
	return waits;
}

#if defined(HEARTH_BPF_KERNEL_5)

static __always_inline __u64 exchange(__u64 *field, __u64 value)
{
	__u64 before = *(volatile __u64 *)field;

	*(volatile __u64 *)field = value;
	return before;
}

static __always_inline __u64 compare_and_exchange(__u64 *field, __u64 expected, __u64 value)
{
	__u64 before = *(volatile __u64 *)field;

	if (before == expected)
		*(volatile __u64 *)field = value;
	return before;
}

#else

#define exchange(field, value) __sync_lock_test_and_set(field, value)
#define compare_and_exchange(field, expected, value)                                               \
	__sync_val_compare_and_swap(field, expected, value)

#endif

/*
 * Kernel threads are excluded: they always wait for work, and have no user frame that shows for
 * whom.
 */
static __always_inline bool is_user_thread(const struct task_struct *task)
{
	return task->pid != 0 && !(task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER));
}

static __always_inline bool is_waiting_state(__u32 state)
{
	return state & (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE);
}

/*
 * Number of leading entries of sample->kernel_pcs that belong to the tracing code, not to the wait.
 */
static __always_inline __u32 frames_above_schedule(const struct sample *sample)
{
#pragma unroll
	for (__u32 i = 0; i < 8; i++) {
		if (sample->kernel_pcs[i] > config.schedule_start &&
		    sample->kernel_pcs[i] <= config.schedule_end)
			return i;
	}
	return 0;
}

/*
 * Run-queue time: the time in which the thread could run, but another thread had the CPU or the
 * thread's cgroup had used up its quota. The scheduler measures it (/proc/PID/schedstat) and adds
 * it up when the thread is put on a CPU, which happens just after this tracepoint; so the current
 * period is added here. 0 without CONFIG_SCHED_INFO.
 */
static __always_inline __u64 run_delay_ns(const struct task_struct *task)
{
	__u64 queued_ns, clock_ns;

	if (!config.has_sched_info || !bpf_core_field_exists(task->sched_info.last_queued) ||
	    !bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	queued_ns = task->sched_info.last_queued;
	if (queued_ns == 0)
		return task->sched_info.run_delay;
	clock_ns = task->se.cfs_rq->rq->clock;
	return task->sched_info.run_delay + (clock_ns > queued_ns ? clock_ns - queued_ns : 0);
}

/* Nested cgroups that are checked for limits. Container hosts have up to six. */
#define MAX_CGROUP_DEPTH 8

/*
 * Time for which the thread's cgroup, or one that contains it, was stopped because it had used up
 * its CPU quota (cpu.max, cpu.cfs_quota_us), summed over CPUs: the value `throttled` of cpu.stat. 0
 * without CONFIG_CFS_BANDWIDTH.
 */
static __always_inline __u64 throttled_ns(const struct task_struct *task)
{
	const struct task_group *group;
	__u64 sum_ns = 0;

	if (!bpf_core_field_exists(task->sched_task_group) ||
	    !bpf_core_field_exists(((struct task_group *)NULL)->cfs_bandwidth.throttled_time))
		return 0;
	group = task->sched_task_group;
#pragma unroll
	for (int i = 0; i < MAX_CGROUP_DEPTH; i++) {
		if (!group)
			break;
		sum_ns += group->cfs_bandwidth.throttled_time;
		group = group->parent;
	}
	return sum_ns;
}

/*
 * Excludes the time for which the thread's cgroup was throttled before now from later run-queue
 * time.
 */
static __always_inline void begin_throttled(struct thread_waits *waits,
					    const struct task_struct *task)
{
	if (waits->throttled_ns == 0)
		waits->throttled_ns = throttled_ns(task) + 1;
}
