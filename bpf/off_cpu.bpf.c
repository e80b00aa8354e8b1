// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Off-CPU time. A wait begins when a user thread leaves its CPU to sleep, and ends when it runs
 * again on any CPU. The duration is exact. The stack is captured when the thread leaves, because
 * its memory can only be read then.
 *
 * Capturing a stack costs about fifty times as much as the rest, so each CPU has a time budget for
 * it. Over budget, 1 of 2^k waits per thread and site is captured, chosen randomly before the wait
 * starts so that duration cannot bias it. All sites get about the same number of captures; sites
 * that wait rarely keep k = 0. The time of waits without a stack is summed per site and reported
 * with the waits that have one. So stacks are thinned, but time is never lost.
 */
#include "bpf/include/wait_thinning.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "common/event_type.h"
#include "common/frame.h"

/*
 * A copy takes 36 KiB of the ring buffer. After this time the agent should have loaded the mappings
 * and rows that make copies unnecessary.
 */
#define COPY_INTERVAL_NS 1000000000ULL

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample);
} off_cpu_scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct capture_budget);
} capture_budgets SEC(".maps");

/*
 * State of a wait before its stack is walked. One per CPU is enough, because switches do not
 * interrupt each other.
 */
struct new_wait {
	__u64 now_ns;
	__u64 began_ns; /* start of the capture; 0: no capture */
	__u8 site;
	__u8 weight_shift;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct new_wait);
} new_waits SEC(".maps");

/*
 * The tail call target that walks UNWIND_STEPS_OF_PART more frames. Only the variant without
 * bpf_loop() uses it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} wait_parts SEC(".maps");

/*
 * The agent got a copy of this site's stack a moment ago, and this stack would be no better. That
 * copy represents it.
 */
static __always_inline bool was_copied(const struct sample *sample, const struct wait_site *site)
{
	return (sample->header.flags & ABI_SAMPLE_UNKNOWN || sample->n_missing > 0) &&
	       sample->header.time_ns - site->copied_ns < COPY_INTERVAL_NS;
}

/*
 * Captures the stack up to the first user frame. @task is still the current one. WAIT_STACK_TAKEN:
 * the user stack remains to be walked.
 */
static __always_inline enum wait_stack begin_stack(void *context, struct task_struct *task,
						   const struct wait_site *site,
						   struct sample *sample)
{
	long size;

	sample_begin_task(sample, task, EVENT_OFF_CPU, 0);
	sample_find_process(sample);
	if (sample->process_flags & ABI_PROCESS_WITHOUT_OFF_CPU) {
		count(ABI_COUNTER_OFF_CPU_LEFT_OUT);
		return WAIT_STACK_IGNORED;
	}
	if (was_copied(sample, site)) {
		count(ABI_COUNTER_OFF_CPU_THINNED);
		return WAIT_STACK_NONE;
	}
	sample->header.flags &= ~ABI_SAMPLE_WITHOUT_STACK; /* set by on_cpu.regex */
	sample->header.flags |= ABI_SAMPLE_DEFINITION;
	size = bpf_get_stack(context, sample->kernel_pcs, sizeof(sample->kernel_pcs), 0);
	if (size > 0)
		unwind_kernel_callers(sample, frames_above_schedule(sample),
				      (__u32)size / sizeof(__u64));
	else
		count(ABI_COUNTER_KERNEL_STACK_ERROR);
	registers_from_task(&sample->registers, user_registers(task));
	return WAIT_STACK_TAKEN;
}

/*
 * The walk may capture more frames: by then the library may be known, and the walk reads pages that
 * are not resident, which may also have ended the copy for the agent.
 */
static __always_inline bool may_be_longer(const struct sample *sample)
{
	const struct abi_sample *header = &sample->header;

	if (sample->registers.is_32_bit)
		return false;
	if (header->flags & ABI_SAMPLE_COPIED)
		return sample->copy_lacks_pages;
	return sample->n_missing > 0 || header->cut == STACK_CUT_READ_FAULT ||
	       header->cut == STACK_CUT_UNKNOWN ||
	       (header->cut != STACK_CUT_NONE && sample->met_unmapped);
}

