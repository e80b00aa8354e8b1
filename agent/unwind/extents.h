/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Extents of one long array: first fit, neighbours joined on release. Counts are in elements.
 */

#include "common/vec.h"

struct extent {
	uint32_t first;
	uint32_t count;
};

VEC_DEFINE(extent_vec, struct extent);

struct extents {
	struct extent_vec free; /* by rising first, never adjacent */
	uint32_t size;
	uint32_t used;
};

int extents_init(struct extents *extents, uint32_t size);
void extents_release(struct extents *extents);

/* 1 found; 0: no hole is large enough; -ENOMEM. A count of 0 finds {0, 0}. */
int extents_take(struct extents *extents, uint32_t count, struct extent *ret_extent);

/* -ENOMEM leaves the extent lost until the end; it is never given twice. */
int extents_give_back(struct extents *extents, struct extent extent);
