/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Labels by cgroups: what /proc/PID/cgroup says is the same for all processes of the same cgroups
 * (abi_sample.cgroups), so that it is not read for each of the short processes of a build. Used by
 * the agent's main thread.
 */

#include "agent/process/process_table.h"

struct cgroup_cache;

int cgroup_cache_new(struct cgroup_cache **ret_cache);
struct cgroup_cache *cgroup_cache_free(struct cgroup_cache *cache);

/* Forgets all, as when the strings move. */
void cgroup_cache_clear(struct cgroup_cache *cache);

/* The labels of @process are those of process->cgroups. */
void cgroup_cache_add(struct cgroup_cache *cache, const struct process *process);

/* Gives @process the labels of process->cgroups. 1; 0: they are not known. */
int cgroup_cache_find(struct cgroup_cache *cache, struct process *process);
