/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The state of the fleet's agents in a time range: how long each ran, what it lost, and what
 * it cost its host. All of it comes from the batches' times and counters, no sample is read.
 */

#include "symbolizer/store/store.h"

/*
 * What the counters of agents are summed to: X(field, prefix of the counter's name on the wire). A
 * field that stands in several rows is the sum of them.
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
	uint64_t ticks_lost;   /* taken, and lost between kernel and agent */
	uint64_t ticks_missed; /* not taken */
	uint64_t samples;
	uint64_t stacks_cut;   /* of the samples: whose stack ended early */
	uint64_t stacks_lost;  /* of the samples: counted without a stack */
	uint64_t waits_lost;   /* off-CPU waits */
	uint64_t batches_lost; /* the spool was full, or the server refused them */
	uint64_t agent_cpu_ns; /* of the agent, its BPF programs and its helpers */
};

struct fleet_host {
	const struct store_host *host; /* its newest boot */
	uint64_t covered_slots;
	uint64_t counted_ns; /* covered by the newest batches, of which @counts are the sums */
	struct fleet_counts counts;
};

struct fleet {
	struct fleet_host *hosts; /* [count] whose agent ran in the range, by name */
	size_t count;
	size_t n_not_seen;      /* other hosts of the tenant */
	uint64_t covered_slots; /* in which at least one agent ran */
};

/*
 * The hosts of a tenant in [from_slot, to_slot), in @arena. The store knows each boot as a host:
 * those of one name are one here. 0, -E2BIG: the range has too many batches, or negative errno.
 */
int fleet_list(struct store *store, const char *tenant, uint64_t from_slot, uint64_t to_slot,
	       struct arena *arena, struct fleet *ret_fleet);
