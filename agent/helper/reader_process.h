/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The helper that reads /proc/PID/maps and /proc/PID/cmdline. For these the kernel takes the lock
 * of the process's mappings. If the holder of that lock waits for a file system, the helper waits
 * too, until it is killed. The helper also reads pages of other processes' memory to make them
 * resident. If such a page is in a file system that does not answer, even SIGKILL does not end the
 * helper.
 */

#include <sys/types.h>

#include "common/base.h"

/* The subset of @permitted that the helper needs. */
uint64_t reader_process_capabilities(uint64_t permitted);

/* Answers requests from @socket until it is closed. @name: process name. */
_Noreturn void reader_process_run(int socket, pid_t parent, const char *name);