/* Call after the user frames were walked. */
static __always_inline enum wait_stack finish_stack(struct thread_waits *waits,
						    struct wait_site *site, struct sample *sample)
{
	if (sample->header.n_user_frames == 0) {
		count(ABI_COUNTER_OFF_CPU_NO_USER);
		return WAIT_STACK_IGNORED;
	}
	if (was_copied(sample, site)) {
		count(ABI_COUNTER_OFF_CPU_THINNED);
		return WAIT_STACK_NONE;
	}
	count(ABI_COUNTER_OFF_CPU_CAPTURED);
	sample_touch(sample);
	if (sample_deliver(sample))
		return WAIT_STACK_LOST;
	if (sample->header.flags & ABI_SAMPLE_COPIED)
		site->copied_ns = sample->header.time_ns;
	waits->stack_hash = sample->header.stack_hash;
	return may_be_longer(sample) ? WAIT_STACK_CUT : WAIT_STACK_TAKEN;
}

/* Reports [since_ns, until_ns) of a wait whose stack is known. */
static __always_inline void report_wait(struct task_struct *task, struct thread_waits *waits,
					__u64 since_ns, __u64 until_ns)
{
	struct wait_site *site = &waits->sites[waits->site & (N_WAIT_SITES - 1)];
	bool by_walk = waits->walk_start_ns == waits->start_ns;
	__u64 duration_ns = until_ns - since_ns;
	__u8 class =
		wait_class(duration_ns > waits->capture_ns ? duration_ns - waits->capture_ns : 0);
	__u32 key = 0;
	struct sample *sample = bpf_map_lookup_elem(&off_cpu_scratch, &key);
	__u32 pid = task->tgid;
	__u32 *execs = bpf_map_lookup_elem(&exec_counts, &pid);

	if (!sample)
		return;
	sample_begin_task(sample, task, EVENT_OFF_CPU, duration_ns);
	sample->header.time_ns = until_ns;
	sample->header.cpu = waits->cpu;
	sample->header.exec_count = execs ? *execs : 0;
	sample->header.n_user_frames = 1; /* at least: the stack has the others */
	sample->header.stack_hash = by_walk ? waits->walk_hash : waits->stack_hash;
	sample->header.queued_us = queued_us(site);
	if (!by_walk)
		add_others(sample, waits, site, class);
	if ((!by_walk && waits->stack == WAIT_STACK_LOST) || sample_submit_known(sample)) {
		count(ABI_COUNTER_OFF_CPU_LOST);
		count_many(ABI_COUNTER_OFF_CPU_LOST_NS, duration_ns);
		return;
	}
	site->queued_ns -= sample->header.queued_us * 1000ULL;
	if (!by_walk) {
		bool all = is_flush_due(site, until_ns);

		forget_others(site, class, all);
		if (all)
			site->reported_ns = until_ns;
	}
}

/* Not inlined: it is called three times and too long to repeat. */
static __noinline void end_wait(struct task_struct *task, struct thread_waits *waits, __u64 now_ns,
				__u64 queued_ns)
{
	__u64 since_ns = exchange(&waits->since_ns, 0);
	__u64 start_ns;

	start_ns = waits->start_ns;
	if (since_ns == 0 || waits->stack == WAIT_STACK_IGNORED)
		return;
	if (now_ns - start_ns < config.off_cpu_min_ns) {
		count(ABI_COUNTER_OFF_CPU_TOO_SHORT);
		return;
	}
	if (now_ns - start_ns > OFF_CPU_MAX_WAIT_NS) {
		count(ABI_COUNTER_OFF_CPU_TOO_LONG);
		now_ns = start_ns + OFF_CPU_MAX_WAIT_NS;
	}
	count_many(ABI_COUNTER_OFF_CPU_WAITED_NS, now_ns - start_ns);
	if (queued_ns > now_ns - start_ns)
		queued_ns = now_ns - start_ns;
	if (queued_ns > 0) {
		count_many(ABI_COUNTER_OFF_CPU_QUEUED_NS, queued_ns);
		waits->sites[waits->site & (N_WAIT_SITES - 1)].queued_ns += queued_ns;
	}
	if (waits->stack == WAIT_STACK_NONE && waits->walk_start_ns != start_ns)
		skip_wait(waits, now_ns - start_ns);
	else if (since_ns < now_ns)
		report_wait(task, waits, since_ns, now_ns);
}

/*
 * Counts the part of a thread's run-queue time in which its cgroup was throttled. The throttled
 * time is summed over CPUs, each of which is stopped separately, so it may exceed the run-queue
 * time. Then all of the run-queue time counts as throttled.
 */
