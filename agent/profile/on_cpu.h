/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The on-CPU timer: one CPU-clock perf event per CPU, on a fixed period, with the BPF program attached.
 */

#include "common/base.h"

struct on_cpu;

/* @program_fd is borrowed. -EPERM and the like were logged. */
int on_cpu_start(int program_fd, uint64_t period_ns, const uint32_t *cpus, size_t n_cpus, struct on_cpu **ret_on_cpu);
struct on_cpu *on_cpu_free(struct on_cpu *on_cpu);

/* No more ticks from now on; the clocks stand still and can be read. */
void on_cpu_stop(struct on_cpu *on_cpu);

/*
 * Accounting, in two steps: the clocks are read before the counters of the BPF programs are, so that a tick in between
 * is not taken for one that did not come.
 */
int on_cpu_read_clocks(struct on_cpu *on_cpu);

/* What the programs counted on one CPU. */
struct on_cpu_received {
	uint64_t idle;
	uint64_t all; /* idle ones too */
};

struct on_cpu_ticks {
	uint64_t clock; /* whole periods on the events' own clocks */
	uint64_t expected, asleep, missed; /* see tick_account.h */
};

/* @received[n_received], by CPU number, holds every CPU there may be. Sums over all CPUs that are sampled. */
void on_cpu_account(struct on_cpu *on_cpu, const struct on_cpu_received *received, size_t n_received,
		    struct on_cpu_ticks *ret_ticks);

#include "common/scoped.h"
DEFINE_SCOPED(struct on_cpu *, on_cpu_free);
