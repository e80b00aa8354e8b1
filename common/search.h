/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Binary search.
 *
 *   lower_bound(at, n, starts[at] < address)    the first start that is not below the address
 *   lower_bound(at, n, starts[at] <= address)   the first start above it; the one before is the
 *                                               last start at or below it, if there is one
 */

#include <stddef.h>

/*
 * The index of the first of @count items for which @is_before is false, or @count. @is_before is an
 * expression of the variable @at, an index, and must not be true again after it was false.
 */
#define lower_bound(at, count, is_before)                                                          \
	({                                                                                         \
		size_t search_low_ = 0, search_high_ = (count);                                    \
		while (search_low_ < search_high_) {                                               \
			const size_t at = search_low_ + (search_high_ - search_low_) / 2;          \
			if (is_before)                                                             \
				search_low_ = at + 1;                                              \
			else                                                                       \
				search_high_ = at;                                                 \
		}                                                                                  \
		search_low_;                                                                       \
	})