static __always_inline void count_throttled(const struct task_struct *task,
					    struct thread_waits *waits, __u64 delay_ns)
{
	__u64 now_ns = throttled_ns(task) + 1;
	__u64 before_ns = waits->throttled_ns;

	waits->throttled_ns = now_ns;
	/* A thread that moved to another cgroup may have a smaller value than before. */
	if (delay_ns == 0 || before_ns == 0 || now_ns <= before_ns)
		return;
	now_ns -= before_ns;
	count_many(ABI_COUNTER_OFF_CPU_THROTTLED_NS, now_ns < delay_ns ? now_ns : delay_ns);
}

static __always_inline void resume_thread(struct task_struct *task, __u64 now_ns)
{
	struct thread_waits *waits = find_waits(task);
	__u64 delay_ns, before_ns;

	if (!waits)
		return;
	delay_ns = run_delay_ns(task);
	before_ns = waits->run_delay_ns;
	waits->run_delay_ns = delay_ns;
	delay_ns = delay_ns > before_ns ? delay_ns - before_ns : 0;
	count_throttled(task, waits, delay_ns);
	if (waits->since_ns != 0)
		end_wait(task, waits, now_ns, delay_ns);
	else if (delay_ns > 0)
		count_many(ABI_COUNTER_OFF_CPU_PREEMPTED_NS, delay_ns);
}

/*
 * Ends a wait whose end was not seen. The kernel does not run programs at every switch: some hosts
 * run none when certain threads leave. If a thread leaves that still waits according to our state,
 * it has resumed unseen. The time that it ran since then shows when, except for the time that it
 * shared its CPU.
 */
static __always_inline void end_unseen(struct task_struct *task, struct thread_waits *waits,
				       __u64 now_ns)
{
	__u64 ran_ns = task->se.sum_exec_runtime - waits->ran_ns;
	__u64 since_ns = waits->since_ns;

	count(ABI_COUNTER_OFF_CPU_UNSEEN);
	end_wait(task, waits, ran_ns < now_ns - since_ns ? now_ns - ran_ns : since_ns, 0);
}

/*
 * A thread that exits begins no wait, but the end of its last wait may not have been seen. Not
 * inlined, so that hearth_on_switch does not need the stack of this function while it unwinds.
 */
static __noinline void exit_thread(struct task_struct *task, __u64 now_ns)
{
	struct thread_waits *waits = find_waits(task);

	if (!waits)
		return;
	if (waits->since_ns != 0)
		end_unseen(task, waits, now_ns);
	count_many(ABI_COUNTER_OFF_CPU_UNSENT_NS, unsent_ns(waits));
}

/* From here on the wait counts. */
static __always_inline void note_wait(struct task_struct *task, struct thread_waits *waits,
				      const struct new_wait *new, enum wait_stack stack)
{
	__u32 key = 0;
	struct capture_budget *budget = bpf_map_lookup_elem(&capture_budgets, &key);
	__u64 spent_ns = 0;

	if (new->began_ns != 0) {
		spent_ns = bpf_ktime_get_ns() - new->began_ns;
		if (budget)
			budget->spent_ns += spent_ns;
		count_many(ABI_COUNTER_OFF_CPU_CAPTURE_NS, spent_ns);
	}
	waits->start_ns = new->now_ns;
	waits->ran_ns = task->se.sum_exec_runtime;
	waits->capture_ns = spent_ns;
	waits->site = new->site;
	waits->cpu = bpf_get_smp_processor_id();
	waits->stack = stack;
	waits->weight_shift = new->weight_shift;
	(void)exchange(&waits->since_ns, new->now_ns);
}

/*
 * In the variant without bpf_loop(), returns only if there is nothing to walk or no tail call is
 * left.
 */
static __always_inline enum wait_stack take_stack(void *context, struct task_struct *task,
						  struct thread_waits *waits,
						  struct wait_site *site)
{
	__u32 key = 0;
	struct sample *sample = bpf_map_lookup_elem(&off_cpu_scratch, &key);
	enum wait_stack stack;

