/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The on-CPU timers: one CPU-clock perf event per CPU with a fixed period, to which the BPF program
 * is attached.
 *
 * When a CPU goes offline the kernel ends its events and does not restart them. cpu_timers_follow()
 * opens a new event on a CPU that is online again. The time in between, in which the CPU may have
 * run programs without being sampled, is counted.
 */

#include "common/base.h"

struct cpu_timers;

/* Ticks that the BPF programs counted on one CPU since they were loaded. */
struct cpu_timers_received {
	uint64_t idle;
	uint64_t all; /* including idle ticks */
};

/*
 * Whether a timer of this frequency can stay in step with the timer tick of the kernel, at which
 * the scheduler preempts: one frequency is a multiple of the other. Each sample is then taken at
 * the same distance from a tick, and programs that start or end at a tick are over- or
 * under-counted.
 */
bool cpu_timers_in_step(uint64_t frequency_hz);

/* @program_fd is borrowed. No timer runs until cpu_timers_follow(). */
int cpu_timers_new(int program_fd, uint64_t period_ns, struct cpu_timers **ret_timers);
struct cpu_timers *cpu_timers_free(struct cpu_timers *timers);

/* One observation of the host's CPUs. */
struct cpu_timers_look {
	uint64_t now_ns;      /* CLOCK_MONOTONIC at the beginning of the observation */
	const uint32_t *cpus; /* [n_cpus]: online and to be sampled */
	size_t n_cpus;
	/* [n_received], indexed by CPU number: every possible CPU */
	const struct cpu_timers_received *received;
	size_t n_received;
};

/*
 * Ends the timers of CPUs that are not in @look or were passed to cpu_timers_suspect(), and starts
 * one on each CPU of @look that has none. Returns the number of started timers, or the negative
 * errno of the first that could not be started (logged). The others are started nevertheless.
 */
int cpu_timers_follow(struct cpu_timers *timers, const struct cpu_timers_look *look);

/* At @now_ns the same CPUs were online as at the last look. */
void cpu_timers_unchanged(struct cpu_timers *timers, uint64_t now_ns);

/*
 * This CPU was offline since the last look, so its event no longer works, even if the CPU is online
 * again.
 */
void cpu_timers_suspect(struct cpu_timers *timers, uint32_t cpu);

/*
 * Returns true once after a clock stood still: its CPU was offline without an announcement. The
 * caller then calls cpu_timers_follow().
 */
bool cpu_timers_found_dead(struct cpu_timers *timers);

/*
 * To change the period, call cpu_timers_pause(), which stops all timers; then read the ring buffer,
 * in which all ticks still have the old period; then call cpu_timers_change_period(), which closes
 * the accounts of all timers and starts them with the new period. It returns the same as
 * cpu_timers_follow().
 */
void cpu_timers_pause(struct cpu_timers *timers);
int cpu_timers_change_period(struct cpu_timers *timers, uint64_t period_ns,
			     const struct cpu_timers_look *look);

/* Ends all ticks. The clocks stand still and can be read. */
void cpu_timers_stop(struct cpu_timers *timers);

size_t cpu_timers_count(const struct cpu_timers *timers); /* number of running timers */

/*
 * Accounting has two steps: read the clocks first and the counters of the BPF programs afterwards.
 * Otherwise a tick between the two readings would count as missing.
 */
void cpu_timers_read_clocks(struct cpu_timers *timers);

/* Sums over all CPUs that are or were sampled. */
struct cpu_timers_ticks {
	uint64_t clock;                            /* whole periods of the events' own clocks */
	uint64_t expected, asleep, stolen, missed; /* see tick_account.h */
	/* stolen time of sampled CPUs as accounted by the scheduler */
	uint64_t steal_ns;
	/* upper bound of the time in which CPUs were online without a timer */
	uint64_t uncovered_ns;
};

/* @received[n_received] is indexed by CPU number and holds every possible CPU. */
void cpu_timers_account(struct cpu_timers *timers, const struct cpu_timers_received *received,
			size_t n_received, struct cpu_timers_ticks *ret_ticks);

#include "common/scoped.h"
DEFINE_SCOPED(struct cpu_timers *, cpu_timers_free);
