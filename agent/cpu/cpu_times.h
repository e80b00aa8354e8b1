/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the scheduler accounts to each CPU: the "cpuN" lines of /proc/stat, whose resolution is 10
 * ms.
 */

#include "common/base.h"

struct cpu_times {
	/* idle and waiting for I/O; begins anew on some kernels when the CPU was offline */
	uint64_t idle_ns;
	uint64_t steal_ns; /* the hypervisor ran somebody else while the CPU had something to do */
};

typedef void (*cpu_times_function)(void *arg, uint32_t cpu, const struct cpu_times *times);

/*
 * Calls @function for each "cpuN" line of @text, which begins with them; CPUs that are offline have
 * none.
 */
void cpu_times_parse(const char *text, cpu_times_function function, void *arg);

/* The same of /proc/stat. */
int cpu_times_read(cpu_times_function function, void *arg);
