/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Facts of a process that the kernel reports without taking a lock of that process: these functions
 * never hang.
 */

#include <sys/types.h>

#include "common/base.h"

/* Identifies a process uniquely, because pids are reused. */
struct process_key {
	uint64_t start_ticks; /* since boot, in 1/100 s; 0: the process has ended */
	uint64_t pid;
};

struct process_key process_key_of(pid_t pid);

/* CPU time of all its threads so far. 0: the process has ended. */
uint64_t process_cpu_ns(pid_t pid);

/*
 * Resident memory that is not backed by files, including memory that it has shared with its parent
 * since the fork.
 */
uint64_t process_anon_bytes(pid_t pid);
