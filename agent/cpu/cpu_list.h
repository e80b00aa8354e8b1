/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sets of CPUs as the kernel writes them: "0-3,8".
 */

#include "common/scoped.h"
#include "common/vec.h"

VEC_DEFINE(cpu_vec, uint32_t);

/* Appends the CPUs of @text. -EINVAL on anything else; "" and "\n" are the empty set. */
int cpu_list_parse(const char *text, struct cpu_vec *cpus);

/* Appends the CPUs that are online. */
int cpu_list_online(struct cpu_vec *cpus);

/*
 * The CPUs to sample: those of @wanted ("" means all), which are online, and of all only those that
 * nobody set aside (isolcpus, nohz_full): they are left alone unless asked for by number.
 */
int cpu_list_to_sample(const char *wanted, struct cpu_vec *cpus);
