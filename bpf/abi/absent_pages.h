/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Stacks with pages that are not resident, which an interrupt cannot read: modes, slots and records
 * (bpf/deferred.bpf.c).
 */

#include "bpf/abi/limits.h"

enum abi_absent_pages {
	ABI_ABSENT_PAGES_LEAVE, /* the stack ends at the page */
	ABI_ABSENT_PAGES_TOUCH, /* the agent reads the page, so that later samples find it */
	/*
	 * the sampled thread reads the page before it returns to user mode and completes this
	 * sample; if no slot is free, as TOUCH
	 */
	ABI_ABSENT_PAGES_DEFER,
};

/*
 * Slots for samples that wait until their thread returns to user mode: 12 KiB each. A thread that
 * was interrupted in user mode returns within microseconds: one slot per CPU is enough for these
 * threads. A thread in a system call may keep its slot for longer.
 */
#define ABI_DEFERRED_SLOTS 64

/* State of a slot. 0: the slot is free. */
enum abi_deferred_state {
	ABI_DEFERRED_WAITING = 1, /* the slot holds a sample */
	ABI_DEFERRED_BUSY = 2,    /* the sample is being written, completed or submitted */
	/* the callback has not run yet: the kernel still uses the task work in the slot */
	ABI_DEFERRED_DUE = 4,
};

struct abi_deferred {
	__u32 next; /* first slot of the next search for a free slot */
	__u32 zero;
	__u32 state[ABI_DEFERRED_SLOTS]; /* bits of enum abi_deferred_state */
	/* when the sample was stored; 0: its callback has run */
	__u64 since_ns[ABI_DEFERRED_SLOTS];
};

/* Argument of the program that submits samples whose callback is late. */
struct abi_deferred_sweep {
	__u64 before_ns; /* submit the samples that were stored before this time */
};

/* A record of the ring buffer absent_pages: a page that the agent should touch. */
struct abi_absent_page {
	__u64 address; /* address of the word that the unwinder needed */
	__u32 pid;
	__u32 zero;
};

_Static_assert(sizeof(struct abi_absent_page) == 16, "part of the BPF/userspace ABI");
