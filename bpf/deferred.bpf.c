// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Stacks with pages that are not resident: paged out, or part of a file and never touched. A
 * timer's interrupt cannot fault a page in. config.absent_pages selects one of three modes:
 *
 *   DEFER  6.18 and later, which have task work for BPF. The unfinished sample is stored in a slot.
 *          The kernel runs a callback in the sampled thread before the thread returns to user mode;
 *          the callback reads the page and continues from the frame where unwinding stopped. No
 *          user code has run in between, so the stack is still that of the tick, and so are the
 *          sample's time and its kernel part.
 *   TOUCH  all kernels; also used by DEFER if no slot is free. The program asks the agent to read
 *          the page, so that later samples find it. This sample is submitted as it is.
 *   LEAVE  all kernels. The stack ends at the absent page.
 *
 * A tick counts as sampled when its sample is stored in a slot, because every stored sample is
 * later sent through the ring buffer. If the callback is late (the thread stays in a system call)
 * or the ring buffer was full, the agent runs hearth_sweep_deferred, which submits the sample as it
 * is.
 */
#include "bpf/include/sample.bpf.h"

#include "common/frame.h"

/*
 * Reading an absent page may wait for a disk, and the sampled thread waits with it. After about one
 * period of 99 Hz the callback reads no further page, and the stack ends there.
 */
#define WAITING_MAX_NS 10000000ULL

/*
 * A page that could not be read, or whose read was requested, is not tried again for 2^28 ns, a
 * quarter of a second.
 */
#define KNOWN_SHIFT 28
#define KNOWN_SLOTS 256

/*
 * The smallest page size. Programs do not know the kernel's page size. If pages are larger, one
 * page has several marks in known_pages, which does no harm.
 */
#define PAGE_SHIFT 12

/* The unwinder reads at most two words at once. */
#define READ_BYTES 16

/* The kernel recognizes this struct in map values by its name. It is opaque. */
struct bpf_task_work {
	__u64 opaque;
} __attribute__((aligned(8)));

struct deferred_sample {
	struct bpf_task_work work;
	__u64 pc, sp; /* of user mode, at the tick */
	struct sample sample;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ABI_DEFERRED_SLOTS);
	__type(key, __u32);
	__type(value, struct deferred_sample);
} deferred_samples SEC(".maps");

/*
 * A record with its header takes 24 bytes, so 170 pages fit between two reads. The agent sets the
 * size to one page of the host.
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} absent_pages SEC(".maps");

struct abi_deferred deferred = {};

/* Direct-mapped. An entry is a hash of process, page, time and enum known (page_mark()). */
__u64 known_pages[KNOWN_SLOTS] = {};

/*
 * libbpf compares our declarations with the kernel's: a struct must be a struct, but its fields are
 * not compared.
 */
struct bpf_map {
};
typedef int (*task_work_callback)(struct bpf_map *map, void *key, void *value);

/*
 * Weak: if the kernel lacks these functions, the verifier removes the code that calls them. Only
 * one of the first two may be named: 7.0 has both, the older one with another type, and libbpf
 * fails if a type differs, even for a weak symbol.
 */
#if defined(HEARTH_BPF_KERNEL_7)
/* 7.0 */
extern int bpf_task_work_schedule_resume(struct task_struct *task, struct bpf_task_work *work,
					 void *map, task_work_callback callback) __ksym __weak;
#elif !defined(HEARTH_BPF_KERNEL_5)
/* 6.18 */
extern int bpf_task_work_schedule_resume_impl(struct task_struct *task, struct bpf_task_work *work,
					      void *map, task_work_callback callback,
					      void *aux) __ksym __weak;
#endif
extern void bpf_local_irq_save(unsigned long *flags) __ksym __weak; /* 6.14 */
extern void bpf_local_irq_restore(unsigned long *flags) __ksym __weak;

/* The verifier must see the bound on the same register that is used as index. */
static __always_inline __u32 *state_of(__u32 slot)
{
	asm volatile("" : "+r"(slot));
	return &deferred.state[slot % ABI_DEFERRED_SLOTS];
}

static __always_inline __u64 *since_of(__u32 slot)
{
	asm volatile("" : "+r"(slot));
	return &deferred.since_ns[slot % ABI_DEFERRED_SLOTS];
}

enum known {
	KNOWN_UNREADABLE = 1,
	KNOWN_REQUESTED = 2, /* the agent was asked to touch it */
};