	if (!sample)
		return WAIT_STACK_IGNORED;
	stack = begin_stack(context, task, site, sample);
	if (stack != WAIT_STACK_TAKEN)
		return stack;
#if defined(HEARTH_BPF_KERNEL_5)
	if (unwind_user_begin(sample)) {
		bpf_tail_call(context, &wait_parts, 0);
		unwind_user_end(sample, false);
	}
#else
	unwind_user(sample);
#endif
	return finish_stack(waits, site, sample);
}

static __always_inline void begin_wait(void *context, struct task_struct *task, __u64 now_ns)
{
	__u32 key = 0;
	struct capture_budget *budget = bpf_map_lookup_elem(&capture_budgets, &key);
	struct new_wait *new = bpf_map_lookup_elem(&new_waits, &key);
	struct thread_waits *waits = find_waits(task);
	enum wait_stack stack = WAIT_STACK_NONE;
	struct wait_site *site;

	if (!waits || !budget || !new) {
		count(ABI_COUNTER_OFF_CPU_UNREADY);
		return;
	}
	if (waits->since_ns != 0)
		end_unseen(task, waits, now_ns);
	adjust_interval(budget, now_ns);
	new->now_ns = now_ns;
	new->began_ns = 0;
	new->site = find_site(task, waits, now_ns);
	site = &waits->sites[new->site &(N_WAIT_SITES - 1)];
	new->weight_shift = choose_weight(site, budget->interval_ns, now_ns);
	if (new->weight_shift == 0 ||
	    (bpf_get_prandom_u32() & ((1U << new->weight_shift) - 1)) == 0) {
		new->began_ns = bpf_ktime_get_ns();
		stack = take_stack(context, task, waits, site);
	} else {
		count(ABI_COUNTER_OFF_CPU_THINNED);
	}
	note_wait(task, waits, new, stack);
}

/*
 * Continues hearth_on_switch after a tail call, see hearth_unwind_part. It is loaded but not
 * attached.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(hearth_wait_part, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 key = 0;
	struct sample *sample = bpf_map_lookup_elem(&off_cpu_scratch, &key);
	struct new_wait *new = bpf_map_lookup_elem(&new_waits, &key);
	struct thread_waits *waits = find_waits(prev);
	bool ended;

	if (!sample || !new || !waits) {
		count(ABI_COUNTER_OFF_CPU_UNREADY);
		return 0;
	}
	ended = unwind_user_part(sample);
	if (!ended)
		bpf_tail_call(ctx, &wait_parts, 0);
	unwind_user_end(sample, ended);
	note_wait(prev, waits, new,
		  finish_stack(waits, &waits->sites[new->site &(N_WAIT_SITES - 1)], sample));
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(hearth_on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u64 now_ns = bpf_ktime_get_ns();
	/*
	 * The argument is the state that the scheduler used. A waker may have changed the field
	 * meanwhile.
	 */
	__u32 state = config.switch_has_state ? (__u32)ctx[3] : task_state(prev);

	count(ABI_COUNTER_OFF_CPU_SWITCHES);
	if (is_user_thread(next))
		resume_thread(next, now_ns);
	if (preempt || state == 0 || !is_user_thread(prev))
		return 0;
	if (state & TASK_DEAD)
		exit_thread(prev, now_ns);
	else if (is_waiting_state(state) && prev->mm)
		begin_wait(ctx, prev, now_ns);
	return 0;
}

/*
 * Allocates the thread's state here and in the walk, because allocation is not possible under the
 * scheduler's locks.
 */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(hearth_on_thread, struct task_struct *parent, struct task_struct *child)
{
	struct thread_waits *waits = is_user_thread(child) ? make_waits(child) : NULL;

	if (waits)
		begin_throttled(waits, child);
	return 0;
}

/*
 * For the hash map only; the kernel frees task storage with the task. The ID may already belong to
 * a newer thread, which find_waits() recognizes by its start time.
 */
SEC("tp_btf/sched_process_free")
int BPF_PROG(hearth_on_thread_freed, struct task_struct *task)
{
	__u32 tid = task->pid;

	if (find_waits(task))
		bpf_map_delete_elem(&hashed_waits, &tid);
	return 0;
}

/* If a thread other than the leader calls execve(), it takes over the leader's ID. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(hearth_on_thread_renamed, struct task_struct *task, int old_tid,
	     struct linux_binprm *binprm)
{
	__u32 tid = old_tid;

	if (old_tid != task->pid)
		bpf_map_delete_elem(&hashed_waits, &tid);
	return 0;
}
