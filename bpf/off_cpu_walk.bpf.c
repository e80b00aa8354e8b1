// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The agent's walk over all threads: which threads wait now, since when, and where. Once the walk
 * has met a wait, that wait represents only itself, whether or not its stack was captured when it
 * began. So long waits are exact, and a wait that never ends is visible while it lasts. If the
 * stack was not captured, the walk copies it and the agent unwinds the copy: a program that may
 * sleep can read the memory of other processes (5.18). On kernels without such programs the walk
 * reads no memory, and the agent gets only the registers: if such a wait's stack was not captured
 * when it began, only its innermost frame is known.
 *
 * The walk waits neither for a file system nor for another process: it does not read a stack in a
 * mapping of a file, or in memory whose pages another process supplies (check_memory()).
 *
 * Records are written to the walk's own file, one after the other, in the format of the ring
 * buffer.
 */
#include "bpf/include/off_cpu.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "common/event_type.h"

/*
 * The walk does not visit waits that are younger than this. Their stacks are captured randomly when
 * they begin. A busy thread nearly always is in some short wait, and visiting each would take much
 * CPU time.
 */
#define MIN_AGE_NS 10000000ULL

/*
 * The minimum on kernels on which the walk cannot read memory. There the stack that was captured
 * for another wait at the same site is better than the innermost frame that the walk finds.
 */
#define MIN_AGE_WITHOUT_MEMORY_NS 1000000000ULL

#define PIECE_BYTES 4096
#define SMALL_PIECE 128

#define COPY_OFFSET sizeof(struct abi_stack_copy)

_Static_assert(ABI_WALKED_STACK_BYTES + COPY_OFFSET < 8 * 4096,
	       "the buffer of the walk's file, where pages are small");

struct walk_scratch {
	struct sample sample;
	/* struct abi_stack_copy */
	__u8 record[COPY_OFFSET + ABI_WALKED_STACK_BYTES] __attribute__((aligned(8)));
};

static __always_inline struct abi_stack_copy *copy_in(struct walk_scratch *scratch)
{
	return (struct abi_stack_copy *)scratch->record;
}

/* One element: only one walk runs at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk_scratch);
} walk_scratches SEC(".maps");

/* include/uapi/linux/magic.h: files in memory, which also back anonymous shared memory */
#define TMPFS_MAGIC     0x01021994
#define HUGETLBFS_MAGIC 0x958458f6

/*
 * include/linux/mm.h: another process registered the mapping with userfaultfd and supplies absent
 * pages
 */
#define VM_UFFD_MISSING 0x200

/* include/uapi/asm-generic/errno-base.h */
#define EBUSY 16

/* Memory of a thread that can be read without waiting for a file system or another process. */
struct safe_memory {
	__u64 end;         /* end of the readable range */
	bool in_file;      /* the memory after it is in a file */
	bool is_userfault; /* another process supplies the pages after it */
};

static long check_mapping(struct task_struct *task, struct vm_area_struct *mapping, void *context)
{
	struct safe_memory *memory = context;
	unsigned long magic = 0;

	if (mapping->vm_file)
		magic = mapping->vm_file->f_inode->i_sb->s_magic;
	if (mapping->vm_file && magic != TMPFS_MAGIC && magic != HUGETLBFS_MAGIC)
		memory->in_file = true;
	else if (mapping->vm_flags & VM_UFFD_MISSING)
		memory->is_userfault = true;
	else
		memory->end = mapping->vm_end;
	return 0;
}

enum memory_state {
	MEMORY_SAFE,
	MEMORY_UNSAFE,
	MEMORY_BUSY, /* the mappings are being changed */
};

/*
 * Whether [@address, @address + @size) can be read. A page of a file is read from its file system
 * while the lock of the process's mappings is held. If the file system does not answer, the reader
 * hangs and no signal ends it; the process hangs too when it needs the lock to change its mappings.
 * A stack is in a file only if a program does this on purpose. The same holds for memory that is
 * registered with userfaultfd. This function does not wait for the lock either, because its holder
 * may hang.
 */