/* The mark includes the time, so that a page is tried again later. */
static __always_inline __u64 page_mark(const struct sample *sample, enum known state)
{
	__u64 moment = bpf_ktime_get_ns() >> KNOWN_SHIFT;

	return ((sample->fault_address >> PAGE_SHIFT) ^ ((__u64)sample->header.pid << 40) ^
		(moment << 20) ^ state) *
	       0x9e3779b97f4a7c15ULL;
}

static __always_inline bool is_known(const struct sample *sample, enum known state)
{
	__u64 mark = page_mark(sample, state);

	return known_pages[mark >> 56] == mark;
}

static __always_inline void note_known(const struct sample *sample, enum known state)
{
	__u64 mark = page_mark(sample, state);

	known_pages[mark >> 56] = mark;
}

_Static_assert(KNOWN_SLOTS == 1 << 8, "the mark's highest byte is its slot");

/*
 * Adds 1 to a counter in code that a tick may interrupt. A plain addition would lose an increment
 * that the tick makes between its load and its store.
 */
static __always_inline void count_preemptible(enum abi_counter id)
{
	__u32 key = id;
	__u64 *value = bpf_map_lookup_elem(&counters, &key);

	if (value)
		__sync_fetch_and_add(value, 1);
}

/* Reads the words at which unwinding stopped, so that the kernel makes their pages resident. */
static __always_inline bool fault_in(__u64 address)
{
	__u64 last = address + READ_BYTES - 1;
	__u8 byte;

	if (bpf_copy_from_user(&byte, sizeof(byte), (const void *)address))
		return false;
	/*
	 * The words may extend into the next page. If that page does not exist, the unwinder does
	 * not need it.
	 */
	if ((address ^ last) >> PAGE_SHIFT)
		(void)bpf_copy_from_user(&byte, sizeof(byte), (const void *)last);
	return true;
}

struct finishing {
	struct deferred_sample *deferred;
	__u64 began_ns;
	__u64 n_waits; /* voluntary context switches of the thread in its life */
};

/*
 * Continues unwinding with interrupts off, as at a tick. A tick that interrupts unwinding or
 * submitting would corrupt the counters. With interrupts off the unwind tables also stay in place,
 * because the agent waits for a grace period of RCU before it removes one.
 */
static __always_inline void unwind_further(struct sample *sample)
{
	unsigned long flags;

	bpf_local_irq_save(&flags);
	unwind_user_again(sample);
	bpf_local_irq_restore(&flags);
}

/*
 * Preemption does not count as waiting, because on a busy host it may last longer than a disk read.
 */
static __always_inline bool waited_too_long(const struct finishing *finishing)
{
	return kernel_read(current_task(), nvcsw) != finishing->n_waits &&
	       bpf_ktime_get_ns() - finishing->began_ns > WAITING_MAX_NS;
}

/* Faults in one more page. */
static long fault_in_and_unwind(__u64 index, void *argument)
{
	struct finishing *finishing = argument;
	struct sample *sample = &finishing->deferred->sample;
	__u64 address = sample->fault_address;

	if (!fault_in(address)) {
		note_known(sample, KNOWN_UNREADABLE);
		return 1;
	}
	count_preemptible(ABI_COUNTER_DEFERRED_PAGES);
	unwind_further(sample);
	return sample->header.cut != STACK_CUT_READ_FAULT || sample->fault_address == 0 ||
	       sample->fault_address == address || waited_too_long(finishing);
}

/*
 * Whether the thread will return to the pc and sp at which the tick interrupted it. It does not if
 * it exits, executed another program, or enters a signal handler.
 */
static __always_inline bool is_at_interrupted_pc(const struct deferred_sample *waiting)
{
	struct task_struct *task = current_task();
	struct pt_regs *registers = user_registers(task);

	return !(kernel_read(task, flags) & PF_EXITING) &&
	       task_registers_pc(registers) == waiting->pc &&
	       task_registers_sp(registers) == waiting->sp;
}

/*
 * Runs in the sampled thread. Sends the stack, or a copy of it if unwind tables are missing: frames
 * on the pages that were absent may be in an executable that had no frame in the stack before.
 */
static __always_inline int deliver(struct sample *sample)
{
	unsigned long flags;
	int r;

	bpf_local_irq_save(&flags);
	r = sample_deliver(sample);
	bpf_local_irq_restore(&flags);
	return r;
}

