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