static __always_inline enum memory_state
check_memory(struct task_struct *task, struct safe_memory *memory, __u64 address, __u32 size)
{
	/* At most two mappings: a piece is not larger than a page. */
	for (int i = 0; i < 2; i++) {
		long r;

		if (address + size <= memory->end)
			return MEMORY_SAFE;
		r = bpf_find_vma(task, memory->end > address ? memory->end : address, check_mapping,
				 memory, 0);
		if (r == -EBUSY)
			return MEMORY_BUSY;
		if (r || memory->in_file || memory->is_userfault)
			return MEMORY_UNSAFE;
	}
	return address + size <= memory->end ? MEMORY_SAFE : MEMORY_UNSAFE;
}

/*
 * Copies memory from @address upwards, until a page is absent. Returns the number of bytes, or -1
 * if the mappings are being changed.
 */
static __always_inline int copy_stack(struct task_struct *task, struct abi_stack_copy *copy,
				      __u64 address, bool may_sleep)
{
	struct safe_memory memory = {};
	enum memory_state state;
	__u32 size = 0;

	if (!may_sleep)
		return 0;

#pragma unroll
	/*
	 * Unrolled, because clang let the loop's end fall through into its beginning, which the
	 * verifier of 6.1 refuses.
	 */
	for (int piece = 0; piece < ABI_WALKED_STACK_BYTES / PIECE_BYTES; piece++) {
		state = check_memory(task, &memory, address + size, PIECE_BYTES);
		if (state == MEMORY_BUSY)
			return -1;
		if (state != MEMORY_SAFE ||
		    bpf_copy_from_user_task(copy->stack + size, PIECE_BYTES,
					    (void *)(address + size), task, 0))
			break;
		size += PIECE_BYTES;
	}
	/*
	 * Copies the rest of the last page in small pieces: the outermost frames are at the end of
	 * the stack.
	 */
	for (int piece = 0; piece < PIECE_BYTES / SMALL_PIECE; piece++) {
		if (size > ABI_WALKED_STACK_BYTES - SMALL_PIECE)
			break;
		if (check_memory(task, &memory, address + size, SMALL_PIECE) != MEMORY_SAFE ||
		    bpf_copy_from_user_task(copy->stack + size, SMALL_PIECE,
					    (void *)(address + size), task, 0))
			break;
		size += SMALL_PIECE;
	}
	if (size == 0 && memory.in_file)
		count(ABI_COUNTER_OFF_CPU_IN_FILE);
	if (size == 0 && memory.is_userfault)
		count(ABI_COUNTER_OFF_CPU_USERFAULT);
	return (int)size;
}

enum found_stack {
	STACK_FOUND,
	STACK_UNWANTED, /* no user frame, or off_cpu.regex excludes the process */
	STACK_BUSY,     /* the next walk may find it */
};

static __always_inline enum found_stack take_stack(struct task_struct *task,
						   struct walk_scratch *scratch, bool may_sleep)
{
	struct sample *sample = &scratch->sample;
	struct abi_stack_copy *copy = copy_in(scratch);
	__u32 n_kernel_frames;
	__u64 hash;
	int stack_bytes;
	long size;

	sample_find_process(sample);
	registers_from_task(&sample->registers, user_registers(task));
	if (sample->process_flags & ABI_PROCESS_WITHOUT_OFF_CPU || sample->registers.entry_pc == 0)
		return STACK_UNWANTED;
	size = bpf_get_task_stack(task, sample->kernel_pcs, sizeof(sample->kernel_pcs), 0);
	if (size > 0)
		unwind_kernel_callers(sample, frames_above_schedule(sample),
				      (__u32)size / sizeof(__u64));
	sample->header.flags &= ~ABI_SAMPLE_WITHOUT_STACK; /* set by on_cpu.regex */
	sample->header.flags |= ABI_SAMPLE_COPIED;
	/* The hash is unique to this sample, because the stack is not known yet. */
	hash = (sample->hash ^ sample->header.time_ns ^ ((__u64)sample->header.tid << 32)) *
	       0x9e3779b97f4a7c15ULL;
	sample->header.stack_hash = hash ^ (hash >> 29);

