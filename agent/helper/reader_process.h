/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The helper that reads /proc/PID/maps and /proc/PID/cmdline, for which the kernel takes the lock
 * of the process's mappings. Whoever holds that lock may wait for a file system, and then so does
 * the reader, until it is killed. It also reads pages of processes' memory, to have them resident.
 * Where they lie in a file system that does not answer, not even SIGKILL ends it.
 */

#include <sys/types.h>

#include "common/base.h"

/* The capabilities of @permitted that it needs. */
uint64_t reader_process_capabilities(uint64_t permitted);

/* Serves @socket until it is closed. @name: of the process. */
_Noreturn void reader_process_run(int socket, pid_t parent, const char *name);
