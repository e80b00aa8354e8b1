// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The agent's walk over all threads: what waits now, since when, and where. A wait that the walk meets stands for
 * itself alone from then on, whether its stack was taken as it began or not: long waits are exact, and one that never
 * ends shows while it lasts. Where the stack was not taken a copy of it goes to the agent, which unwinds it: a program
 * that may sleep can read the memory of others (5.18). Where the kernel has no such programs the walk reads no memory,
 * and the agent gets the registers alone: of a wait whose stack was not taken as it began there is the innermost frame.
 *
 * What is found goes to the agent through the walk's own file, one record after the other as in the ring buffer.
 */
#include "bpf/include/off_cpu.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "common/event_type.h"

/* Younger waits are left to the lot: at any moment busy threads are in one, and hardly any is worth a visit. */
#define MIN_AGE_NS 10000000ULL

/* Without memory a stack of another wait at the same place is better, unless this one takes so long. */
#define MIN_AGE_WITHOUT_MEMORY_NS 1000000000ULL

/* What is copied of a stack: a record must fit into the file's buffer of eight pages, 32 KiB where pages are small. */
#define COPY_MOST_BYTES	 24576
#define PIECE_BYTES	 4096
#define SMALL_PIECE	 128

#define COPY_OFFSET __builtin_offsetof(struct abi_stack_copy, stack)

_Static_assert(COPY_MOST_BYTES <= ABI_STACK_COPY_BYTES, "it is part of the record");
_Static_assert(COPY_MOST_BYTES + COPY_OFFSET < 8 * 4096, "the file's buffer");

struct walk_scratch {
	struct sample sample;
	struct abi_stack_copy copy;
};

/* An array of one: only one walk goes on at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk_scratch);
} walk_scratches SEC(".maps");

/* Copies what lies at @address and above, up to a page that is not there. Returns the bytes. */
static __always_inline __u32 copy_stack(struct task_struct *task, struct abi_stack_copy *copy, __u64 address,
					bool may_sleep)
{
	__u32 size = 0;

	if (!may_sleep)
		return 0;

	for (int piece = 0; piece < COPY_MOST_BYTES / PIECE_BYTES; piece++) {
		if (bpf_copy_from_user_task(copy->stack + size, PIECE_BYTES, (void *)(address + size), task, 0))
			break;
		size += PIECE_BYTES;
	}
	/* The outermost frames lie where the last page ends. */
	for (int piece = 0; piece < PIECE_BYTES / SMALL_PIECE; piece++) {
		if (size > COPY_MOST_BYTES - SMALL_PIECE ||
		    bpf_copy_from_user_task(copy->stack + size, SMALL_PIECE, (void *)(address + size), task, 0))
			break;
		size += SMALL_PIECE;
	}
	return size;
}

/* False: it has no user frame, or belongs to a process whose waits are not wanted. */
static __always_inline bool take_stack(struct task_struct *task, struct walk_scratch *scratch, bool may_sleep)
{
	struct sample *sample = &scratch->sample;
	struct abi_stack_copy *copy = &scratch->copy;
	__u32 n_kernel_frames;
	__u64 hash;
	long size;

	sample_find_process(sample);
	registers_from_task(&sample->registers, user_registers(task));
	if (sample->process_flags & ABI_PROCESS_WITHOUT_OFF_CPU || sample->registers.entry_pc == 0)
		return false;
	size = bpf_get_task_stack(task, sample->kernel_pcs, sizeof(sample->kernel_pcs), 0);
	if (size > 0)
		unwind_kernel_callers(sample, frames_above_schedule(sample), (__u32)size / sizeof(__u64));
	sample->header.flags &= ~ABI_SAMPLE_WITHOUT_STACK; /* that is on_cpu.regex */
	sample->header.flags |= ABI_SAMPLE_COPIED;
	/* A stack of its own: what it will be is not known here. */
	hash = (sample->hash ^ sample->header.time_ns ^ ((__u64)sample->header.tid << 32)) * 0x9e3779b97f4a7c15ULL;
	sample->header.stack_hash = hash ^ (hash >> 29);

	copy->pc = sample->registers.entry_pc;
	__builtin_memcpy(copy->general, sample->registers.general, sizeof(sample->registers.general));
	n_kernel_frames = sample->header.n_kernel_frames;
	if (n_kernel_frames > ABI_MAX_KERNEL_FRAMES)
		n_kernel_frames = ABI_MAX_KERNEL_FRAMES;
	bpf_probe_read_kernel(copy->kernel_frames, n_kernel_frames * sizeof(struct abi_frame), sample->frames);
	copy->stack_bytes = copy_stack(task, copy, sample->registers.sp, may_sleep);
	return true;
}

