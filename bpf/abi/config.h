/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

#include "bpf/abi/absent_pages.h"
#include "bpf/abi/limits.h"

/*
 * What the agent tells the BPF programs before they are loaded; constant for the verifier
 * afterwards.
 */
struct abi_config {
	/* running address of _text; 0: kernel addresses are hidden from us */
	__u64 kernel_text_start;
	__u64 kernel_text_end;
	__u64 period_ns; /* of the on-CPU timer */
	/* arm64: bits of a return address that are not its signature; at most 55 */
	__u64 user_pc_mask;
	__u32 kernel_executable; /* number of the kernel image */
	/* wake the agent when this much waits in the ring buffer; a quarter of it */
	__u32 ring_wakeup_bytes;
	__u32 absent_pages;       /* enum abi_absent_pages */
	__u32 switch_has_state; /* sched_switch has the state as its fourth argument (5.18) */
	/* off-cpu: threads are kept in a hash map, because there is no task storage */
	__u32 hash_threads;
	/* off-cpu: the scheduler measures run-queue time (CONFIG_SCHED_INFO) */
	__u32 has_sched_info;

	/* off-cpu */
	__u64 off_cpu_min_ns; /* shorter waits are dropped when they end */
	/* __schedule() of the kernel, which each wait goes through; 0: not known */
	__u64 schedule_start;
	__u64 schedule_end;
};

/* What the agent changes while they run. */
struct abi_control {
	__u64 window; /* number of the open window: a stack goes out in full once in each */
	/* the walk reports how long open waits took so far, not only their stacks */
	__u64 walk_reports;
	/* off-cpu: halvings of the time that may be spent on stacks, 7 at most */
	__u64 capture_shift;
};
