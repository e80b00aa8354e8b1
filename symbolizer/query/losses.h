/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the agents of some hosts lost in a time range, and when none ran. It is computed from the
 * times and counters of batches; no sample is read. Counters belong to hosts, not to services: a
 * lost sample may be of any process of its host.
 *
 * A batch is counted if it overlaps the range, because a loss in it may have happened in the range.
 */

#include "symbolizer/store/store_view.h"

/*
 * X(field, name): the counters of agents with names that begin with @name are added to @field of
 * struct loss_counts. A field can have several rows.
 */
/* clang-format off */
#define LOSS_COUNTERS(X)                                                                           \
	X(ticks_expected, "ticks_expected_total{")                                                 \
	X(ticks_sampled, "ticks_total{outcome=\"sampled\"}")                                       \
	X(ticks_ring_full, "ticks_total{outcome=\"ring_full\"}")                                   \
	X(ticks_failed, "ticks_total{outcome=\"failed\"}")                                         \
	X(ticks_missed, "ticks_total{outcome=\"missed\"}")                                         \
	X(samples, "samples_total{")                                                               \
	X(samples_unknown_process, "unknown_process_total{")                                       \
	X(stacks_lost, "stacks_lost_total{")                                                       \
	X(stacks_lost, "stacks_dropped_total{")                                                    \
	X(waits_sampled, "off_cpu_waits_total{stack=\"taken\"}")                                   \
	X(waits_lost, "off_cpu_lost_total{")                                                       \
	X(waits_lost_ns, "off_cpu_lost_ns_total{")                                                 \
	X(batches_dropped, "batches_dropped_total{")                                               \
	X(process_events_lost, "process_events_lost_total{")                                       \
	X(cpu_uncovered_ns, "cpu_uncovered_ns_total{")                                             \
	X(frequency_lowered_ns, "budget_reduced_ns_total{measure=\"frequency\"}")                  \
	X(waits_thinned_ns, "budget_reduced_ns_total{measure=\"off-cpu\"}")                        \
	X(unwind_reduced_ns, "budget_reduced_ns_total{measure=\"unwind\"}")                        \
	X(budget_steps, "budget_changes_total{direction=\"tightened\"}")                           \
	X(counters_left_out, STORE_COUNTERS_LEFT_OUT)                                              \
	X(agent_cpu_ns, "cpu_ns_total{")                                                           \
	X(agent_cpu_ns, "bpf_ns_total{")                                                           \
	X(agent_cpu_ns, "helpers_cpu_ns_total{")                                                   \
	X(agent_cpu_ns, "compilers_cpu_ns_total{")
/* clang-format on */

/* docs/http-api.md describes the fields. */
struct loss_counts {
	uint64_t ticks_expected, ticks_sampled;
	uint64_t ticks_ring_full; /* lost between kernel and agent */
	uint64_t ticks_failed;
	uint64_t ticks_missed;
	uint64_t samples;
	uint64_t samples_unknown_process;
	uint64_t stacks_lost; /* samples that were counted without a stack */
	uint64_t waits_sampled, waits_lost, waits_lost_ns; /* off-CPU */
	uint64_t batches_dropped; /* the spool was full, or the server refused the batch */
	uint64_t process_events_lost;
	uint64_t cpu_uncovered_ns;
	uint64_t frequency_lowered_ns, waits_thinned_ns, unwind_reduced_ns;
	uint64_t budget_steps;
	uint64_t counters_left_out;
	uint64_t agent_cpu_ns; /* of the agent, its BPF programs and its helpers */
	/* Samples with a truncated stack, by enum stack_cut; [0]: reasons of later versions. */
	uint64_t stacks_cut[STACK_CUT_END];
};

/* Samples with a truncated stack, for all reasons. */
uint64_t loss_counts_cut(const struct loss_counts *counts);

/* Time of a host in which no agent ran: between batches, or before the first or after the last one.
 * [first, end), in slots */
struct loss_gap {
	char host[64];
	uint64_t first_slot, end_slot;
	bool at_end; /* no batch has arrived since: the agent stopped, or its batches are delayed */
};

/* All boots of one host, with the same name. */
struct loss_machine {
	const struct store_host *host; /* its newest boot */
	const uint32_t *boots;         /* [n_boots] store IDs of hosts */
	size_t n_boots;
	uint64_t first_seen_ns; /* wall, of all boots */
};

struct host_losses {
	struct loss_machine machine;
	uint64_t covered_slots, gap_slots, n_gaps;
	struct loss_counts counts;
	uint64_t counted_ns; /* duration of the counted batches */
	uint64_t n_batches;
	uint64_t n_late;    /* stored a minute or more after they were closed */
	uint64_t n_missing; /* numbers of batches between the stored ones */
	uint64_t longest_batch_ns;
	/* From the opening of the first to the closing of the last batch with ticks lost in the
	 * ring buffer, by the host's clock; 0: there is none. */
	uint64_t ring_full_since_ns, ring_full_until_ns;
	/* The least time from the closing of a batch until it was stored; INT64_MAX: unknown. */
	int64_t least_delay_ms;
};

#define LOSSES_MAX_GAPS  8
#define LOSSES_NAME_SIZE 64

/* The losses of several hosts. It has no pointers. */
struct losses {
	struct loss_counts counts;
	uint64_t n_hosts, n_batches, n_late, n_missing;
	uint64_t counted_ns;    /* sum over hosts */
	uint64_t covered_slots; /* slots in which the agent of at least one host ran */
	uint64_t gap_slots;     /* sum over hosts */
	uint64_t n_gaps;
	struct loss_gap gaps[LOSSES_MAX_GAPS]; /* the largest, the largest first */
	size_t n_listed_gaps;
};

/* @now_ns is the server's wall clock. */
struct losses_range {
	uint64_t from_slot, to_slot; /* [from_slot, to_slot) */
	uint64_t now_ns;
};

/* Joins hosts with the same name. Sorts @hosts by name, the newest boot first. */
int losses_machines(struct store_host *hosts, size_t count, struct arena *arena,
		    struct loss_machine **ret_machines, size_t *ret_count);

/*
 * Reads the losses of @machines into (*ret_hosts)[count], allocated in @arena, and their sums into
 * *ret_losses. Returns 0, -E2BIG if the range has more batches than COVERAGE_MAX_BATCHES, or
 * another negative errno of the store.
 */
int losses_read(struct store_view *view, const struct losses_range *range,
		const struct loss_machine *machines, size_t count, struct arena *arena,
		struct host_losses **ret_hosts, struct losses *ret_losses);

/*
 * Does the same for the hosts of @series. A range with too many batches has no coverage and no
 * gaps. *ret_hosts has ret_losses->n_hosts entries.
 */
int losses_of_series(struct store_view *view, const struct losses_range *range,
		     const struct store_series *series, size_t n_series, struct arena *arena,
		     struct host_losses **ret_hosts, struct losses *ret_losses);

/*
 * Returns the host's clock minus the server's, in milliseconds, to within the time that sending
 * takes.
 */
int64_t losses_clock_offset_ms(const struct host_losses *host);
