/* SPDX-License-Identifier: Apache-2.0 */

#include "symbolizer/api/losses_answer.h"

#include <inttypes.h>

#include "common/limits.h"
#include "symbolizer/query/coverage.h"

#define SLOTS_PER_SECOND (NSEC_PER_SEC / SLOT_NS)

/* X(key, value): the members of "losses" that are sums of agents' counters. */
/* clang-format off */
#define COUNT_MEMBERS(X)                                                                           \
	X("samples", counts->samples)                                                              \
	X("samples_of_unknown_processes", counts->samples_unknown_process)                         \
	X("ticks_expected", counts->ticks_expected)                                                \
	X("ticks_sampled", counts->ticks_sampled)                                                  \
	X("ticks_lost_ring_full", counts->ticks_ring_full)                                         \
	X("ticks_lost_failed", counts->ticks_failed)                                               \
	X("ticks_missed", counts->ticks_missed)                                                    \
	X("waits_sampled", counts->waits_sampled)                                                  \
	X("waits_lost", counts->waits_lost)                                                        \
	X("waits_lost_us", counts->waits_lost_ns / NSEC_PER_USEC)                                  \
	X("stacks_lost", counts->stacks_lost)                                                      \
	X("stacks_cut", loss_counts_cut(counts))                                                   \
	X("batches_dropped", counts->batches_dropped)                                              \
	X("process_events_lost", counts->process_events_lost)                                      \
	X("cpus_uncovered_us", counts->cpu_uncovered_ns / NSEC_PER_USEC)                           \
	X("frequency_lowered_s", counts->frequency_lowered_ns / NSEC_PER_SEC)                      \
	X("waits_thinned_s", counts->waits_thinned_ns / NSEC_PER_SEC)                              \
	X("unwind_reduced_s", counts->unwind_reduced_ns / NSEC_PER_SEC)                            \
	X("budget_steps", counts->budget_steps)                                                    \
	X("counters_left_out", counts->counters_left_out)                                          \
	X("agent_cpu", counts->agent_cpu_ns / NSEC_PER_USEC)
/* clang-format on */

void losses_answer_headers(struct http_response *response, const struct losses *losses)
{
#define X(header, value) http_response_header(response, header, "%" PRIu64, (uint64_t)(value));
	LOSSES_HEADERS(X)
#undef X
}

static void write_counts(struct json_writer *json, const struct loss_counts *counts)
{
#define X(key, value) json_key_uint(json, key, value);
	COUNT_MEMBERS(X)
#undef X
	json_key(json, "stacks_cut_by_reason");
	json_object_begin(json);
	for (unsigned int i = 0; i < STACK_CUT_END; i++)
		if (counts->stacks_cut[i] > 0)
			json_key_uint(json, i == STACK_CUT_NONE ? "unknown" : stack_cut_name(i),
				      counts->stacks_cut[i]);
	json_object_end(json);
}

void losses_answer(struct json_writer *json, const struct losses *losses)
{
	json_object_begin(json);
	json_key_uint(json, "hosts", losses->n_hosts);
	json_key_uint(json, "batches", losses->n_batches);
	json_key_uint(json, "batches_late", losses->n_late);
	json_key_uint(json, "batches_missing", losses->n_missing);
	json_key_uint(json, "counted_s", coverage_seconds(losses->counted_ns / SLOT_NS));
	write_counts(json, &losses->counts);
	json_key_uint(json, "gap_s", losses->gap_slots / SLOTS_PER_SECOND);
	json_key_uint(json, "gap_count", losses->n_gaps);
	json_key(json, "gaps");
	json_array_begin(json);
	for (size_t i = 0; i < losses->n_listed_gaps; i++) {
		json_object_begin(json);
		json_key_text(json, "host", losses->gaps[i].host);
		json_key_uint(json, "since", losses->gaps[i].first_slot / SLOTS_PER_SECOND);
		json_key_uint(json, "until", losses->gaps[i].end_slot / SLOTS_PER_SECOND);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

void losses_answer_host(struct json_writer *json, const struct host_losses *host)
{
	json_object_begin(json);
	json_key_uint(json, "batches", host->n_batches);
	json_key_uint(json, "batches_late", host->n_late);
	json_key_uint(json, "batches_missing", host->n_missing);
	write_counts(json, &host->counts);
	json_key_uint(json, "gap_s", host->gap_slots / SLOTS_PER_SECOND);
	json_key_uint(json, "gap_count", host->n_gaps);
	json_object_end(json);
}
