/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The helper that finds files of other processes: it calls stat(2) and open(2) on
 * /proc/PID/map_files and on paths in the roots of processes, for which it keeps three capabilities
 * of the agent. It reads no file.
 *
 * A file system that does not answer (NFS, FUSE) blocks it. The agent then has it killed and stops
 * using it; where not even SIGKILL ends it, it stays until the file system answers.
 */

#include <sys/types.h>

#include "common/base.h"

/* Those of the capabilities @permitted that the helper needs. */
uint64_t finder_process_capabilities(uint64_t permitted);

/*
 * Answers requests from @socket until its other end is closed. @parent: the nursery, with which it
 * ends.
 */
_Noreturn void finder_process_run(int socket, pid_t parent);
