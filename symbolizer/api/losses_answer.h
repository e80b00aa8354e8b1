/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Losses (symbolizer/query/losses.h) as headers and in JSON. */

#include "common/json_writer.h"
#include "symbolizer/api/api.h"
#include "symbolizer/query/losses.h"

/* The headers: X(header, value), with the value computed from `const struct losses *losses`. */
/* clang-format off */
#define LOSSES_HEADERS(X)                                                                          \
	X("X-Hearth-Samples", losses->counts.samples)                                              \
	X("X-Hearth-Ticks-Expected", losses->counts.ticks_expected)                                \
	X("X-Hearth-Lost-Ring-Full", losses->counts.ticks_ring_full)                               \
	X("X-Hearth-Lost-Other", losses->counts.ticks_failed + losses->counts.ticks_missed)        \
	X("X-Hearth-Lost-Waits", losses->counts.waits_lost)                                        \
	X("X-Hearth-Stacks-Lost", losses->counts.stacks_lost)                                      \
	X("X-Hearth-Stacks-Cut", loss_counts_cut(&losses->counts))                                 \
	X("X-Hearth-Batches-Dropped", losses->counts.batches_dropped)                              \
	X("X-Hearth-Batches-Missing", losses->n_missing)                                           \
	X("X-Hearth-Batches-Late", losses->n_late)                                                 \
	X("X-Hearth-Throttled-S", losses->counts.frequency_lowered_ns / NSEC_PER_SEC)              \
	X("X-Hearth-Gap-S", losses->gap_slots / (NSEC_PER_SEC / SLOT_NS))
/* clang-format on */

void losses_answer_headers(struct http_response *response, const struct losses *losses);

/* Writes the losses of all selected hosts as an object. */
void losses_answer(struct json_writer *json, const struct losses *losses);

/* Writes the losses of one host as an object. */
void losses_answer_host(struct json_writer *json, const struct host_losses *host);
