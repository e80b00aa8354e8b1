/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The on-CPU timers: one CPU-clock perf event per CPU, on a fixed period, with the BPF program
 * attached.
 *
 * The kernel ends a CPU's events when the CPU goes offline, and does not bring them back.
 * on_cpu_follow() opens a new event on a CPU that came back; the time in between, in which the CPU
 * may have run programs unseen, is counted.
 */

#include "common/base.h"

struct on_cpu;

/* What the programs counted on one CPU since they were loaded. */
struct on_cpu_received {
	uint64_t idle;
	uint64_t all; /* idle ones too */
};

/* @program_fd is borrowed. No timer runs yet. */
int on_cpu_new(int program_fd, uint64_t period_ns, struct on_cpu **ret_on_cpu);
struct on_cpu *on_cpu_free(struct on_cpu *on_cpu);

/* The CPUs by a look at the host. */
struct on_cpu_look {
	uint64_t now_ns;      /* CLOCK_MONOTONIC, when it began */
	const uint32_t *cpus; /* [n_cpus]: online, and to be sampled */
	size_t n_cpus;
	/* [n_received], by CPU number: every CPU there may be */
	const struct on_cpu_received *received;
	size_t n_received;
};

/*
 * Ends the timers of CPUs that are not in @look, and of those given to on_cpu_suspect(); starts one
 * on each CPU of @look that has none. How many were started, or the negative errno of the first
 * that could not be (-EPERM and the like were logged); the others are started all the same.
 */
int on_cpu_follow(struct on_cpu *on_cpu, const struct on_cpu_look *look);

/* By a look that began at @now_ns the same CPUs are online as by the last one. */
void on_cpu_unchanged(struct on_cpu *on_cpu, uint64_t now_ns);

/* This CPU was offline since the last look: its event is dead, whether the CPU is back or not. */
void on_cpu_suspect(struct on_cpu *on_cpu, uint32_t cpu);

/*
 * True once after a clock stood still: its CPU was offline and nobody said so. on_cpu_follow() is
 * due.
 */
bool on_cpu_found_dead(struct on_cpu *on_cpu);

/*
 * To change the period: on_cpu_pause() stops all timers; then the caller reads the ring buffer, in
 * which all ticks still have the old period; then on_cpu_change_period() closes the accounts of all
 * timers and starts them with the new period. It returns what on_cpu_follow() returns.
 */
void on_cpu_pause(struct on_cpu *on_cpu);
int on_cpu_change_period(struct on_cpu *on_cpu, uint64_t period_ns, const struct on_cpu_look *look);

/* No more ticks from now on; the clocks stand still and can be read. */
void on_cpu_stop(struct on_cpu *on_cpu);

size_t on_cpu_count(const struct on_cpu *on_cpu); /* timers that run */

/*
 * Accounting, in two steps: the clocks are read before the counters of the BPF programs are, so
 * that a tick in between is not taken for one that did not come.
 */
void on_cpu_read_clocks(struct on_cpu *on_cpu);

/* Sums over all CPUs that are or were sampled. */
struct on_cpu_ticks {
	uint64_t clock;                            /* whole periods on the events' own clocks */
	uint64_t expected, asleep, stolen, missed; /* see tick_account.h */
	/* stolen time of sampled CPUs, by the scheduler's account */
	uint64_t steal_ns;
	uint64_t uncovered_ns; /* for which CPUs may at most have been online without a timer */
};

/* @received[n_received], by CPU number, holds every CPU there may be. */
void on_cpu_account(struct on_cpu *on_cpu, const struct on_cpu_received *received,
		    size_t n_received, struct on_cpu_ticks *ret_ticks);

#include "common/scoped.h"
DEFINE_SCOPED(struct on_cpu *, on_cpu_free);
