/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The state of the fleet's agents in a time range: how long each ran, how much it lost, and the CPU
 * time it used. All of it is computed from the times and counters of batches; no sample is read.
 */

#include "symbolizer/store/store.h"

/*
 * X(field, prefix): agents' counters with names that begin with @prefix are added to @field of
 * struct fleet_counts. A field can have several rows.
 */
/* clang-format off */
#define FLEET_COUNTERS(X)                                                                          \
	X(ticks_expected, "ticks_expected_total{")                                                 \
	X(ticks_lost, "ticks_total{outcome=\"ring_full\"}")                                        \
	X(ticks_lost, "ticks_total{outcome=\"failed\"}")                                           \
	X(ticks_missed, "ticks_total{outcome=\"missed\"}")                                         \
	X(samples, "samples_total{")                                                               \
	X(stacks_cut, "stacks_cut_total{")                                                         \
	X(stacks_lost, "stacks_lost_total{")                                                       \
	X(stacks_lost, "stacks_dropped_total{")                                                    \
	X(waits_lost, "off_cpu_lost_total{")                                                       \
	X(batches_lost, "batches_dropped_total{")                                                  \
	X(agent_cpu_ns, "cpu_ns_total{")                                                           \
	X(agent_cpu_ns, "bpf_ns_total{")                                                           \
	X(agent_cpu_ns, "helpers_cpu_ns_total{")                                                   \
	X(agent_cpu_ns, "compilers_cpu_ns_total{")
/* clang-format on */

struct fleet_counts {
	uint64_t ticks_expected;
	uint64_t ticks_lost;   /* sampled, then lost between kernel and agent */
	uint64_t ticks_missed; /* not sampled */
	uint64_t samples;
	uint64_t stacks_cut;   /* samples with a truncated stack */
	uint64_t stacks_lost;  /* samples that were counted without a stack */
	uint64_t waits_lost;   /* off-CPU waits */
	uint64_t batches_lost; /* because the spool was full or the server refused the batch */
	uint64_t agent_cpu_ns; /* CPU time of the agent, its BPF programs and its helpers */
};

struct fleet_host {
	const struct store_host *host; /* its newest boot */
	uint64_t covered_slots;
	uint64_t counted_ns; /* time covered by the newest batches, which are summed in @counts */
	struct fleet_counts counts;
};

struct fleet {
	struct fleet_host *hosts; /* [count] hosts with an agent that ran in the range, by name */
	size_t count;
	size_t n_not_seen;      /* the tenant's other hosts */
	uint64_t covered_slots; /* slots in which at least one agent ran */
};

/*
 * Lists the hosts of a tenant in [from_slot, to_slot), allocated in @arena. The store has one host
 * for each boot; boots with the same host name are joined here. Returns 0, -E2BIG if the range has
 * too many batches, or another negative errno.
 */
int fleet_list(struct store *store, const char *tenant, uint64_t from_slot, uint64_t to_slot,
	       struct arena *arena, struct fleet *ret_fleet);
