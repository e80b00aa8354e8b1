/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How large the buffers between kernel and agent are made: by the number of CPUs and the memory of
 * the host, so that a small host does not pay for a large one. All are made once, before the
 * programs are loaded.
 */

#include "common/base.h"

struct map_sizes {
	uint64_t ring_bytes; /* of samples: a power of two */
	/* ceiling of the hash maps of processes and their mappings; 48 bytes each at once */
	uint32_t max_processes;
};

struct map_sizes_wish {
	size_t n_cpus;          /* online */
	uint64_t host_bytes;    /* of memory */
	uint64_t budget_bytes;  /* budget.memory */
	uint64_t ring_bytes;    /* as configured; 0: by the CPUs */
	uint32_t max_processes; /* as configured; 0: by the memory */
};

/*
 * The ring: 1 MiB for each CPU, which is 29 copied stacks or some 3000 samples: a second of each is
 * far less. At least 1 MiB, at most 32 MiB and a quarter of the budget.
 */
void map_sizes_choose(const struct map_sizes_wish *wish, struct map_sizes *ret_sizes);
