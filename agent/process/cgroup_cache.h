/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A cache of labels by cgroups, without those of Pods. All processes in the same cgroups
 * (abi_sample.cgroups) have the same labels, so /proc/PID/cgroup need not be read for each of the
 * short-lived processes of a build. Used by the agent's main thread.
 */

#include "agent/process/process_table.h"

struct cgroup_cache;

int cgroup_cache_new(struct cgroup_cache **ret_cache);
struct cgroup_cache *cgroup_cache_free(struct cgroup_cache *cache);

/* Removes all entries. To be called when string IDs have changed. */
void cgroup_cache_clear(struct cgroup_cache *cache);

/* Stores the labels of @process for process->cgroups. */
void cgroup_cache_add(struct cgroup_cache *cache, const struct process *process);

/* Gives @process the labels of process->cgroups. 1; or 0: they are not known. */
int cgroup_cache_find(struct cgroup_cache *cache, struct process *process);
