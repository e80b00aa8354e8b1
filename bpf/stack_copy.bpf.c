// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Stacks that cannot be unwound here yet: the process is new, or unwind rows that the stack needs are not in the maps.
 * The sample goes out with its registers and a copy of the stack. The agent reads what the process maps, loads the
 * rows, and unwinds the copy by the same code.
 */
#include "bpf/include/sample.bpf.h"

#include "common/frame.h"

/*
 * Addresses that lie in no known mapping are wrong as often as they are in a library that was loaded a moment ago: in
 * the first case the copy is of no use. So the number of these copies a second is limited on each CPU, for one process
 * and for all. Without the limit for a process, one with code that nothing describes (an emulator, a JIT) would use up
 * the copies of all others. Copies of new processes have no limit, because a process is new only once.
 */
#define DOUBTFUL_COPIES_PER_S		 64
#define DOUBTFUL_COPIES_OF_PROCESS_PER_S 16
#define SECOND_SHIFT			 30 /* of ns: 1.07 s */

/* Processes that share an entry take it from each other: then only the limit for all holds. */
#define QUOTA_PROCESSES 64
#define QUOTA_OF_ALL	QUOTA_PROCESSES

#define PIECE_BYTES 1024
#define SMALL_PIECE 128

struct copy_quota {
	__u64 second;
	__u32 pid; /* 0: all */
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
	return take_quota_of(pid % QUOTA_PROCESSES, pid, now_ns, DOUBTFUL_COPIES_OF_PROCESS_PER_S) &&
	       take_quota_of(QUOTA_OF_ALL, 0, now_ns, DOUBTFUL_COPIES_PER_S);
}

static __always_inline bool wants_copy(const struct sample *sample)
{
	const struct abi_sample *header = &sample->header;

	if (header->flags & (ABI_SAMPLE_KERNEL_THREAD | ABI_SAMPLE_WITHOUT_STACK) || sample->registers.entry_pc == 0)
		return false;
	/* Neither could the agent unwind it. */
	if (sample->registers.is_32_bit)
		return false;
	if (header->flags & ABI_SAMPLE_UNKNOWN || sample->n_missing > 0)
		return true;
	return header->cut != STACK_CUT_NONE && sample->met_unmapped && take_quota(header->pid, header->time_ns);
}

/* Copies what lies at @address and above, up to a page that is not there. Returns the bytes. */
static __always_inline __u32 copy_stack(struct abi_stack_copy *copy, __u64 address)
{
	__u32 size = 0;

	for (int piece = 0; piece < ABI_STACK_COPY_BYTES / PIECE_BYTES; piece++) {
		if (bpf_probe_read_user(copy->stack + size, PIECE_BYTES, (void *)(address + size)))
			break;
		size += PIECE_BYTES;
	}
	/* The outermost frames lie where the last page ends. */
	for (int piece = 0; piece < PIECE_BYTES / SMALL_PIECE; piece++) {
		if (size > ABI_STACK_COPY_BYTES - SMALL_PIECE ||
		    bpf_probe_read_user(copy->stack + size, SMALL_PIECE, (void *)(address + size)))
			break;
		size += SMALL_PIECE;
	}
	return size;
}

static __always_inline int submit_copy(struct sample *sample)
{
	__u32 n_kernel_frames = sample->header.n_kernel_frames;
	struct abi_stack_copy *copy;

	/* At the agent's start everything is new: copies must not crowd out other samples. */
	if (bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) >= 2ULL * config.ring_wakeup_bytes)
		return -1;
	copy = bpf_ringbuf_reserve(&samples, sizeof(*copy), 0);
	if (!copy)
		return -1;
	/* Each is a stack of its own: what it will be is not known here. */
	sample->hash ^= sample->header.time_ns ^ ((__u64)sample->header.tid << 32);
	sample->hash *= 0x9e3779b97f4a7c15ULL;
	sample->header.stack_hash = sample->hash ^ (sample->hash >> 29);
	sample->header.flags |= ABI_SAMPLE_COPIED;
	sample->header.n_user_frames = 0;
	sample->header.cut = 0;
	copy->header = sample->header;
	__builtin_memcpy(copy->general, sample->registers.general, sizeof(sample->registers.general));
	copy->pc = sample->registers.entry_pc;
	copy->stack_bytes = copy_stack(copy, sample->registers.general[REGISTER_SP]);
	if (n_kernel_frames > ABI_MAX_KERNEL_FRAMES)
		n_kernel_frames = ABI_MAX_KERNEL_FRAMES;
	bpf_probe_read_kernel(copy->kernel_frames, n_kernel_frames * sizeof(struct abi_frame), sample->frames);
	/* A new process may be gone soon. */
	bpf_ringbuf_submit(copy, BPF_RB_FORCE_WAKEUP);
	count(ABI_COUNTER_STACKS_COPIED);
	return 0;
}

__hidden int sample_deliver(struct sample *sample)
{
	if (sample->n_missing > 0)
		count(ABI_COUNTER_ROWS_MISSING);
	if (wants_copy(sample) && submit_copy(sample) == 0)
		return 0;
	if (sample->n_missing > 0) {
		count_many(ABI_COUNTER_NO_TABLE, sample->n_missing);
		/* Frame pointers may have led it to a false end. */
		if (sample->header.cut == STACK_CUT_NONE)
			sample->header.cut = STACK_CUT_NO_ROW;
	}
	return sample_submit(sample);
}
