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
#include "bpf/include/off_cpu.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "common/event_type.h"
#include "common/frame.h"

/*
 * The share of each CPU's time for capturing stacks: 1/200 while thinning the waits of busy threads
 * is enough to keep it, 1/50 before threads that wait less than a hundred times per second are
 * thinned too.
 */
#define CAPTURE_SHARE      200
#define CAPTURE_SHARE_MOST 50
#define RARE_INTERVAL_NS   10000000ULL

/* The agent may request a smaller share, divided by up to 2^7, when its own budget is exceeded. */
#define MAX_CAPTURE_SHIFT 7

/* How often the spent time is compared with the budget. */
#define SLICE_NS 10000000ULL

/*
 * Bounds of the interval between two captures of one thread's site. Below the minimum, nothing
 * would be saved.
 */
#define MIN_INTERVAL_NS 100000ULL
#define MAX_INTERVAL_NS 10000000000ULL

/* The gap that is assumed for a site without an earlier wait, and the longest gap that counts. */
#define RARE_GAP_NS 10000000000ULL

/*
 * A copy takes 36 KiB of the ring buffer. After this time the agent should have loaded the mappings
 * and rows that make copies unnecessary.
 */
#define COPY_INTERVAL_NS 1000000000ULL

/*
 * If no wait of the same length class had a stack for this long, the next wait of the site with a
 * stack reports the time of all classes.
 */
#define FLUSH_NS 5000000000ULL

/*
 * Run-queue time is reported from this value on. For most waits it is a few us, and one row for
 * each would double the number of rows.
 */
#define QUEUED_LEAST_NS 100000ULL

/* Number of entries that are tried for a site. */
#define SITE_PROBES 4

/* At least 1 of 65536 waits is captured. */
#define MAX_WEIGHT_SHIFT 16

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample);
} off_cpu_scratch SEC(".maps");

struct capture_budget {
	__u64 slice_start_ns;
	__u64 spent_ns;    /* since slice_start_ns */
	__u64 interval_ns; /* between two captures of one thread's site */
};

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

/* Adjusts the interval at the end of a slice, or at once if twice the slice's budget is spent. */
static __always_inline void adjust_interval(struct capture_budget *budget, __u64 now_ns)
{
	__u64 interval_ns = budget->interval_ns;
	__u64 most = interval_ns < RARE_INTERVAL_NS ? CAPTURE_SHARE : CAPTURE_SHARE_MOST;
	__u64 share = most << (control.capture_shift & MAX_CAPTURE_SHIFT);
	__u64 elapsed_ns = now_ns - budget->slice_start_ns;
	__u64 may_spend_ns = elapsed_ns / share;

	if (elapsed_ns < SLICE_NS && budget->spent_ns < 2 * SLICE_NS / share)
		return;
	if (budget->spent_ns > may_spend_ns)
		interval_ns = interval_ns < RARE_INTERVAL_NS && interval_ns * 2 > RARE_INTERVAL_NS
				      ? RARE_INTERVAL_NS
				      : interval_ns * 2;
	else if (elapsed_ns > 100 * SLICE_NS)
		interval_ns = 0; /* no switches for a while */
	else if (budget->spent_ns < may_spend_ns / 4 * 3)
		interval_ns -= interval_ns / 8;
	if (interval_ns < MIN_INTERVAL_NS)
		interval_ns = MIN_INTERVAL_NS;
	if (interval_ns > MAX_INTERVAL_NS)
		interval_ns = MAX_INTERVAL_NS;
	budget->interval_ns = interval_ns;
	budget->slice_start_ns = now_ns;
	budget->spent_ns = 0;
}

static __always_inline bool has_others(const struct wait_site *site)
{
	_Static_assert(N_WAIT_CLASSES == 4, "each is looked at");
	return site->n_others[0] | site->n_others[1] | site->n_others[2] | site->n_others[3];
}

/* Index of the site at which the thread waits. */
static __always_inline __u8 find_site(struct task_struct *task, struct thread_waits *waits,
				      __u64 now_ns)
{
	struct pt_regs *registers = user_registers(task);
	__u64 tag = (task_registers_pc(registers) ^ task_registers_sp(registers) << 20) *
			    0x9e3779b97f4a7c15ULL |
		    1;
	__u32 home = tag >> 61;
	__u32 chosen = N_WAIT_SITES;

	_Static_assert(N_WAIT_SITES == 1 << (64 - 61), "the tag's highest bits are its home");
#pragma unroll
	for (__u32 i = 0; i < SITE_PROBES; i++) {
		__u32 index = (home + i) & (N_WAIT_SITES - 1);
		const struct wait_site *site = &waits->sites[index];

		if (site->tag == tag)
			return index;
		if (chosen == N_WAIT_SITES &&
		    (site->tag == 0 || (!has_others(site) && now_ns - site->last_ns > RARE_GAP_NS)))
			chosen = index;
	}
	if (chosen == N_WAIT_SITES)
		return home;
	chosen &= N_WAIT_SITES - 1;
	waits->sites[chosen] = (struct wait_site){ .tag = tag };
	return chosen;
}

/*
 * Returns k: the wait is captured with probability 1/2^k. k depends on earlier waits only, never on
 * this one. The running mean of the gaps is the inverse of the rate, even if short and long gaps
 * alternate.
 */
