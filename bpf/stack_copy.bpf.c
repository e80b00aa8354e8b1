// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Copies stacks that the BPF programs cannot unwind yet: the process is new, or unwind rows that
 * the stack needs are not in the maps. The sample is sent with its registers and a copy of the
 * stack. The agent reads the process's mappings, loads the rows, and unwinds the copy with the same
 * code.
 */
#include "bpf/include/sample.bpf.h"

#include "common/frame.h"

/*
 * A pc outside all known mappings has one of two causes, which are about equally frequent: the pc
 * is wrong, and a copy is useless, or it is in a library that was loaded a moment ago, and the
 * agent can unwind a copy. Therefore the number of these copies per second is limited on each CPU,
 * per process and in total. Without the limit per process, one process with code that has no unwind
 * rows (an emulator, a JIT) would use up the total. Copies of new processes are not limited,
 * because a process is new only once.
 */
#define DOUBTFUL_COPIES_PER_S            64
#define DOUBTFUL_COPIES_OF_PROCESS_PER_S 16
#define SECOND_SHIFT                     30 /* of ns: 1.07 s */

/*
 * Entries for processes, by pid modulo the number of entries. A process that uses an entry resets
 * the count of another process in it, so only the total limit applies to the two.
 */
#define QUOTA_PROCESSES 64
#define QUOTA_OF_ALL    QUOTA_PROCESSES

struct copy_quota {
	__u64 second;
	__u32 pid; /* 0: the total */
	__u32 used;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, QUOTA_PROCESSES + 1);
	__type(key, __u32);
	__type(value, struct copy_quota);
} copy_quotas SEC(".maps");

static __always_inline bool take_quota_of(__u32 key, __u32 pid, __u64 now_ns, __u32 limit)
{
	struct copy_quota *quota = bpf_map_lookup_elem(&copy_quotas, &key);

	if (!quota)
		return false;
	if (quota->second != now_ns >> SECOND_SHIFT || quota->pid != pid) {
		quota->second = now_ns >> SECOND_SHIFT;
		quota->pid = pid;
		quota->used = 0;
	}
	return quota->used++ < limit;
}

static __always_inline bool take_quota(__u32 pid, __u64 now_ns)
{
	return take_quota_of(pid % QUOTA_PROCESSES, pid, now_ns,
			     DOUBTFUL_COPIES_OF_PROCESS_PER_S) &&
	       take_quota_of(QUOTA_OF_ALL, 0, now_ns, DOUBTFUL_COPIES_PER_S);
}

static __always_inline bool wants_copy(const struct sample *sample)
{
	const struct abi_sample *header = &sample->header;

	if (header->flags & (ABI_SAMPLE_KERNEL_THREAD | ABI_SAMPLE_WITHOUT_STACK) ||
	    sample->registers.entry_pc == 0)
		return false;
	/* The agent cannot unwind 32-bit code either. */
	if (sample->registers.is_32_bit)
		return false;
	if (header->flags & ABI_SAMPLE_UNKNOWN || sample->n_missing > 0)
		return true;
	return header->cut != STACK_CUT_NONE && sample->met_unmapped &&
	       take_quota(header->pid, header->time_ns);
}

/* The address range to copy. */
struct stack_span {
	__u64 start, end;
	bool end_is_known;
};

/*
 * Finds the part of the stack to copy. The main thread's stack ends where the kernel put the
 * program's arguments. The end of other threads' stacks is not known.
 */
static __always_inline struct stack_span find_stack(const struct sample *sample)
{
	struct mm_struct *mm = kernel_read(current_task(), mm);
	__u64 sp = sample->registers.general[REGISTER_SP];
	__u64 start = (sp - ABI_RED_ZONE_BYTES) & ~(ABI_STACK_PIECE_BYTES - 1ULL);
	struct stack_span span = { .start = start, .end = start + ABI_STACK_COPY_BYTES };
	__u64 end = mm ? kernel_read(mm, start_stack) : 0;

	if (end > sp && end < span.end) {
		span.end = end;
		span.end_is_known = true;
	}
	return span;
}

/* Whether the stack may be larger than the small copy. */
static __always_inline bool is_large(const struct stack_span *span)
{
	__u64 behind = span->start + ABI_SMALL_STACK_COPY_BYTES;
	__u8 byte;

	if (span->end_is_known)
		return span->end > behind;
	return bpf_probe_read_user(&byte, sizeof(byte), (void *)behind) == 0;
}

