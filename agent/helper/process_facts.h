/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Facts of a process that the kernel reports without a lock that another process may hold: these
 * functions never hang.
 */

#include <sys/types.h>

#include "common/base.h"

/* Which process a pid means: pids are used again. */
struct process_key {
	uint64_t start_ticks; /* since boot, in 1/100 s; 0: the process is gone */
	uint64_t pid;
};

struct process_key process_key_of(pid_t pid);

/* CPU time of all its threads so far. 0: the process is gone. */
uint64_t process_cpu_ns(pid_t pid);

/*
 * Resident memory that is not backed by files. Memory that it shares with its parent since the fork
 * is included.
 */
uint64_t process_anon_bytes(pid_t pid);