static __always_inline __u8 choose_weight(struct wait_site *site, __u64 interval_ns, __u64 now_ns)
{
	__u64 gap_ns = now_ns - site->last_ns;
	__u64 mean_ns = site->gap_ns;
	__u8 shift = 0;

	if (site->last_ns == 0)
		mean_ns = gap_ns = RARE_GAP_NS;
	if (gap_ns > RARE_GAP_NS)
		gap_ns = RARE_GAP_NS;
	mean_ns += gap_ns / 8 - mean_ns / 8;
	site->gap_ns = mean_ns;
	site->last_ns = now_ns;
	while (shift < MAX_WEIGHT_SHIFT && mean_ns < interval_ns) {
		mean_ns *= 2;
		shift++;
	}
	return shift;
}

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

/*
 * Sums the time of waits of this length class without a stack. With @all, of all classes: no wait
 * of their own class had a stack for a while.
 */
static __always_inline void take_others(struct wait_site *site, __u8 class, bool all,
					struct abi_wait *wait)
{
	wait->others_ns = 0;
	wait->n_others = 0;
#pragma unroll
	for (__u32 i = 0; i < N_WAIT_CLASSES; i++) {
		if (!all && i != class)
			continue;
		wait->others_ns += site->others_ns[i];
		wait->n_others += site->n_others[i];
	}
}

static __always_inline void forget_others(struct wait_site *site, __u8 class, bool all)
{
#pragma unroll
	for (__u32 i = 0; i < N_WAIT_CLASSES; i++) {
		if (!all && i != class)
			continue;
		site->others_ns[i] = 0;
		site->n_others[i] = 0;
	}
}

static __always_inline bool is_flush_due(const struct wait_site *site, __u64 now_ns)
{
	return now_ns - site->told_ns > FLUSH_NS;
}

/* Adds the time of the site's waits without a stack to this wait, which has one. */
static __always_inline void add_others(struct sample *sample, const struct thread_waits *waits,
				       struct wait_site *site, __u8 class)
{
	struct abi_wait *wait = (struct abi_wait *)sample->frames;
	__u32 capture_us = waits->capture_ns / 1000;

	take_others(site, class, is_flush_due(site, sample->header.time_ns), wait);
	if (waits->weight_shift == 0 && wait->others_ns == 0)
		return;
	sample->header.flags |= ABI_SAMPLE_STANDS;
	wait->capture_us = capture_us < 65535 ? capture_us : 65535;
	wait->weight_shift = waits->weight_shift;
	wait->site = waits->site * N_WAIT_CLASSES + class;
}

/*
 * Run-queue time of the site, including waits without a stack. It is part of the off-CPU time and
 * reported separately. A remainder below QUEUED_LEAST_NS or 1 us is added to that of later waits.
 */
static __always_inline __u32 queued_us(const struct wait_site *site)
{
	__u64 us = site->queued_ns / 1000;

	if (site->queued_ns < QUEUED_LEAST_NS)
		return 0;
	return us < 0xffffffffU ? us : 0xffffffffU;
}

/* Reports [since_ns, until_ns) of a wait whose stack is known. */
static __always_inline void tell_wait(struct task_struct *task, struct thread_waits *waits,
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
		count_more(ABI_COUNTER_OFF_CPU_LOST_NS, duration_ns);
		return;
	}
	site->queued_ns -= sample->header.queued_us * 1000ULL;
	if (!by_walk) {
		bool all = is_flush_due(site, until_ns);

		forget_others(site, class, all);
		if (all)
			site->told_ns = until_ns;
	}
}

static __always_inline void skip_wait(struct thread_waits *waits, __u64 duration_ns)
{
	__u8 class = wait_class(duration_ns);

	if (waits->site < N_WAIT_SITES) {
		waits->sites[waits->site].others_ns[class] += duration_ns;
		waits->sites[waits->site].n_others[class]++;
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
	count_more(ABI_COUNTER_OFF_CPU_WAITED_NS, now_ns - start_ns);
	if (queued_ns > now_ns - start_ns)
		queued_ns = now_ns - start_ns;
	if (queued_ns > 0) {
		count_more(ABI_COUNTER_OFF_CPU_QUEUED_NS, queued_ns);
		waits->sites[waits->site & (N_WAIT_SITES - 1)].queued_ns += queued_ns;
	}
	if (waits->stack == WAIT_STACK_NONE && waits->walk_start_ns != start_ns)
		skip_wait(waits, now_ns - start_ns);
	else if (since_ns < now_ns)
		tell_wait(task, waits, since_ns, now_ns);
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
	count_more(ABI_COUNTER_OFF_CPU_THROTTLED_NS, now_ns < delay_ns ? now_ns : delay_ns);
}

static __always_inline void come_back(struct task_struct *task, __u64 now_ns)
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
		count_more(ABI_COUNTER_OFF_CPU_PREEMPTED_NS, delay_ns);
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

/* Time of waits without a stack that was not reported yet. */
static __always_inline __u64 unsent_ns(const struct thread_waits *waits)
{
	__u64 sum_ns = 0;

	for (__u32 i = 0; i < N_WAIT_SITES; i++) {
#pragma unroll
		for (__u32 class = 0; class < N_WAIT_CLASSES; class ++)
			sum_ns += waits->sites[i].others_ns[class];
	}
	return sum_ns;
}

/* A thread that exits begins no wait, but the end of its last wait may not have been seen. */
static __always_inline void leave_for_good(struct task_struct *task, __u64 now_ns)
{
	struct thread_waits *waits = find_waits(task);

	if (!waits)
		return;
	if (waits->since_ns != 0)
		end_unseen(task, waits, now_ns);
	count_more(ABI_COUNTER_OFF_CPU_UNSENT_NS, unsent_ns(waits));
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
		count_more(ABI_COUNTER_OFF_CPU_CAPTURE_NS, spent_ns);
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
		come_back(next, now_ns);
	if (preempt || state == 0 || !is_user_thread(prev))
		return 0;
	if (state & TASK_DEAD)
		leave_for_good(prev, now_ns);
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
