/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

#include "bpf/abi/limits.h"

/*
 * Stacks whose pages are not resident: an interrupt cannot read them. What is done about it:
 */
enum abi_absent_pages {
	ABI_ABSENT_PAGES_LEAVE, /* nothing: the stack ends there */
	ABI_ABSENT_PAGES_TOUCH, /* the agent reads the page, so that the next sample finds it */
	/* the thread reads it before it goes on, for this very sample; else touched */
	ABI_ABSENT_PAGES_DEFER,
};

/*
 * Samples that wait for their thread to return to user mode: 12 KiB each. A thread that was
 * interrupted in user mode returns within microseconds, so that one for each CPU would do; the
 * others are for threads in system calls.
 */
#define ABI_DEFERRED_SLOTS 64

/* A slot's sample; 0: the slot is free. */
enum abi_deferred_state {
	ABI_DEFERRED_WAITING = 1, /* the sample is in it */
	ABI_DEFERRED_BUSY = 2,    /* it is being filled, finished or submitted */
	/* the callback will still come: the kernel's part of the slot is taken */
	ABI_DEFERRED_DUE = 4,
};

struct abi_deferred {
	__u32 next; /* where the search for a free slot begins */
	__u32 zero;
	__u32 state[ABI_DEFERRED_SLOTS]; /* bits of enum abi_deferred_state */
	/* when the sample was put there; 0: its callback has been */
	__u64 since_ns[ABI_DEFERRED_SLOTS];
};

/* Argument of the program that submits samples whose callback takes too long. */
struct abi_deferred_sweep {
	__u64 before_ns; /* those put there before */
};

/* What goes through the ring buffer absent_pages: a page to touch. */
struct abi_absent_page {
	__u64 address; /* of the word that was wanted */
	__u32 pid;
	__u32 zero;
};

_Static_assert(sizeof(struct abi_absent_page) == 16, "part of the BPF/userspace ABI");
