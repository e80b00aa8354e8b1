/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds series that were sampled at less than their host's highest frequency, because an agent that
 * exceeds its budget lowers the frequency (docs/agent-budget.md). Each sample counts its period, so
 * that values stay right, but they are computed from fewer samples.
 */

#include "symbolizer/store/store_view.h"

/*
 * (*ret_reduced)[n_series], allocated in @arena: whether the period of a series is longer than the
 * shortest one of the same host in @series. Always false for series without a period. Returns 0 or
 * -ENOMEM.
 */
int reduced_sampling_find(const struct store_series *series, size_t n_series, struct arena *arena,
			  bool **ret_reduced);

/* Label of a host while its agent samples less to stay within its budget; names the reduction. */
#define REDUCED_LABEL "agent.reduced"

/*
 * Writes a sentence with the first host of @series that has this label now, the label's value, and
 * the number of further such hosts; "" if no host has it. Returns 0 or -ENOMEM.
 */
int reduced_sampling_describe_hosts(const struct store_series *series, size_t n_series,
				    char *ret_text, size_t size);
