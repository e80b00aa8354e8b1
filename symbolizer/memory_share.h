/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory that this process may use: that of the host, or less if a cgroup limits it.
 */

#include "common/base.h"

/*
 * Returns the smallest of the host's memory and the limits of the cgroup v2 @cgroup ("/a/b") and
 * its parents below @root ("/sys/fs/cgroup"). Limits that cannot be read count as none.
 */
uint64_t memory_available_bytes(const char *root, const char *cgroup);

/* memory_available_bytes() of this process. */
uint64_t memory_of_process_bytes(void);
