/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Typed growable arrays.
 *
 *   VEC_DEFINE(u64_vec, uint64_t);
 *   struct u64_vec ids = {};
 *   r = vec_push(&ids, 7);          -- 0 or -ENOMEM
 *   for (size_t i = 0; i < ids.count; i++) use(ids.items[i]);
 *   vec_release(&ids);
 */

#include <stdlib.h>

#include "common/base.h"

#define VEC_DEFINE(name, type)                                                                     \
	struct name {                                                                              \
		type *items;                                                                       \
		size_t count;                                                                      \
		size_t capacity;                                                                   \
	}

/* Allocates memory for @extra more items of @item_size bytes. 0 or -ENOMEM (also on overflow). */
int vec_reserve_items(void **items, size_t count, size_t *capacity, size_t extra, size_t item_size);

#define vec_reserve(vec, extra)                                                                    \
	vec_reserve_items((void **)&(vec)->items, (vec)->count, &(vec)->capacity, (extra),         \
			  sizeof(*(vec)->items))

#define vec_push(vec, ...)                                                                         \
	({                                                                                         \
		int vec_r_ = vec_reserve((vec), 1);                                                \
		if (vec_r_ == 0)                                                                   \
			(vec)->items[(vec)->count++] = (__VA_ARGS__);                              \
		vec_r_;                                                                            \
	})

#define vec_clear(vec) ((void)((vec)->count = 0))

#define vec_release(vec)                                                                           \
	do {                                                                                       \
		free((vec)->items);                                                                \
		(vec)->items = NULL;                                                               \
		(vec)->count = 0;                                                                  \
		(vec)->capacity = 0;                                                               \
	} while (0)
