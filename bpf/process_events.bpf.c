// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What must happen at the very moment of a fork, exec or exit, because the agent hears of it later: a child starts
 * with its parent's mappings, and an exec makes the mappings known so far worthless.
 */
#include "bpf/include/maps.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define START_TIME_TICK_NS 10000000ULL

/* A process entry is too large for the stack; fork may nest in nothing, so one slot per CPU will do. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct abi_process);
} fork_scratch SEC(".maps");

SEC("tp_btf/sched_process_fork")
int BPF_PROG(hearth_on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_pid = parent->tgid;
	__u32 child_pid = child->tgid;
	__u32 *execs = bpf_map_lookup_elem(&exec_counts, &parent_pid);
	struct abi_process *from;
	struct abi_process *to;
	__u32 key = 0;

	if (child->pid != child->tgid)
		return 0; /* a thread */
	from = bpf_map_lookup_elem(&processes, &parent_pid);
	to = bpf_map_lookup_elem(&fork_scratch, &key);
	if (!from || !to || from->exec_count != (execs ? *execs : 0))
		return 0;
	*to = *from;
	to->start_time_10ms = child->start_boottime / START_TIME_TICK_NS;
	to->exec_count = 0;
	bpf_map_update_elem(&processes, &child_pid, to, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(hearth_on_exec, struct task_struct *task, int old_pid, struct linux_binprm *binprm)
{
	__u32 pid = task->tgid;
	__u32 *execs = bpf_map_lookup_elem(&exec_counts, &pid);
	__u32 next = (execs ? *execs : 0) + 1;

	bpf_map_update_elem(&exec_counts, &pid, &next, BPF_ANY);
	bpf_map_delete_elem(&processes, &pid);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(hearth_on_exit, struct task_struct *task)
{
	__u32 pid = task->tgid;

	/* The leader may exit before its threads: the process ends with the last of them. */
	if (task->signal->live.counter > 0)
		return 0;
	bpf_map_delete_elem(&exec_counts, &pid);
	bpf_map_delete_elem(&processes, &pid);
	return 0;
}