/*
 * Copies the stack and skips absent pages. A page may be absent because the function has not
 * touched it yet (the innermost page), or because it is in the middle of a large array. If the end
 * of the stack is not known, pages after the end count as absent.
 *
 * The loop stores its results in memory, not in variables: verifiers before 5.12 check the rest of
 * the program once for each value that a branch may give to a variable, but do not distinguish
 * values in memory.
 */
static __always_inline void copy_stack(struct sample *sample, struct abi_stack_copy *copy,
				       const struct stack_span *span, const __u32 n_pieces)
{
	copy->stack_start = span->start;
	copy->stack_bytes = 0;
	copy->present = 0;
	for (__u32 piece = 0; piece < n_pieces; piece++) {
		__u64 address = span->start + piece * ABI_STACK_PIECE_BYTES;

		if (address >= span->end)
			break;
		if (bpf_probe_read_user(copy->stack + piece * ABI_STACK_PIECE_BYTES,
					ABI_STACK_PIECE_BYTES, (void *)address)) {
			sample->copy_lacks_pages = true;
			continue;
		}
		copy->present |= 1U << piece;
		copy->stack_bytes = (piece + 1) * ABI_STACK_PIECE_BYTES;
	}
}

/* @stack_bytes: space for the stack in the record, a compile-time constant. */
static __always_inline int submit_copy_of(struct sample *sample, const struct stack_span *span,
					  const __u32 stack_bytes)
{
	__u32 n_kernel_frames = sample->header.n_kernel_frames;
	struct abi_stack_copy *copy = bpf_ringbuf_reserve(&samples, sizeof(*copy) + stack_bytes, 0);

	if (!copy)
		return -1;
	/* The hash is unique to this sample, because the stack is not known yet. */
	sample->hash ^= sample->header.time_ns ^ ((__u64)sample->header.tid << 32);
	sample->hash *= 0x9e3779b97f4a7c15ULL;
	sample->header.stack_hash = sample->hash ^ (sample->hash >> 29);
	sample->header.flags |= ABI_SAMPLE_COPIED;
	sample->header.n_user_frames = 0;
	sample->header.cut = 0;
	copy->header = sample->header;
	__builtin_memcpy(copy->general, sample->registers.general,
			 sizeof(sample->registers.general));
	copy->began_hash = 0;
	copy->pc = sample->registers.entry_pc;
	copy_stack(sample, copy, span, stack_bytes / ABI_STACK_PIECE_BYTES);
	if (n_kernel_frames > ABI_MAX_KERNEL_FRAMES)
		n_kernel_frames = ABI_MAX_KERNEL_FRAMES;
	bpf_probe_read_kernel(copy->kernel_frames, n_kernel_frames * sizeof(struct abi_frame),
			      sample->frames);
	/* Wakes the agent, because a new process may exit soon. */
	bpf_ringbuf_submit(copy, BPF_RB_FORCE_WAKEUP);
	count(ABI_COUNTER_STACKS_COPIED);
	return 0;
}

static __always_inline int submit_copy(struct sample *sample)
{
	struct stack_span span = find_stack(sample);

	/*
	 * When the agent starts, every process is new. Stop copying at half of the ring buffer, so
	 * that space is left for other samples.
	 */
	if (bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) >= 2ULL * config.ring_wakeup_bytes)
		return -1;
	if (is_large(&span) && submit_copy_of(sample, &span, ABI_STACK_COPY_BYTES) == 0)
		return 0;
	return submit_copy_of(sample, &span, ABI_SMALL_STACK_COPY_BYTES);
}

__hidden int sample_deliver(struct sample *sample)
{
	if (sample->n_missing > 0)
		count(ABI_COUNTER_ROWS_MISSING);
	if (wants_copy(sample) && submit_copy(sample) == 0)
		return 0;
	if (sample->n_missing > 0) {
		count_many(ABI_COUNTER_NO_TABLE, sample->n_missing);
		/*
		 * The frames without rows were unwound by frame pointers, which may have led to a
		 * false end of the stack.
		 */
		if (sample->header.cut == STACK_CUT_NONE)
			sample->header.cut = STACK_CUT_NO_ROW;
	}
	return sample_submit(sample);
}
