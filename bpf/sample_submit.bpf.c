// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The first and the last step of a sample: fills the header with the identity of the task and finds
 * its process; writes the finished sample to the ring buffer.
 */
#include "bpf/include/map_reuse.bpf.h"
#include "bpf/include/sample.bpf.h"

#include "bpf/include/task.bpf.h"
#include "common/frame.h"

/*
 * Returns false after exit_mm(), and in execve() from the release of the old program's memory until
 * the new program is ready to run. The task then has no user stack, and its registers are still
 * those of the old program.
 */
static __always_inline bool has_user_memory(struct task_struct *task)
{
	struct mm_struct *mm = kernel_read(task, mm);

	return mm && kernel_read(mm, start_code) != 0;
}

__hidden void sample_begin_task(struct sample *sample, struct task_struct *task, __u8 event_type,
				__u64 value)
{
	struct task_struct *leader = kernel_read(task, group_leader);
	struct task_struct *parent = kernel_read(task, real_parent);
	struct abi_sample *header = &sample->header;

	header->time_ns = bpf_ktime_get_ns();
	header->start_time_ns = kernel_read(leader, start_boottime);
	header->value = value;
	header->pid = kernel_read(task, tgid);
	header->tid = kernel_read(task, pid);
	header->parent_pid = kernel_read(parent, tgid);
	header->cpu = bpf_get_smp_processor_id();
	header->exec_count = 0;
	header->n_kernel_frames = 0;
	header->n_user_frames = 0;
	header->event_type = event_type;
	header->flags = 0;
	header->cut = 0;
	header->more_flags = 0;
	header->queued_us = 0;
	header->cgroups = 0;
	bpf_probe_read_kernel(header->comm, sizeof(header->comm), &task->comm);
	bpf_probe_read_kernel(header->process_comm, sizeof(header->process_comm), &leader->comm);
	if (kernel_read(task, flags) & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		header->flags |= ABI_SAMPLE_KERNEL_THREAD;

	sample->n_frames = 0;
	sample->hash = 0;
	sample->process_flags = 0;
	sample->set = 0;
	sample->n_chunks = 0;
	sample->replaced_start = 0;
	sample->replaced_end = 0;
	sample_forget_regions(sample);
	sample->window_bytes = 0;
	sample->n_by_table = 0;
	sample->n_by_pointer = 0;
	sample->n_rules_cached = 0;
	sample->fault_address = 0;
	sample->n_missing = 0;
	sample->copy_lacks_pages = false;
	sample->registers.entry_pc = 0;
	sample->pc_is_exact = true;
	sample->innermost = true;
	sample->met_unmapped = false;
	sample->without_memory = !has_user_memory(task);
	sample->mapping.start = 0;
	sample->mapping.end = 0;
	sample->walk.state = INTERPRETER_WALK_NONE;
	sample->walk.interpreter = 0;
	sample->walk.is_lost = false;
	sample->walk.n_frames = 0;
	sample->is_without_jvm = false;
	sample->n_java_frames = 0;
	sample->n_v8_frames = 0;
	sample->v8_dispatch_table = 0;
	sample->listed = 0;
	sample->n_listed = 0;
	sample->perl_is_run = false;
	sample->perl_skips_loop = false;
	sample->lua.n_loops = 0;
	sample->is_in_yjit = false;
	sample->left_yjit = false;
}

__hidden void sample_begin(struct sample *sample, __u8 event_type, __u64 value)
{
	sample_begin_task(sample, current_task(), event_type, value);
}

/* Identifies one image of a process: an entry of `processes` is valid for one image only. */
struct image {
	__u64 start_time_10ms;
	__u32 exec_count;
};

/*
 * Copies the fields of an entry that the sample needs. Returns a value that depends on every value
 * that was read, for read_before().
 */
static __always_inline __u64 copy_process(const struct abi_process *process, struct sample *sample,
					  struct image *ret_image)
{
	__u64 read;

	ret_image->start_time_10ms = read_once(process->start_time_10ms);
	ret_image->exec_count = read_once(process->exec_count);
	sample->process_flags = read_once(process->flags);
	sample->set = read_once(process->set);
	sample->n_chunks = read_once(process->n_chunks);
	sample->replaced_start = read_once(process->replaced_start);
	sample->replaced_end = read_once(process->replaced_end);
	read = ret_image->start_time_10ms ^ ret_image->exec_count ^ sample->process_flags ^
	       sample->set ^ sample->n_chunks ^ sample->replaced_start ^ sample->replaced_end;
	return read;
}

/*
 * Returns false if the map has no valid entry for the process's current image. Then the sample is
 * left as if there were no entry.
 */
static __always_inline bool read_process(struct sample *sample)
{
	__u32 pid = sample->header.pid;
	const struct abi_process *process = bpf_map_lookup_elem(&processes, &pid);
	struct image image;

	if (!process)
		return false;
	pid += read_before(copy_process(process, sample, &image));
	if (bpf_map_lookup_elem(&processes, &pid) == process &&
	    image.exec_count == sample->header.exec_count &&
	    image.start_time_10ms == sample->header.start_time_ns / ABI_START_TIME_TICK_NS)
		return true;
	sample->process_flags = 0;
	sample->set = 0;
	sample->n_chunks = 0;
	sample->replaced_end = 0;
	return false;
}

__hidden void sample_find_process(struct sample *sample)
{
	__u32 pid = sample->header.pid;
	__u32 *execs = bpf_map_lookup_elem(&exec_counts, &pid);

	sample->header.exec_count = execs ? *execs : 0;
	if (!read_process(sample)) {
		/* Kernel threads have no mappings, so they never have an entry. */
		if (!(sample->header.flags & ABI_SAMPLE_KERNEL_THREAD)) {
			sample->header.flags |= ABI_SAMPLE_UNKNOWN;
			count(ABI_COUNTER_UNKNOWN_PROCESS);
		}
		return;
	}
	if (sample->process_flags & ABI_PROCESS_WITHOUT_STACKS)
		sample->header.flags |= ABI_SAMPLE_WITHOUT_STACK;
}

/* Whether this stack was already sent in full in this window. */
static bool seen(struct sample *sample, __u32 *ret_slot, __u64 *ret_tag)
{
	__u64 *tag;

	*ret_slot = (__u32)(sample->header.stack_hash >> 32) & (ABI_SEEN_SLOTS - 1);
	*ret_tag = sample->header.stack_hash ^ (control.window * 0xff51afd7ed558ccdULL);
	tag = bpf_map_lookup_elem(&seen_stacks, ret_slot);
	return tag && *tag == *ret_tag;
}

/*
 * Counts an incomplete stack by the reason for which it was cut. Called when the sample is sent,
 * not when unwinding stops, because a deferred read (deferred.bpf.c) or the agent may still
 * complete the stack.
 */
static __always_inline void count_cut(__u8 cut)
{
	_Static_assert(ABI_COUNTER_CUT_32_BIT - ABI_COUNTER_CUT_DEPTH ==
			       STACK_CUT_32_BIT - STACK_CUT_DEPTH,
		       "the counters of cuts have the order of the reasons");
	if (cut != STACK_CUT_NONE)
		count(ABI_COUNTER_CUT_DEPTH + cut - STACK_CUT_DEPTH);
}

#if !defined(HEARTH_BPF_KERNEL_5)
/* Processes that are older than this rarely end within the interval of the agent's drains. */
#define YOUNG_NS 1000000000ULL

/* The agent reads the names of functions from the process, which must not have ended. */
static __always_inline bool needs_names_soon(const struct sample *sample)
{
	return sample->header.more_flags & ABI_SAMPLE_BYTE_CODE &&
	       sample->header.flags & ABI_SAMPLE_FULL &&
	       bpf_ktime_get_boot_ns() - sample->header.start_time_ns < YOUNG_NS;
}
#else
#define needs_names_soon(sample) false
#endif

/* A sample of an unknown process wakes the agent at once, because the process may exit soon. */
static __always_inline __u64 wakeup_flags(const struct sample *sample)
{
	if (sample->header.flags & ABI_SAMPLE_UNKNOWN || needs_names_soon(sample) ||
	    bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) >= config.ring_wakeup_bytes)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

__hidden int sample_submit(struct sample *sample)
{
	__u64 size = sizeof(struct abi_sample);
	__u64 hash = sample->hash;
	bool full = false;
	__u64 tag = 0;
	__u32 slot = 0;

	/* The flag may be left from an attempt that failed. */
	sample->header.flags &= ~ABI_SAMPLE_FULL;
	/*
	 * Unresolved pcs and code objects identify code only within one image of one process, so
	 * the hash must depend on the image too.
	 */
	if (sample->header.flags & ABI_SAMPLE_UNRESOLVED ||
	    sample->header.more_flags & ABI_SAMPLE_BYTE_CODE)
		hash = (hash ^ sample->header.pid ^ ((__u64)sample->header.exec_count << 32)) *
		       0x9e3779b97f4a7c15ULL;
	sample->header.stack_hash = hash ^ sample->header.cut;

	if (sample->n_frames > 0 && !seen(sample, &slot, &tag)) {
		__u32 n_frames = sample->n_frames;

		full = true;
		sample->header.flags |= ABI_SAMPLE_FULL;
		asm volatile("" : "+r"(n_frames));
		if (n_frames > ABI_MAX_FRAMES)
			return -1;
		size += n_frames * sizeof(struct abi_frame);
	}

	if (sample->header.flags & ABI_SAMPLE_DEFINITION && !full)
		return 0;
	if (bpf_ringbuf_output(&samples, sample, size, wakeup_flags(sample)))
		return -1;
	count_cut(sample->header.cut);

	if (full) {
		/* Only after success: a stack that was not sent must be sent again. */
		bpf_map_update_elem(&seen_stacks, &slot, &tag, BPF_ANY);
		count(ABI_COUNTER_STACKS_FULL);
	} else {
		count(ABI_COUNTER_STACKS_SEEN);
	}
	return 0;
}

__hidden int sample_submit_known(struct sample *sample)
{
	__u64 size = sizeof(struct abi_sample);

	if (sample->header.flags & ABI_SAMPLE_WITH_WAIT)
		size += sizeof(struct abi_wait);
	if (bpf_ringbuf_output(&samples, sample, size, wakeup_flags(sample)))
		return -1;
	count(ABI_COUNTER_STACKS_SEEN);
	return 0;
}
