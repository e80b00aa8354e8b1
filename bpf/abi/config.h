/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Settings that the agent passes to the BPF programs.
 */

#include "bpf/abi/absent_pages.h"
#include "bpf/abi/limits.h"

/* Set before loading; constants for the verifier afterwards. */
struct abi_config {
	/*
	 * address of _text in the running kernel; 0: the kernel hides its addresses from the agent
	 */
	__u64 kernel_text_start;
	__u64 kernel_text_end;
	__u64 period_ns; /* of the on-CPU timer */
	/* arm64: the bits of a return address that are not its signature; at most 55 bits */
	__u64 user_pc_mask;
	__u32 kernel_executable; /* number of the kernel image as an executable */
	/* the agent is woken when this many bytes wait in the ring buffer: a quarter of its size */
	__u32 ring_wakeup_bytes;
	__u32 absent_pages;     /* enum abi_absent_pages */
	__u32 switch_has_state; /* sched_switch has the state as its fourth argument (5.18) */
	/* off-cpu: the state of threads is in a hash map, because the kernel has no task storage */
	__u32 hash_threads;
	/* off-cpu: the scheduler measures run-queue time (CONFIG_SCHED_INFO) */
	__u32 has_sched_info;

	/* off-cpu */
	__u64 off_cpu_min_ns; /* shorter waits are dropped when they end */
	/*
	 * address range of the kernel's __schedule(), which is in the stack of each wait; 0: not
	 * known
	 */
	__u64 schedule_start;
	__u64 schedule_end;
};

/* Settings that the agent changes while the programs run. */
struct abi_control {
	__u64 window; /* number of the open window: each stack is sent in full once per window */
	/* the walk reports the time of open waits, not only their stacks */
	__u64 walk_reports;
	/* off-cpu: divide the time budget for capturing stacks by 2^capture_shift, at most 2^7 */
	__u64 capture_shift;
};
