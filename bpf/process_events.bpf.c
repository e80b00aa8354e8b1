// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Updates the maps at the moment of a fork, exec, mapping or exit, because the agent reads these
 * events later. A fork copies the parent's entry to the child. An exec removes the entry. A mapping
 * that replaces code invalidates the old mappings of its address range.
 */
#include "bpf/include/chunk_search.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

SEC("tp_btf/sched_process_fork")
int BPF_PROG(hearth_on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_pid = parent->tgid;
	__u32 child_pid = child->tgid;
	__u32 *execs = bpf_map_lookup_elem(&exec_counts, &parent_pid);
	struct abi_process *from;
	struct abi_process to;

	if (child->pid != child->tgid)
		return 0; /* a thread */
	from = bpf_map_lookup_elem(&processes, &parent_pid);
	if (!from)
		return 0;
	parent_pid += read_before(copy_words(&to, from, sizeof(to) / sizeof(word)));
	/*
	 * Do not use the copy if the entry was replaced while it was copied, or if it is for an
	 * earlier image of the parent. The agent writes an entry for the child when the child is
	 * sampled.
	 */
	if (bpf_map_lookup_elem(&processes, &parent_pid) != from ||
	    to.exec_count != (execs ? *execs : 0))
		return 0;
	to.start_time_10ms = child->start_boottime / ABI_START_TIME_TICK_NS;
	to.exec_count = 0;
	bpf_map_update_elem(&processes, &child_pid, &to, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(hearth_on_exec, struct task_struct *task, int old_pid, struct linux_binprm *binprm)
{
	__u32 pid = task->tgid;
	__u32 *execs = bpf_map_lookup_elem(&exec_counts, &pid);
	__u32 next = (execs ? *execs : 0) + ABI_EXEC_STEP;

	if (bpf_map_update_elem(&exec_counts, &pid, &next, BPF_ANY))
		count(ABI_COUNTER_EXECS_LOST);
	bpf_map_delete_elem(&processes, &pid);
	return 0;
}

/* Whether [start, end) contains code of a file, by the mappings that the agent has written. */
static __always_inline bool holds_code(const struct abi_process *process, __u64 start, __u64 end)
{
	struct abi_chunk_key key = { .set = process->set };
	const struct abi_mapping_chunk *chunk;
	__u32 last, executable = 0;
	__u64 read, last_end = 0;

	/*
	 * The last chunk that begins before @end contains the last mapping that begins before @end.
	 */
	key.index = find_chunk(process->set, process->n_chunks, end - 1);
	chunk = bpf_map_lookup_elem(&mapping_chunks, &key);
	if (!chunk)
		return false;
	last = search_chunk(chunk, end - 1, &read);
	if (last < ABI_MAPPINGS_PER_CHUNK) {
		last_end = read_once(chunk->mappings[last].end);
		executable = read_once(chunk->mappings[last].executable);
	}
	key.index += read_before(read ^ last_end ^ executable);
	return bpf_map_lookup_elem(&mapping_chunks, &key) == chunk && last_end > start &&
	       executable != 0;
}

/*
 * Called when the kernel has chosen the address range of a new mapping, for example for a whole
 * library. Nothing is mapped in such a range. So if the entry still has code there, the process has
 * unmapped that code, and the program marks the range as replaced.
 *
 * The tracepoint exists since 5.8. The kernel does not call it if a program requests a fixed
 * address. Programs that map over their code at a fixed address, for example to move it to larger
 * pages, have the same code there, so the entry stays correct.
 */
SEC("tp_btf/vm_unmapped_area")
int BPF_PROG(hearth_on_unmapped_area, unsigned long address, struct vm_unmapped_area_info *info)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct abi_process *process = bpf_map_lookup_elem(&processes, &pid);
	__u64 end = address + info->length;
	__u32 next, *execs;

	if (!process || process->set == 0 || end < address || !holds_code(process, address, end))
		return 0;
	execs = bpf_map_lookup_elem(&exec_counts, &pid);
	next = execs ? *execs : 0;
	if (process->exec_count != next)
		return 0;
	/*
	 * Increment the count: if the agent is just writing an entry without this mapping, that
	 * entry has the old count and is not used.
	 *
	 * Increment the lower half only. The upper half counts execs, and a program that constantly
	 * loads and unloads libraries must not change it.
	 */
	next = (next & ~(ABI_EXEC_STEP - 1)) | ((next + 1) & (ABI_EXEC_STEP - 1));
	if (execs)
		*execs = next;
	else if (bpf_map_update_elem(&exec_counts, &pid, &next, BPF_ANY))
		count(ABI_COUNTER_EXECS_LOST);
	if (process->replaced_end == 0 || address < process->replaced_start)
		process->replaced_start = address;
	if (end > process->replaced_end)
		process->replaced_end = end;
	process->exec_count = next;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(hearth_on_exit, struct task_struct *task)
{
	__u32 pid = task->tgid;

	/* The leader may exit before its threads: the process ends with its last thread. */
	if (task->signal->live.counter > 0)
		return 0;
	bpf_map_delete_elem(&exec_counts, &pid);
	bpf_map_delete_elem(&processes, &pid);
	return 0;
}
