/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Access to the current task, its fields, and its user-mode registers, which are saved when the
 * task enters the kernel. Works on every supported kernel.
 *
 * Before 5.11 a perf_event program gets the task's address as a plain number, so a helper must read
 * its fields. Before 5.15 the address of the registers must be computed: they are at the end of the
 * task's kernel stack.
 */

#include "bpf/include/kernel_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#if defined(HEARTH_BPF_KERNEL_5)

/* THREAD_SIZE of x86-64 and of arm64 with pages of 4 KiB. Kernels with KASAN have larger stacks. */
#define THREAD_BYTES 16384

#define kernel_read(pointer, ...) BPF_CORE_READ(pointer, __VA_ARGS__)

static __always_inline struct task_struct *current_task(void)
{
	return (struct task_struct *)bpf_get_current_task();
}

static __always_inline struct pt_regs *user_registers(struct task_struct *task)
{
	char *stack = kernel_read(task, stack);

	return (struct pt_regs *)(stack + THREAD_BYTES - bpf_core_type_size(struct pt_regs));
}

#else

#define kernel_read(pointer, field) ((pointer)->field)

static __always_inline struct task_struct *current_task(void)
{
	return bpf_get_current_task_btf();
}

#define user_registers(task) ((struct pt_regs *)bpf_task_pt_regs(task))

#endif

#if !defined(HEARTH_BPF_KERNEL_5)
/* The number of the thread in its own PID namespace, as gettid() returns it. */
static __always_inline __u32 tid_in_namespace(struct task_struct *task)
{
	struct pid *pid = NULL;
	unsigned int level = 0;
	int tid = 0;

	/*
	 * Read with helpers: the verifier knows the types of these pointers (BTF), and rejects a
	 * typed pointer plus an offset that is not constant.
	 */
	bpf_core_read(&pid, sizeof(pid), &task->thread_pid);
	bpf_core_read(&level, sizeof(level), &pid->level);
	bpf_probe_read_kernel(&tid, sizeof(tid),
			      (char *)&pid->numbers[0].nr +
				      level * bpf_core_type_size(struct upid));
	return (__u32)tid;
}

/* pthread_self() of the thread. Only of x86-64: on arm64 it depends on the C library. */
static __always_inline __u64 pthread_of(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return kernel_read(task, thread.fsbase);
#else
	return 0;
#endif
}
#endif

/* The state bits TASK_... of @task, which must be a pointer with a BTF type. */
static __always_inline __u32 task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return (__u32)((struct task_struct___before_5_14 *)task)->state;
}

/*
 * Calls @callback(index, @argument) for each index from 0 to @n - 1, until @callback returns a
 * value other than 0. @n must not exceed the constant @most: on kernels without bpf_loop() (before
 * 5.17) the verifier needs a constant bound of the loop.
 */
#if defined(HEARTH_BPF_KERNEL_5)
#define for_each_index(n, most, callback, argument)                                                \
	do {                                                                                       \
		for (__u32 index_ = 0; index_ < (most); index_++)                                  \
			if (index_ >= (n) || (callback)(index_, (argument)))                       \
				break;                                                             \
	} while (0)
#else
#define for_each_index(n, most, callback, argument) bpf_loop((n), (callback), (argument), 0)
#endif
