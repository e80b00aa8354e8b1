/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sorted list of holes. A host has some hundred tables, so the list is short.
 */
#include "agent/unwind/extents.h"

#include <string.h>

int extents_init(struct extents *extents, uint32_t size)
{
	*extents = (struct extents){ .size = size };
	if (size == 0)
		return 0;
	return vec_push(&extents->free, (struct extent){ .first = 0, .count = size });
}

void extents_release(struct extents *extents)
{
	vec_release(&extents->free);
}

static void remove_at(struct extent_vec *holes, size_t at)
{
	holes->count--;
	memmove(&holes->items[at], &holes->items[at + 1],
		(holes->count - at) * sizeof(*holes->items));
}

int extents_take(struct extents *extents, uint32_t count, struct extent *ret_extent)
{
	struct extent_vec *holes = &extents->free;

	if (count == 0) {
		*ret_extent = (struct extent){};
		return 1;
	}
	for (size_t i = 0; i < holes->count; i++) {
		struct extent *hole = &holes->items[i];

		if (hole->count < count)
			continue;
		*ret_extent = (struct extent){ .first = hole->first, .count = count };
		hole->first += count;
		hole->count -= count;
		if (hole->count == 0)
			remove_at(holes, i);
		extents->used += count;
		return 1;
	}
	return 0;
}

int extents_give_back(struct extents *extents, struct extent extent)
{
	struct extent_vec *holes = &extents->free;
	size_t at = 0;
	int r;

	if (extent.count == 0)
		return 0;
	while (at < holes->count && holes->items[at].first < extent.first)
		at++;
	extents->used -= extent.count;
	/* Before, after, or both are holes as well. */
	if (at > 0 && holes->items[at - 1].first + holes->items[at - 1].count == extent.first) {
		holes->items[at - 1].count += extent.count;
		if (at < holes->count && extent.first + extent.count == holes->items[at].first) {
			holes->items[at - 1].count += holes->items[at].count;
			remove_at(holes, at);
		}
		return 0;
	}
	if (at < holes->count && extent.first + extent.count == holes->items[at].first) {
		holes->items[at].first = extent.first;
		holes->items[at].count += extent.count;
		return 0;
	}
	r = vec_reserve(holes, 1);
	if (r < 0)
		return r;
	memmove(&holes->items[at + 1], &holes->items[at],
		(holes->count - at) * sizeof(*holes->items));
	holes->items[at] = extent;
	holes->count++;
	return 0;
}
