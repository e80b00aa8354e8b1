/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Settings that the agent passes to the BPF programs.
 */

#include "bpf/abi/absent_pages.h"
#include "bpf/abi/limits.h"

/* Written before the programs are loaded. The verifier treats the fields as constants. */
struct abi_config {
	/*
	 * _text and the end of the kernel image; 0: the kernel hides its addresses from the agent
	 */
	__u64 kernel_text_start;
	__u64 kernel_text_end;
	__u64 period_ns; /* of the on-CPU timer */
	/* arm64: mask that removes the signature and tag of a return address; at most 55 bits */
	__u64 user_pc_mask;
	__u32 kernel_executable; /* executable number of the kernel image */
	/* a program wakes the agent when the ring buffer has this many bytes: a quarter of it */
	__u32 ring_wakeup_bytes;
	__u32 absent_pages;     /* enum abi_absent_pages */
	__u32 switch_has_state; /* sched_switch passes the task state as fourth argument (5.18) */
	/* off-cpu: wait states are in a hash map, because the kernel has no BPF task storage */
	__u32 hash_threads;
	/* off-cpu: the scheduler measures run-queue time (CONFIG_SCHED_INFO) */
	__u32 has_sched_info;

	/* off-cpu */
	__u64 off_cpu_min_ns; /* waits shorter than this are not reported */
	/*
	 * Address range of the kernel's __schedule(); 0: not known. Frames above it in the stack of
	 * a wait belong to the tracing code and are left out.
	 */
	__u64 schedule_start;
	__u64 schedule_end;
};

/* Settings that the agent changes while the programs run. */
struct abi_control {
	__u64 window; /* number of the open window: each stack is sent in full once per window */
	/* the iterator over waiting threads (off_cpu_walk.bpf.c) reports times, not only stacks */
	__u64 walk_reports;
	/* off-cpu: divide the time budget for capturing stacks by 2^capture_shift, at most 2^7 */
	__u64 capture_shift;
};
