/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) OR Apache-2.0 */
#pragma once

/*
 * Decides for which waits the BPF program captures the stack, within a time budget per CPU, and
 * reports the time of the other waits together with those that have a stack (off_cpu.bpf.c).
 */

#include "bpf/include/off_cpu.bpf.h"

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
 * Bounds of the interval between two captures at one site of one thread. An interval below the
 * minimum would skip hardly any wait.
 */
#define MIN_INTERVAL_NS 100000ULL
#define MAX_INTERVAL_NS 10000000000ULL

/* The gap that is assumed for a site without an earlier wait, and the longest gap that counts. */
#define RARE_GAP_NS 10000000000ULL

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

struct capture_budget {
	__u64 slice_start_ns;
	__u64 spent_ns;    /* since slice_start_ns */
	__u64 interval_ns; /* between two captures of one thread's site */
};

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
		interval_ns = 0; /* the CPU had no context switches for a while */
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
	_Static_assert(N_WAIT_CLASSES == 4, "all classes are checked");
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

static __always_inline void skip_wait(struct thread_waits *waits, __u64 duration_ns)
{
	__u8 class = wait_class(duration_ns);

	if (waits->site < N_WAIT_SITES) {
		waits->sites[waits->site].others_ns[class] += duration_ns;
		waits->sites[waits->site].n_others[class]++;
	}
}

/*
 * Sums the time of the waits without a stack: those of this length class, or with @all those of all
 * classes. @all is set when no wait of the same class had a stack for FLUSH_NS.
 */
static __always_inline void sum_others(struct wait_site *site, __u8 class, bool all,
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
	return now_ns - site->reported_ns > FLUSH_NS;
}

/* Adds the time of the site's waits without a stack to this wait, which has one. */
static __always_inline void add_others(struct sample *sample, const struct thread_waits *waits,
				       struct wait_site *site, __u8 class)
{
	struct abi_wait *wait = (struct abi_wait *)sample->frames;
	__u32 capture_us = waits->capture_ns / 1000;

	sum_others(site, class, is_flush_due(site, sample->header.time_ns), wait);
	if (waits->weight_shift == 0 && wait->others_ns == 0)
		return;
	sample->header.flags |= ABI_SAMPLE_WITH_WAIT;
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
