/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The scheduler's accounting of each CPU: the "cpuN" lines of /proc/stat, with a resolution of 10
 * ms.
 */

#include "common/base.h"

struct cpu_times {
	/* idle and waiting for I/O; on some kernels restarts at 0 after the CPU was offline */
	uint64_t idle_ns;
	uint64_t steal_ns; /* the CPU had work, but the hypervisor ran another guest */
};

typedef void (*cpu_times_function)(void *arg, uint32_t cpu, const struct cpu_times *times);

/*
 * Calls @function for each "cpuN" line of @text. These must be its first lines. CPUs that are
 * offline have none.
 */
void cpu_times_parse(const char *text, cpu_times_function function, void *arg);

/* Calls @function for each CPU of /proc/stat. */
int cpu_times_read(cpu_times_function function, void *arg);