static __always_inline void finish(struct deferred_sample *waiting)
{
	struct finishing finishing = {
		.deferred = waiting,
		.began_ns = bpf_ktime_get_ns(),
		.n_waits = kernel_read(current_task(), nvcsw),
	};

	if (!is_at_interrupted_pc(waiting)) {
		count_preemptible(ABI_COUNTER_DEFERRED_GONE);
		return;
	}
	/* Each iteration unwinds at least one frame. */
	for_each_index(ABI_MAX_USER_FRAMES, ABI_MAX_USER_FRAMES, fault_in_and_unwind, &finishing);
	count_preemptible(waiting->sample.header.cut == STACK_CUT_READ_FAULT
				  ? ABI_COUNTER_DEFERRED_CUT
				  : ABI_COUNTER_DEFERRED_WHOLE);
}

/* Runs in the sampled thread before it returns to user mode, or when it exits. May sleep. */
static int on_return_to_user(struct bpf_map *map, void *key, void *value)
{
	struct deferred_sample *waiting = value;
	__u32 slot = *(__u32 *)key;

	if (__sync_val_compare_and_swap(state_of(slot), ABI_DEFERRED_WAITING | ABI_DEFERRED_DUE,
					ABI_DEFERRED_BUSY) !=
	    (ABI_DEFERRED_WAITING | ABI_DEFERRED_DUE)) {
		/* hearth_sweep_deferred has submitted the sample, or is submitting it now. */
		__sync_fetch_and_and(state_of(slot), ~ABI_DEFERRED_DUE);
		return 0;
	}
	finish(waiting);
	if (deliver(&waiting->sample)) {
		/*
		 * The ring buffer is full. The agent reads it and then runs the sweep, which
		 * submits this sample.
		 */
		*since_of(slot) = 0;
		__sync_lock_test_and_set(state_of(slot), ABI_DEFERRED_WAITING);
	} else {
		__sync_lock_test_and_set(state_of(slot), 0);
	}
	return 0;
}

static __always_inline int schedule(struct deferred_sample *waiting)
{
	struct task_struct *task = current_task();

#if defined(HEARTH_BPF_KERNEL_7)
	if (bpf_task_work_schedule_resume)
		return bpf_task_work_schedule_resume(task, &waiting->work, &deferred_samples,
						     on_return_to_user);
#elif defined(HEARTH_BPF_KERNEL_5)
	(void)task;
	(void)on_return_to_user;
#else
	if (bpf_task_work_schedule_resume_impl)
		return bpf_task_work_schedule_resume_impl(task, &waiting->work, &deferred_samples,
							  on_return_to_user, (void *)0);
#endif
	return -1;
}

static long claim_slot(__u64 index, void *argument)
{
	__u32 *ret_slot = argument;
	__u32 slot = (deferred.next + (__u32)index) % ABI_DEFERRED_SLOTS;

	if (*state_of(slot) != 0 ||
	    __sync_val_compare_and_swap(state_of(slot), 0, ABI_DEFERRED_BUSY) != 0)
		return 0;
	/*
	 * Continue with the next slot: the kernel may still use one that was in use a moment ago.
	 */
	deferred.next = slot + 1;
	*ret_slot = slot;
	return 1;
}

/*
 * Copies the frames and the state from which unwinding continues. Does not copy unused frames and
 * kernel_pcs, which are no longer needed: a slot is not in the CPU's cache, so each cache line
 * takes time.
 */
static __always_inline bool copy_sample(struct sample *to, const struct sample *from)
{
	const __u32 start = offsetof(struct sample, frames);
	const __u32 rest = offsetof(struct sample, n_frames);
	__u32 n_frames = from->n_frames;

	asm volatile("" : "+r"(n_frames));
	if (n_frames > ABI_MAX_FRAMES)
		return false;
	return bpf_probe_read_kernel(to, start + n_frames * sizeof(to->frames[0]), from) == 0 &&
	       bpf_probe_read_kernel((char *)to + rest, offsetof(struct sample, kernel_pcs) - rest,
				     (const char *)from + rest) == 0;
}

static __always_inline bool put_into_slot(struct sample *sample, __u32 slot)
{
	struct deferred_sample *waiting = bpf_map_lookup_elem(&deferred_samples, &slot);

	if (!waiting || !copy_sample(&waiting->sample, sample))
		return false;
	waiting->pc = sample->registers.entry_pc;
	waiting->sp = sample->registers.general[REGISTER_SP];
	*since_of(slot) = sample->header.time_ns;
	__sync_lock_test_and_set(state_of(slot), ABI_DEFERRED_WAITING | ABI_DEFERRED_DUE);
	return schedule(waiting) == 0;
}

/*
 * Whether the thread exits or executes another program. Its user stack is then gone, or will be
 * gone when its task work runs.
 */
static __always_inline bool is_leaving(const struct sample *sample)
{
	struct task_struct *task = current_task();
	struct pt_regs *registers = user_registers(task);

	return kernel_read(task, flags) & PF_EXITING ||
	       (sample->header.n_kernel_frames > 0 && task_registers_in_exec(registers));
}

