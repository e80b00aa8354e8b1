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

/* Periods that passed on all events' own clocks: what the kernel says, beside what the programs counted. */
int on_cpu_expected_ticks(const struct on_cpu *on_cpu, uint64_t *ret_ticks);

/*
 * Time that the CPUs spent idle since the start, by the scheduler's account (/proc/stat: idle and iowait). Some CPUs
 * sleep through their timers: these periods are no loss.
 */
int on_cpu_idle_ns(const struct on_cpu *on_cpu, uint64_t *ret_idle_ns);

#include "common/scoped.h"
DEFINE_SCOPED(struct on_cpu *, on_cpu_free);