	copy->pc = sample->registers.entry_pc;
	__builtin_memcpy(copy->general, sample->registers.general,
			 sizeof(sample->registers.general));
	n_kernel_frames = sample->header.n_kernel_frames;
	if (n_kernel_frames > ABI_MAX_KERNEL_FRAMES)
		n_kernel_frames = ABI_MAX_KERNEL_FRAMES;
	bpf_probe_read_kernel(copy->kernel_frames, n_kernel_frames * sizeof(struct abi_frame),
			      sample->frames);
	stack_bytes = copy_stack(task, copy, sample->registers.sp, may_sleep);
	if (stack_bytes < 0)
		return STACK_BUSY;
	copy->stack_start = sample->registers.sp;
	copy->stack_bytes = (__u32)stack_bytes;
	copy->present = ~0U;
	return STACK_FOUND;
}

/*
 * Returns 0, or -1 if the walk's buffer is full. The kernel then empties the buffer and calls the
 * program again for the same thread.
 */
static __always_inline int write_record(struct seq_file *file, struct walk_scratch *scratch)
{
	__u64 stack_bytes = copy_in(scratch)->stack_bytes;

	copy_in(scratch)->header = scratch->sample.header;
	if (!(scratch->sample.header.flags & ABI_SAMPLE_COPIED))
		return bpf_seq_write(file, copy_in(scratch), sizeof(struct abi_sample)) ? -1 : 0;
	asm volatile("" : "+r"(stack_bytes));
	if (stack_bytes > ABI_WALKED_STACK_BYTES)
		return -1;
	return bpf_seq_write(file, copy_in(scratch), COPY_OFFSET + stack_bytes) ? -1 : 0;
}

/* A thread that already slept before the first walk counts as waiting from now on. */
static __always_inline void adopt(struct thread_waits *waits, __u32 cpu, __u64 ran_ns, __u64 now_ns)
{
	waits->cpu = cpu;
	waits->stack = WAIT_STACK_NONE;
	waits->site = N_WAIT_SITES; /* the site was not seen */
	waits->start_ns = now_ns;
	waits->ran_ns = ran_ns;
	(void)compare_and_exchange(&waits->since_ns, 0, now_ns);
}

/* Sets the stack's hash in the header; captures the stack if it was not reported. */
static __always_inline enum found_stack find_stack(struct task_struct *task,
						   const struct thread_waits *waits, __u64 start_ns,
						   struct walk_scratch *scratch, bool may_sleep)
{
	struct abi_sample *header = &scratch->sample.header;
	bool walked = waits->walk_start_ns == start_ns;
	/* If no memory can be read, a copy has fewer frames than the stack that was cut. */
	bool taken =
		waits->stack == WAIT_STACK_TAKEN || (waits->stack == WAIT_STACK_CUT && !may_sleep);
	__u32 pid = header->pid;
	__u32 *execs;

	if (!walked && !taken) {
		enum found_stack found = take_stack(task, scratch, may_sleep);

		copy_in(scratch)->began_hash =
			waits->stack == WAIT_STACK_CUT ? waits->stack_hash : 0;
		if (found != STACK_FOUND || waits->stack != WAIT_STACK_CUT ||
		    copy_in(scratch)->stack_bytes > 0)
			return found;
		/* The copy is empty: report the stack that was cut, which has more frames. */
		header->flags &= ~ABI_SAMPLE_COPIED;
		header->n_kernel_frames = 0;
	}
	execs = bpf_map_lookup_elem(&exec_counts, &pid);
	header->exec_count = execs ? *execs : 0;
	/* The agent knows all frames by the hash; not 0, because the stack has user frames. */
	header->n_user_frames = 1;
	header->stack_hash = walked ? waits->walk_hash : waits->stack_hash;
	return STACK_FOUND;
}

/* Reports a wait that has lasted until the header's time, or only its stack. */
static __always_inline void visit_wait(struct seq_file *file, struct thread_waits *waits,
				       struct walk_scratch *scratch, __u64 start_ns, __u64 since_ns)
{
	struct abi_sample *header = &scratch->sample.header;
	__u64 until_ns = header->time_ns;
	bool reports = control.walk_reports && until_ns - start_ns >= config.off_cpu_min_ns;
	bool first = waits->walk_start_ns != start_ns;

