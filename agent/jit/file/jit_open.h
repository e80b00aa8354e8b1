/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds and opens the perf map and the jitdump of a process. Used in the helper that may wait for
 * file systems (agent/helper/finder_process.h). Reads nothing of them.
 */

#include "agent/executable/executable.h"

struct jit_source {
	uint32_t pid;
	uint32_t parent_pid;    /* 0: not known */
	uint64_t start_time_ns; /* of the process, CLOCK_BOOTTIME */
	/* the mapping of the jitdump, as in struct mapped_file; path NULL: there is none */
	uint64_t start, end;
	const char *path;
	struct reported_file reported;
};

/* Whether a file with this path is a jitdump: its name is jit-NUMBER.dump. */
bool jit_is_dump_path(const char *path);

/*
 * Opens /tmp/perf-PID.map in the root of the process, where PID is its number in its own namespace.
 * The file must be a regular file, not a symbolic link, belong to root or to the effective user of
 * the process, and have been written since the process started. If the process has ended, takes its
 * parent's root and user, or else the agent's root and files of root only. Returns the fd; -ENOENT:
 * there is no file; -EPERM: it is refused; or another negative errno.
 */
int jit_open_map(const struct jit_source *source);

/*
 * Opens the jitdump that the process has mapped, or had mapped before it ended. Returns the fd or
 * negative errno.
 */
int jit_open_dump(const struct jit_source *source);
