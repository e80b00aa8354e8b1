/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which series were sampled at less than the highest frequency of their host: an agent that exceeds its budget lowers
 * the frequency. Values are right all the same, as each sample counts its period, but rest on fewer samples.
 */

#include "symbolizer/store/store.h"

/*
 * ret_reduced[n_series], in @arena: whether a series' period is longer than the shortest among @series of its host.
 * Series without a period never are. 0 or -ENOMEM.
 */
int reduced_find(const struct store_series *series, size_t n_series, struct arena *arena, bool **ret_reduced);

/* The label of a host whose agent gives something up now to keep its budget. */
#define REDUCED_LABEL "agent.reduced"

/*
 * Which hosts of @series have an agent that gives something up now: the first of them with its label, and how many
 * more. Empty without such a host. 0 or -ENOMEM.
 */
int reduced_describe_hosts(const struct store_series *series, size_t n_series, char *ret_text, size_t size);