/*
 * Whether unwinding stopped at a page that the thread or the agent may be able to read. If mappings
 * or unwind rows are missing, the address may be wrong, and the agent gets a copy of the stack
 * instead.
 */
static __always_inline bool may_become_readable(const struct sample *sample)
{
	return sample->header.cut == STACK_CUT_READ_FAULT &&
	       !(sample->header.flags & ABI_SAMPLE_UNKNOWN) && sample->n_missing == 0 &&
	       sample->fault_address >= 1 << PAGE_SHIFT && (__s64)sample->fault_address > 0 &&
	       !is_known(sample, KNOWN_UNREADABLE) && !is_leaving(sample);
}

__hidden void sample_touch(struct sample *sample)
{
	struct abi_absent_page page = { .address = sample->fault_address,
					.pid = sample->header.pid };

	if (config.absent_pages == ABI_ABSENT_PAGES_LEAVE || !may_become_readable(sample) ||
	    is_known(sample, KNOWN_REQUESTED))
		return;
	note_known(sample, KNOWN_REQUESTED);
	if (bpf_ringbuf_output(&absent_pages, &page, sizeof(page), BPF_RB_FORCE_WAKEUP))
		count(ABI_COUNTER_TOUCH_LOST);
}

__hidden bool sample_defer(struct sample *sample)
{
	__u32 slot = ABI_DEFERRED_SLOTS;

	/*
	 * The agent sets DEFER only if the kernel has all functions that this needs; otherwise the
	 * verifier removes the rest of this function. Task work that was scheduled for a thread
	 * will run: the kernel queues it in an interrupt of this CPU, before the thread continues.
	 */
#if defined(HEARTH_BPF_KERNEL_5)
	return false;
#endif
	if (config.absent_pages != ABI_ABSENT_PAGES_DEFER || !may_become_readable(sample))
		return false;
	for_each_index(ABI_DEFERRED_SLOTS, ABI_DEFERRED_SLOTS, claim_slot, &slot);
	if (slot >= ABI_DEFERRED_SLOTS) {
		count(ABI_COUNTER_DEFERRED_NO_SLOT);
		return false;
	}
	if (!put_into_slot(sample, slot)) {
		__sync_lock_test_and_set(state_of(slot), 0);
		count(ABI_COUNTER_DEFERRED_NO_SLOT);
		return false;
	}
	count(ABI_COUNTER_DEFERRED_SCHEDULED);
	/* A system call may take long. The next ticks in it should not need slots too. */
	if (sample->header.n_kernel_frames > 0)
		sample_touch(sample);
	return true;
}

static __always_inline int submit(struct sample *sample)
{
	unsigned long flags;
	int r;

	bpf_local_irq_save(&flags);
	r = sample_submit(sample);
	bpf_local_irq_restore(&flags);
	return r;
}

struct sweeping {
	__u64 before_ns;
	__u32 n_left; /* still waiting because the ring buffer is full */
};

static long sweep_slot(__u64 index, void *argument)
{
	struct sweeping *sweeping = argument;
	__u32 slot = index;
	struct deferred_sample *waiting = bpf_map_lookup_elem(&deferred_samples, &slot);
	__u32 state;

	if (!waiting)
		return 1;
	state = *state_of(slot);
	if (!(state & ABI_DEFERRED_WAITING) || *since_of(slot) >= sweeping->before_ns)
		return 0;
	if (__sync_val_compare_and_swap(state_of(slot), state,
					(state & ABI_DEFERRED_DUE) | ABI_DEFERRED_BUSY) != state)
		return 0;
	if (submit(&waiting->sample)) {
		__sync_fetch_and_xor(state_of(slot), ABI_DEFERRED_BUSY | ABI_DEFERRED_WAITING);
		sweeping->n_left++;
		return 0;
	}
	if (state & ABI_DEFERRED_DUE)
		count_preemptible(ABI_COUNTER_DEFERRED_LATE);
	__sync_fetch_and_and(state_of(slot), ~ABI_DEFERRED_BUSY);
	return 0;
}

/* Returns the number of samples that still wait because the ring buffer is full. */
SEC("syscall")
int hearth_sweep_deferred(struct abi_deferred_sweep *argument)
{
	struct sweeping sweeping = { .before_ns = argument->before_ns };

	for_each_index(ABI_DEFERRED_SLOTS, ABI_DEFERRED_SLOTS, sweep_slot, &sweeping);
	return sweeping.n_left;
}
