/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capacity grows by half: each item is moved O(1) times on average, and at most a third of the
 * memory is unused.
 */

#include "common/vec.h"

#include <stdlib.h>

#define VEC_FIRST_ITEMS 8

int vec_reserve_items(void **items, size_t count, size_t *capacity, size_t extra, size_t item_size)
{
	size_t wanted, grown, bytes;
	void *moved;

	if (*capacity - count >= extra)
		return 0;
	if (__builtin_add_overflow(count, extra, &wanted))
		return -ENOMEM;
	if (!__builtin_add_overflow(*capacity, *capacity / 2, &grown))
		wanted = MAX(wanted, grown);
	wanted = MAX(wanted, (size_t)VEC_FIRST_ITEMS);
	if (__builtin_mul_overflow(wanted, item_size, &bytes))
		return -ENOMEM;

	moved = realloc(*items, bytes);
	if (!moved)
		return -ENOMEM;
	*items = moved;
	*capacity = wanted;
	return 0;
}
