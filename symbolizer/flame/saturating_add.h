/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sums of values: UINT64_MAX instead of a sum that does not fit. */

#include <stdint.h>

static inline uint64_t saturating_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
