/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Chooses the sizes of the buffers between kernel and agent by the number of CPUs and the memory of
 * the host, so that a small host does not pay for a large one. The sizes are fixed when the
 * programs are loaded.
 */

#include "common/base.h"

struct map_sizes {
	uint64_t ring_bytes; /* ring buffer of samples: a power of two */
	/*
	 * ceiling of the hash maps of processes and their mappings; each entry takes 48 bytes at
	 * once
	 */
	uint32_t max_processes;
};

struct map_sizes_wish {
	size_t n_cpus;          /* online */
	uint64_t host_bytes;    /* memory of the host */
	uint64_t budget_bytes;  /* budget.memory */
	uint64_t ring_bytes;    /* configured; 0: derived from the number of CPUs */
	uint32_t max_processes; /* configured; 0: derived from the memory */
};

/*
 * The ring buffer gets 1 MiB for each CPU, which is 29 copied stacks or some 3000 samples; one
 * second produces far fewer of either. It has at least 1 MiB, and at most 32 MiB and a quarter of
 * the budget.
 */
void map_sizes_choose(const struct map_sizes_wish *wish, struct map_sizes *ret_sizes);
