/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * What off_cpu.bpf.c (threads leave and come back) and off_cpu_walk.bpf.c (the agent looks at who
 * waits) share: what is kept of each thread, in task storage, so that it goes with the thread and
 * follows it to another CPU. Where the kernel has no task storage for tracing programs it is in a
 * hash map by thread ID (config.hash_threads): made at the fork, removed when the thread's task is
 * freed, and told from that of an earlier thread by the time of its start.
 *
 * since_ns decides who tells a piece of a wait: a thread that comes back takes it by exchange, the
 * walk moves it by compare-and-exchange, so that nothing is told twice. All else belongs to the
 * wait that began at start_ns, and is written before since_ns. Kernels before 5.12 have no atomic
 * exchange: there a thread that comes back within the few nanoseconds between the walk's look at
 * since_ns and its write has a piece of its wait, at most a second, told twice. The fields of the
 * walk are its own: they count for the wait that began at walk_start_ns.
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
	/* not chosen: others like it stand for it, unless the walk finds it */
	WAIT_STACK_NONE = 0,
	WAIT_STACK_TAKEN = 1,   /* stack_hash; the lot was one in 2^weight_shift */
	WAIT_STACK_LOST = 2,    /* taken, but the ring buffer was full */
	WAIT_STACK_IGNORED = 3, /* left out by regex, or without user frames */
	/* taken, but cut where mappings or pages were not known yet: the walk takes it again */
	WAIT_STACK_CUT = 4,
};

/*
 * Waits that are alike in length stand for each other: else one that took a thousand times as long
 * as most, because who held the lock was pushed off the CPU, would stand for a thousand others when
 * its stack happened to be taken. Below 131 us, 1 ms, 8 ms, and above.
 */
#define N_WAIT_CLASSES 4

static __always_inline __u8 wait_class(__u64 duration_ns)
{
	if (duration_ns < 1 << 20)
		return duration_ns < 1 << 17 ? 0 : 1;
	return duration_ns < 1 << 23 ? 2 : 3;
}

/*
 * Where in user code a thread waits: told apart by program counter and stack pointer, which is
 * cheap, and enough to keep the lock that is waited for a thousand times a second apart from the
 * queue that is waited for once. Those for which there is no room share one.
 */
struct wait_site {
	__u64 tag;     /* 0: free */
	__u64 last_ns; /* start of the last wait here; 0: there was none */
	__u64 gap_ns;  /* mean time from one start to the next */
	/* time of waits without a stack since one with a stack was told */
	__u64 others_ns[N_WAIT_CLASSES];
	__u32 n_others[N_WAIT_CLASSES];
	__u64 told_ns; /* when all of it was told */
	/* when the stack went to the agent as a copy, for want of mappings or tables here */
	__u64 copied_ns;
	__u64 queued_ns; /* run-queue time at the ends of waits here that was not reported yet */
};

#define N_WAIT_SITES 8

struct thread_waits {
	__u64 thread_start_ns; /* of the thread, CLOCK_BOOTTIME; in the hash only */
	__u64 since_ns; /* from when on this wait is not told yet; 0: the thread does not wait */
	__u64 start_ns; /* of the last wait; 0: there was none */
	/* what the thread had run by then: it does not wait any more when that grows */
	__u64 ran_ns;
	__u64 stack_hash;
	/* run-queue time of the thread's life, as of when it came to a CPU last */
	__u64 run_delay_ns;
	__u64 throttled_ns; /* throttled_ns() of the thread by then, plus one; 0: not known */
	__u64 walk_start_ns;
	/* stack of the wait that began at walk_start_ns, which stands for itself alone */
	__u64 walk_hash;
	__u32 capture_ns;
	__u32 cpu; /* that the thread left */
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
 * Most threads that are kept in the hash. Its buckets take 16 bytes each, a thread's element some 1
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

/* All zero: what an element of hashed_waits is made of. */
struct blank_waits_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct thread_waits);
};

extern struct hashed_waits_map hashed_waits SEC(".maps");
extern struct blank_waits_map blank_waits SEC(".maps");

/* NULL: there is none yet. */
static __always_inline struct thread_waits *find_waits(struct task_struct *task)
{
	struct thread_waits *waits;
	__u32 tid = task->pid;

	if (!config.hash_threads)
		return bpf_task_storage_get(&thread_waits, task, NULL, 0);
	waits = bpf_map_lookup_elem(&hashed_waits, &tid);
	return waits && waits->thread_start_ns == task->start_boottime ? waits : NULL;
}

/* Memory is taken: not under the scheduler's locks. */
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
	/* What is there is an earlier thread's of this ID. */
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

/* Kernel threads wait for work all the time, and have no user frame to tell by whom. */
static __always_inline bool is_user_thread(const struct task_struct *task)
{
	return task->pid != 0 && !(task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER));
}

static __always_inline bool is_waiting_state(__u32 state)
{
	return state & (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE);
}

/* How many of sample->kernel_pcs, at the leaf, are the tracing that led here, and not the wait. */
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

static __always_inline void count_more(enum abi_counter id, __u64 more)
{
	__u32 key = id;
	__u64 *value = bpf_map_lookup_elem(&counters, &key);

	if (value)
		*value += more;
}

/*
 * Run-queue time: a thread could run, and another one had the CPU (or the thread's cgroup had used
 * up its share). The scheduler measures it (/proc/PID/schedstat), and adds it up as the thread is
 * put on a CPU, just behind this tracepoint: what the present stay adds is on top. Without
 * CONFIG_SCHED_INFO it is 0.
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

/* Nested cgroups whose limits are looked at; container hosts have up to six. */
#define MAX_CGROUP_DEPTH 8

/*
 * Time for which the cgroup of the thread, or one around it, was stopped because it had used up its
 * CPU time (cpu.max, cpu.cfs_quota_us), summed over CPUs: what cpu.stat shows as throttled. Without
 * CONFIG_CFS_BANDWIDTH it is 0.
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
 * The thread's cgroup may have been throttled before: that is not part of run-queue time to come.
 */
static __always_inline void begin_throttled(struct thread_waits *waits,
					    const struct task_struct *task)
{
	if (waits->throttled_ns == 0)
		waits->throttled_ns = throttled_ns(task) + 1;
}
