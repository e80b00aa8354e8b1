/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The helper that finds and opens files of other processes. It calls stat(2) and open(2) on
 * /proc/PID/map_files and on paths in the roots of processes, and keeps three capabilities of the
 * agent for that. It reads no file content.
 *
 * A file system that does not answer (NFS, FUSE) blocks it. Then the agent kills and replaces it.
 * If even SIGKILL does not end it, the process stays until the file system answers.
 */

#include <sys/types.h>

#include "common/base.h"

/* The subset of @permitted that the helper needs. */
uint64_t finder_process_capabilities(uint64_t permitted);

/*
 * Answers requests from @socket until its other end is closed. @parent: the nursery; the helper
 * ends when the nursery does.
 */
_Noreturn void finder_process_run(int socket, pid_t parent);