/* 0, or -1: the walk's buffer is full; the kernel empties it, and comes back with the same thread. */
static __always_inline int write_record(struct seq_file *file, struct walk_scratch *scratch)
{
	__u64 stack_bytes = scratch->copy.stack_bytes;

	scratch->copy.header = scratch->sample.header;
	if (!(scratch->sample.header.flags & ABI_SAMPLE_COPIED))
		return bpf_seq_write(file, &scratch->copy, sizeof(struct abi_sample)) ? -1 : 0;
	asm volatile("" : "+r"(stack_bytes));
	if (stack_bytes > COPY_MOST_BYTES)
		return -1;
	return bpf_seq_write(file, &scratch->copy, COPY_OFFSET + stack_bytes) ? -1 : 0;
}

/* A thread that slept before we looked for the first time waits from now on, as far as we know. */
static __always_inline void adopt(struct thread_waits *waits, __u32 cpu, __u64 ran_ns, __u64 now_ns)
{
	waits->cpu = cpu;
	waits->stack = WAIT_STACK_NONE;
	waits->site = N_WAIT_SITES; /* where it waits was not seen */
	waits->start_ns = now_ns;
	waits->ran_ns = ran_ns;
	(void)compare_and_exchange(&waits->since_ns, 0, now_ns);
}

/* The stack's hash into the header, with the copy where it was not told. False: the wait is not counted. */
static __always_inline bool find_stack(struct task_struct *task, const struct thread_waits *waits, __u64 start_ns,
				       struct walk_scratch *scratch, bool may_sleep)
{
	struct abi_sample *header = &scratch->sample.header;
	bool walked = waits->walk_start_ns == start_ns;
	/* Without memory there are fewer frames here than in what was cut. */
	bool taken = waits->stack == WAIT_STACK_TAKEN || (waits->stack == WAIT_STACK_CUT && !may_sleep);
	__u32 pid = header->pid;
	__u32 *execs;

	if (!walked && !taken)
		return take_stack(task, scratch, may_sleep);
	execs = bpf_map_lookup_elem(&exec_counts, &pid);
	header->exec_count = execs ? *execs : 0;
	header->n_user_frames = 1; /* at least: the stack has the rest */
	header->stack_hash = walked ? waits->walk_hash : waits->stack_hash;
	return true;
}

/* Tells a wait that lasted up to the header's time, or only its stack. */
static __always_inline void visit_wait(struct seq_file *file, struct thread_waits *waits,
				       struct walk_scratch *scratch, __u64 start_ns, __u64 since_ns)
{
	struct abi_sample *header = &scratch->sample.header;
	__u64 until_ns = header->time_ns;
	bool reports = control.walk_reports && until_ns - start_ns >= config.off_cpu_min_ns;
	bool first = waits->walk_start_ns != start_ns;

	if (!control.walk_reports && !first)
		return; /* the agent knows */
	if (reports) {
		header->value = until_ns - since_ns;
		if (compare_and_exchange(&waits->since_ns, since_ns, until_ns) != since_ns)
			return; /* it is over, and was told */
	} else {
		/* Without a value it keeps the stack known for when the wait is told. */
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

/* Younger waits are not visited. */
static __always_inline __u64 min_age_ns(const struct thread_waits *waits, bool may_sleep)
{
	return may_sleep || waits->stack != WAIT_STACK_NONE || waits->site == N_WAIT_SITES ? MIN_AGE_NS
											   : MIN_AGE_WITHOUT_MEMORY_NS;
}

static __always_inline int visit(struct bpf_iter__task *context, struct task_struct *task, bool may_sleep)
{
	struct thread_waits *waits;
	struct walk_scratch *scratch;
	__u64 now_ns, start_ns, since_ns;
	__u32 key = 0;
	bool found;

	waits = make_waits(task);
	if (!waits)
		return 0;
	/* A thread that is older than what is kept of it: run-queue time up to now was before. */
	if (waits->run_delay_ns == 0)
		waits->run_delay_ns = run_delay_ns(task);
	now_ns = bpf_ktime_get_ns();
	since_ns = *(volatile __u64 *)&waits->since_ns;
	if (since_ns == 0) {
		if (waits->start_ns == 0 && is_waiting_state(task_state(task)))
			adopt(waits, task->wake_cpu, task->se.sum_exec_runtime, now_ns);
		return 0;
	}
	/* It may be running by now: nobody saw how its wait began, nor whether it ended. */
	if (waits->site == N_WAIT_SITES && !is_waiting_state(task_state(task)))
		return 0;
	/* Its end was not told, or is being told: what is left of it comes from elsewhere. */
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
		return 0; /* it is over: what was copied may be of later */
	if (!found) {
		waits->stack = WAIT_STACK_IGNORED;
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

/* For kernels where a program of an iterator may not sleep. */
SEC("iter/task")
int hearth_walk_waits_fast(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;

	if (!task || !is_user_thread(task) || !task->mm)
		return 0;
	return visit(context, task, false);
}
