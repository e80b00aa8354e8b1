/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The on-CPU timers: one CPU-clock perf event per CPU with a fixed period, to which the BPF program
 * is attached.
 *
 * When a CPU goes offline the kernel ends its events and does not restart them. on_cpu_follow()
 * opens a new event on a CPU that is online again. The time in between, in which the CPU may have
 * run programs without being sampled, is counted.
 */

#include "common/base.h"

struct on_cpu;

/* Ticks that the BPF programs counted on one CPU since they were loaded. */
struct on_cpu_received {
	uint64_t idle;
	uint64_t all; /* including idle ticks */
};

/* @program_fd is borrowed. No timer runs until on_cpu_follow(). */
int on_cpu_new(int program_fd, uint64_t period_ns, struct on_cpu **ret_on_cpu);
struct on_cpu *on_cpu_free(struct on_cpu *on_cpu);

/* One observation of the host's CPUs. */
struct on_cpu_look {
	uint64_t now_ns;      /* CLOCK_MONOTONIC at the beginning of the observation */
	const uint32_t *cpus; /* [n_cpus]: online and to be sampled */
	size_t n_cpus;
	/* [n_received], indexed by CPU number: every possible CPU */
	const struct on_cpu_received *received;
	size_t n_received;
};

/*
 * Ends the timers of CPUs that are not in @look or were passed to on_cpu_suspect(), and starts one
 * on each CPU of @look that has none. Returns the number of started timers, or the negative errno
 * of the first that could not be started (logged). The others are started nevertheless.
 */
int on_cpu_follow(struct on_cpu *on_cpu, const struct on_cpu_look *look);

/* At @now_ns the same CPUs were online as at the last look. */
void on_cpu_unchanged(struct on_cpu *on_cpu, uint64_t now_ns);

/*
 * This CPU was offline since the last look, so its event no longer works, even if the CPU is online
 * again.
 */
void on_cpu_suspect(struct on_cpu *on_cpu, uint32_t cpu);

/*
 * Returns true once after a clock stood still: its CPU was offline without an announcement. The
 * caller then calls on_cpu_follow().
 */
bool on_cpu_found_dead(struct on_cpu *on_cpu);

/*
 * To change the period, call on_cpu_pause(), which stops all timers; then read the ring buffer, in
 * which all ticks still have the old period; then call on_cpu_change_period(), which closes the
 * accounts of all timers and starts them with the new period. It returns the same as
 * on_cpu_follow().
 */
void on_cpu_pause(struct on_cpu *on_cpu);
int on_cpu_change_period(struct on_cpu *on_cpu, uint64_t period_ns, const struct on_cpu_look *look);

/* Ends all ticks. The clocks stand still and can be read. */
void on_cpu_stop(struct on_cpu *on_cpu);

size_t on_cpu_count(const struct on_cpu *on_cpu); /* number of running timers */

/*
 * Accounting has two steps: read the clocks first and the counters of the BPF programs afterwards.
 * Otherwise a tick between the two readings would count as missing.
 */
void on_cpu_read_clocks(struct on_cpu *on_cpu);

/* Sums over all CPUs that are or were sampled. */
struct on_cpu_ticks {
	uint64_t clock;                            /* whole periods of the events' own clocks */
	uint64_t expected, asleep, stolen, missed; /* see tick_account.h */
	/* stolen time of sampled CPUs as accounted by the scheduler */
	uint64_t steal_ns;
	/* upper bound of the time in which CPUs were online without a timer */
	uint64_t uncovered_ns;
};

/* @received[n_received] is indexed by CPU number and holds every possible CPU. */
void on_cpu_account(struct on_cpu *on_cpu, const struct on_cpu_received *received,
		    size_t n_received, struct on_cpu_ticks *ret_ticks);

#include "common/scoped.h"
DEFINE_SCOPED(struct on_cpu *, on_cpu_free);
