/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * The kernel's structs, with only the fields that our programs read. libbpf relocates each access
 * to the running kernel's layout (CO-RE), so the order of fields does not matter. Minimum kernel:
 * see docs/kernels.md.
 */

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u16 __le16;
typedef __u32 __le32;
typedef __u64 __le64;
typedef __u16 __sum16;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0

/* Values of the kernel's UAPI (include/uapi/linux/bpf.h); part of its stable interface. */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29, /* 5.11 */
};
enum {
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_EXIST = 2,
};
enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1024, /* 5.5 */
	BPF_F_SKIP_FIELD_MASK = 255,
	BPF_F_USER_STACK = 256,
};
enum {
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
};
enum {
	BPF_RB_AVAIL_DATA = 0,
};

/* include/linux/sched.h */
#define PF_EXITING     0x00000004
#define PF_IO_WORKER   0x00000010 /* 5.12 */
#define PF_USER_WORKER 0x00004000 /* 6.4 */
#define PF_KTHREAD     0x00200000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct signal_struct {
	struct {
		int counter;
	} live; /* threads that have not exited */
};

struct mm_struct {
	unsigned long start_code;  /* 0 while execve() prepares the new program */
	unsigned long start_stack; /* of the main thread: the program's arguments are above it */
};

struct rq {
	__u64 clock; /* ns, of one CPU; updated when the scheduler begins to choose a thread */
};

struct cfs_rq {
	struct rq *rq;
};

/* include/linux/fs.h, include/linux/mm_types.h */
struct super_block {
	unsigned long s_magic;
};

struct inode {
	struct super_block *i_sb;
};

struct file {
	struct inode *f_inode;
};

struct vm_area_struct {
	unsigned long vm_end;
	unsigned long vm_flags;
	struct file *vm_file;
};

struct sched_entity {
	__u64 sum_exec_runtime; /* ns that the thread ran, in any scheduling class */
	/* with CONFIG_FAIR_GROUP_SCHED, also for a thread of another class */
	struct cfs_rq *cfs_rq;
};

/* With CONFIG_SCHED_INFO. Times are in units of rq->clock. */
struct sched_info {
	/* ns on run queues, until the thread was last put on a CPU */
	unsigned long long run_delay;
	/* since when the thread is on this CPU's run queue; 0: it is not */
	unsigned long long last_queued;
};

struct list_head {
	struct list_head *next;
};

/* include/linux/kernfs.h, include/linux/cgroup-defs.h, kernel/cgroup/cgroup-internal.h */
struct kernfs_node {
	__u64 id; /* 5.5 */
};

struct cgroup_root;

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

/* Links a css_set with a cgroup that it contains. */
struct cgrp_cset_link {
	struct cgroup *cgrp;
	struct list_head cgrp_link; /* in css_set.cgrp_links */
};

/* The cgroups of a task, one per hierarchy. */
struct css_set {
	struct list_head cgrp_links;
};

/* With CONFIG_CFS_BANDWIDTH. Summed over CPUs; each throttled period is added when it ends. */
struct cfs_bandwidth {
	__u64 throttled_time;
};

/* With CONFIG_CGROUP_SCHED: the CPU controller's part of a cgroup. */
struct task_group {
	struct task_group *parent; /* NULL: this is the root */
	struct cfs_bandwidth cfs_bandwidth;
};

/* include/linux/pid.h. A thread has a number in each PID namespace that contains it. */
struct upid {
	int nr;
};

struct pid {
	unsigned int level; /* of the innermost namespace */
	struct upid numbers[1];
};

/* arch/x86/include/asm/processor.h */
struct thread_struct {
	unsigned long fsbase; /* x86-64: the thread pointer of user mode */
};

struct task_struct {
	struct thread_struct thread;
	struct pid *thread_pid;
	struct css_set *cgroups; /* with CONFIG_CGROUPS */
	struct task_group *sched_task_group;
	struct sched_entity se;
	struct sched_info sched_info;
	struct signal_struct *signal;
	struct mm_struct *mm;
	void *stack;          /* lowest address of its kernel stack */
	unsigned int __state; /* 5.14 */
	int wake_cpu;         /* the CPU that it last ran on */
	unsigned int flags;
	int pid;
	int tgid;
	unsigned long nvcsw; /* number of voluntary context switches */
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	__u64 start_boottime; /* 5.5 */
	char comm[16];
};

/* Before Linux 5.14 the field __state is called state. */
struct task_struct___before_5_14 {
	volatile long state;
};

struct linux_binprm;

struct vm_unmapped_area_info {
	unsigned long length;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax; /* number of the system call, -1 outside system calls */
	unsigned long ip;
	unsigned long cs; /* since 6.9 a union with 16 bits; the access is relocated to them */
	unsigned long sp;
};
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};
struct pt_regs {
	struct user_pt_regs user_regs;
	__s32 syscallno; /* -1 outside system calls */
};
#endif

#pragma clang attribute pop

/*
 * The context of a perf_event program has the UAPI's layout; the verifier translates accesses
 * itself.
 */
#if defined(__TARGET_ARCH_x86)
struct perf_event_registers {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
		flags, sp, ss;
};
#elif defined(__TARGET_ARCH_arm64)
struct perf_event_registers {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};
#endif

struct bpf_perf_event_data {
	struct perf_event_registers regs;
	__u64 sample_period;
	__u64 addr;
};