	if (!control.walk_reports && !first)
		return; /* the agent has the stack already */
	if (reports) {
		header->value = until_ns - since_ns;
		if (compare_and_exchange(&waits->since_ns, since_ns, until_ns) != since_ns)
			return; /* it has ended and was reported */
	} else {
		/* A record without a value keeps the stack known until the wait is reported. */
		header->flags |= ABI_SAMPLE_DEFINITION;
	}
	if (write_record(file, scratch)) {
		if (reports)
			(void)compare_and_exchange(&waits->since_ns, until_ns, since_ns);
		return;
	}
	if (!first)
		return;
	if (header->flags & ABI_SAMPLE_COPIED)
		count(ABI_COUNTER_OFF_CPU_WALKED);
	waits->walk_hash = header->stack_hash;
	waits->walk_start_ns = start_ns;
}

/* Waits that are younger than this are not visited. */
static __always_inline __u64 min_age_ns(const struct thread_waits *waits, bool may_sleep)
{
	return may_sleep || waits->stack != WAIT_STACK_NONE || waits->site == N_WAIT_SITES
		       ? MIN_AGE_NS
		       : MIN_AGE_WITHOUT_MEMORY_NS;
}

static __always_inline int visit(struct bpf_iter__task *context, struct task_struct *task,
				 bool may_sleep)
{
	struct thread_waits *waits;
	struct walk_scratch *scratch;
	__u64 now_ns, start_ns, since_ns;
	enum found_stack found;
	__u32 key = 0;

	waits = make_waits(task);
	if (!waits)
		return 0;
	/* The thread existed before its state: its run-queue time up to now belongs to no wait. */
	if (waits->run_delay_ns == 0)
		waits->run_delay_ns = run_delay_ns(task);
	begin_throttled(waits, task);
	now_ns = bpf_ktime_get_ns();
	since_ns = *(volatile __u64 *)&waits->since_ns;
	if (since_ns == 0) {
		if (waits->start_ns == 0 && is_waiting_state(task_state(task)))
			adopt(waits, task->wake_cpu, task->se.sum_exec_runtime, now_ns);
		return 0;
	}
	/* The thread may be running: neither the beginning nor the end of this wait was seen. */
	if (waits->site == N_WAIT_SITES && !is_waiting_state(task_state(task)))
		return 0;
	/*
	 * The thread has run since: the end of the wait was not seen, or is being reported now.
	 * end_wait() reports the rest.
	 */
	if (waits->ran_ns != task->se.sum_exec_runtime)
		return 0;
	start_ns = *(volatile __u64 *)&waits->start_ns;
	if (now_ns < start_ns + min_age_ns(waits, may_sleep) || waits->stack == WAIT_STACK_IGNORED)
		return 0;
	if (now_ns - start_ns > OFF_CPU_MAX_WAIT_NS)
		now_ns = start_ns + OFF_CPU_MAX_WAIT_NS;
	scratch = bpf_map_lookup_elem(&walk_scratches, &key);
	if (since_ns >= now_ns || !scratch)
		return 0;
	sample_begin_task(&scratch->sample, task, EVENT_OFF_CPU, 0);
	scratch->sample.header.time_ns = now_ns;
	scratch->sample.header.cpu = waits->cpu;
	found = find_stack(task, waits, start_ns, scratch, may_sleep);
	if (*(volatile __u64 *)&waits->since_ns != since_ns)
		return 0; /* it has ended: the copy may be of a later time */
	if (found == STACK_UNWANTED) {
		waits->stack = WAIT_STACK_IGNORED;
		return 0;
	}
	if (found == STACK_BUSY) {
		count(ABI_COUNTER_OFF_CPU_BUSY);
		return 0;
	}
	visit_wait(context->meta->seq, waits, scratch, start_ns, since_ns);
	return 0;
}

SEC("iter.s/task")
int hearth_walk_waits(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;

	if (!task || !is_user_thread(task) || !task->mm)
		return 0;
	return visit(context, task, true);
}

/* For kernels that do not allow an iterator's program to sleep. */
SEC("iter/task")
int hearth_walk_waits_fast(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;

	if (!task || !is_user_thread(task) || !task->mm)
		return 0;
	return visit(context, task, false);
}
