/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sets of CPUs in the kernel's notation: "0-3,8".
 */

#include "common/scoped.h"
#include "common/vec.h"

VEC_DEFINE(cpu_vec, uint32_t);

/* Appends the CPUs of @text. -EINVAL if it is malformed; "" and "\n" are the empty set. */
int cpu_list_parse(const char *text, struct cpu_vec *cpus);

/* Appends the CPUs that are online. */
int cpu_list_online(struct cpu_vec *cpus);

/*
 * Appends the CPUs that are to be sampled. If @wanted is "", these are all online CPUs except those
 * that the administrator isolated (isolcpus, nohz_full); else the online CPUs of @wanted, isolated
 * or not.
 */
int cpu_list_to_sample(const char *wanted, struct cpu_vec *cpus);
