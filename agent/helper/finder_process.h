/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The helper that looks at files of other processes: stat and open through /proc/PID/map_files and the roots of
 * processes. It needs the agent's capabilities for that, and reads no file. A file system that does not answer keeps it
 * from answering; the agent then has it killed, and forgets it if that does not help.
 */

#include <sys/types.h>

#include "common/base.h"

/* The capabilities of @permitted that it needs. */
uint64_t finder_process_capabilities(uint64_t permitted);

/* Serves @socket until it is closed. */
_Noreturn void finder_process_run(int socket, pid_t parent);
