/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/bpf_programs/map_sizes.h"

#define RING_BYTES_PER_CPU ((uint64_t)(1 * MIB))
#define RING_MIN_BYTES     ((uint64_t)(1 * MIB))
#define RING_MAX_BYTES     ((uint64_t)(32 * MIB))

/*
 * Estimate of the host's memory for each process, including the kernel's data for the process. It
 * gives the number of processes for which the maps need entries.
 */
#define HOST_BYTES_PER_PROCESS ((uint64_t)(1 * MIB))
#define MIN_PROCESSES          8192u
#define MAX_PROCESSES          65536u

static uint64_t power_of_two_up_to(uint64_t value)
{
	return value ? UINT64_C(1) << (63 - __builtin_clzll(value)) : 0;
}

static uint64_t power_of_two_from(uint64_t value)
{
	uint64_t power = power_of_two_up_to(value);

	return power < value ? 2 * power : power;
}

static uint64_t clamp(uint64_t value, uint64_t min, uint64_t max)
{
	return MAX(min, MIN(value, max));
}

void map_sizes_choose(const struct map_sizes_wish *wish, struct map_sizes *ret_sizes)
{
	uint64_t ring_bytes = power_of_two_from(wish->n_cpus * RING_BYTES_PER_CPU);
	uint64_t ring_max_bytes = MIN(RING_MAX_BYTES, power_of_two_up_to(wish->budget_bytes / 4));
	uint64_t n_processes = power_of_two_from(wish->host_bytes / HOST_BYTES_PER_PROCESS);

	*ret_sizes = (struct map_sizes){
		.ring_bytes = wish->ring_bytes ? wish->ring_bytes
					       : clamp(ring_bytes, RING_MIN_BYTES, ring_max_bytes),
		.max_processes = wish->max_processes ? wish->max_processes
						     : (uint32_t)clamp(n_processes, MIN_PROCESSES,
								       MAX_PROCESSES),
	};
}
